/* Handles, and the settings of generators for one device or several. */
#include "internal.h"

typedef enum ObjectType { SINGLE, SEVERAL } ObjectType;

/* What a handle stands for. A handle is a number that is never used again, so that a destroyed one is found out without
   touching freed memory. */
typedef struct Object {
  struct Object *next;
  ObjectType type;
  uintptr_t handle;
  unsigned users;       /* calls that use the object, or wait for it */
  pthread_mutex_t lock; /* held during a call */
  Config config;
} Object;

#define BUCKETS 256

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  Object *buckets[BUCKETS];
  uintptr_t made;
} live = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *add_object(Object *object, ObjectType type) {
  object->type = type;
  pthread_mutex_init(&object->lock, NULL);
  pthread_mutex_lock(&live.lock);
  /* Not aligned: no pointer to an object looks like this. */
  object->handle = ++live.made * 16 + 5;
  object->next = live.buckets[live.made % BUCKETS];
  live.buckets[live.made % BUCKETS] = object;
  pthread_mutex_unlock(&live.lock);
  return (void *)object->handle;
}

static Object **find_object(const void *handle, ObjectType type) {
  Object **at = &live.buckets[(uintptr_t)handle / 16 % BUCKETS];
  while (*at != NULL && ((*at)->handle != (uintptr_t)handle || (*at)->type != type)) at = &(*at)->next;
  return at;
}

/* Returns the object, locked, or null and an error text. */
static void *acquire(const void *handle, ObjectType type) {
  pthread_mutex_lock(&live.lock);
  Object *object = *find_object(handle, type);
  if (object != NULL) object->users++;
  pthread_mutex_unlock(&live.lock);
  if (object != NULL) pthread_mutex_lock(&object->lock);
  else fail(wg_WG_ERROR_INVALID_HANDLE, "not a generator: the handle is null or was destroyed");
  return object;
}

static void release(void *given) {
  Object *object = given;
  pthread_mutex_unlock(&object->lock);
  pthread_mutex_lock(&live.lock);
  if (--object->users == 0) pthread_cond_broadcast(&live.changed);
  pthread_mutex_unlock(&live.lock);
}

/* Makes the handle invalid and waits for the calls that use the object. */
static void *remove_object(const void *handle, ObjectType type) {
  pthread_mutex_lock(&live.lock);
  Object **at = find_object(handle, type), *object = *at;
  if (object != NULL) *at = object->next;
  while (object != NULL && object->users > 0) pthread_cond_wait(&live.changed, &live.lock);
  pthread_mutex_unlock(&live.lock);
  if (object != NULL) pthread_mutex_destroy(&object->lock);
  return object;
}

/* ---- settings ---- */

static int32_t handle_set_charset(const void *handle, ObjectType type, int32_t id, const void *bytes, uintptr_t length) {
  Object *object = acquire(handle, type);
  if (object == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  const int32_t code = set_charset(&object->config, id, bytes, length);
  release(object);
  return code;
}

static int32_t handle_set_mask(const void *handle, ObjectType type, const int32_t *ids, int32_t length) {
  Object *object = acquire(handle, type);
  if (object == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  const int32_t code = set_mask(&object->config, ids, length);
  release(object);
  return code;
}

static int32_t handle_set_format(const void *handle, ObjectType type, int32_t format) {
  Object *object = acquire(handle, type);
  if (object == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  const int32_t code = set_format(&object->config, format);
  release(object);
  return code;
}

int32_t wg_set_charset(struct wg_WordlistGenerator *generator, int32_t id, const void *bytes, uintptr_t length) {
  return handle_set_charset(generator, SINGLE, id, bytes, length);
}

int32_t wg_multigpu_set_charset(struct wg_MultiGpuGenerator *generator, int32_t id, const void *bytes, uintptr_t length) {
  return handle_set_charset(generator, SEVERAL, id, bytes, length);
}

int32_t wg_set_mask(struct wg_WordlistGenerator *generator, const int32_t *ids, int32_t length) {
  return handle_set_mask(generator, SINGLE, ids, length);
}

int32_t wg_multigpu_set_mask(struct wg_MultiGpuGenerator *generator, const int32_t *ids, int32_t length) {
  return handle_set_mask(generator, SEVERAL, ids, length);
}

int32_t wg_set_format(struct wg_WordlistGenerator *generator, int32_t format) {
  return handle_set_format(generator, SINGLE, format);
}

int32_t wg_set_output_format(struct wg_WordlistGenerator *generator, int32_t format) {
  return handle_set_format(generator, SINGLE, format);
}

int32_t wg_multigpu_set_format(struct wg_MultiGpuGenerator *generator, int32_t format) {
  return handle_set_format(generator, SEVERAL, format);
}
