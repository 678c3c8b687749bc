/* Handles, and the functions for one device. */
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

typedef struct Single {
  Object object;
  Config config;
  Maker maker;
} Single;

struct wg_WordlistGenerator *wg_create(void *ctx, int32_t device) {
  DeviceList list;
  int32_t code = ctx == NULL ? find_device(device, &list) : wg_WG_SUCCESS;
  Single *single = code == wg_WG_SUCCESS ? allocate(1, sizeof *single) : NULL;
  if (single == NULL) return NULL;
  code = open_maker(&single->maker, ctx == NULL ? list.names[device] : NULL, ctx, device);
  if (code != wg_WG_SUCCESS) {
    free(single);
    return NULL;
  }
  succeed();
  return add_object(&single->object, SINGLE);
}

void wg_destroy(struct wg_WordlistGenerator *generator) {
  Single *single = generator == NULL ? NULL : remove_object(generator, SINGLE);
  if (single == NULL) return;
  close_maker(&single->maker);
  drop_plan(&single->config);
  free(single);
}

int32_t wg_set_charset(struct wg_WordlistGenerator *generator, int32_t id, const void *bytes, uintptr_t length) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  const int32_t code = set_charset(&single->config, id, bytes, length);
  release(single);
  return code;
}

int32_t wg_set_mask(struct wg_WordlistGenerator *generator, const int32_t *ids, int32_t length) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  const int32_t code = set_mask(&single->config, ids, length);
  release(single);
  return code;
}

int32_t wg_set_format(struct wg_WordlistGenerator *generator, int32_t format) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  const int32_t code = set_format(&single->config, format);
  release(single);
  return code;
}

int32_t wg_set_output_format(struct wg_WordlistGenerator *generator, int32_t format) {
  return wg_set_format(generator, format);
}

uint64_t wg_keyspace_size(const struct wg_WordlistGenerator *generator) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return 0;
  bool above;
  const uint64_t size = keyspace_of(&single->config, &above);
  if (above) fail(wg_WG_ERROR_KEYSPACE_OVERFLOW, "the keyspace has 2^64 words or more");
  else succeed();
  release(single);
  return size;
}

uintptr_t wg_calculate_buffer_size(const struct wg_WordlistGenerator *generator, uint64_t count) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return 0;
  const uint64_t bytes = single->config.length == 0 ? 0 : bytes_of(&single->config, count);
  succeed();
  release(single);
  return bytes > UINTPTR_MAX ? UINTPTR_MAX : (uintptr_t)bytes;
}

const char *wg_get_error(const struct wg_WordlistGenerator *generator) {
  (void)generator;
  return error_text[0] == 0 ? NULL : error_text;
}

intptr_t wg_generate_batch_host(struct wg_WordlistGenerator *generator, uint64_t start, uint64_t count, void *buffer,
                                uintptr_t capacity) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  Config *config = &single->config;
  int32_t code = check_host(config, start, count, buffer, capacity);
  if (code == wg_WG_SUCCESS) code = make_plan(config);
  if (code == wg_WG_SUCCESS) code = write_words(&single->maker, config, start, count, buffer);
  const intptr_t bytes = code == wg_WG_SUCCESS ? (intptr_t)bytes_of(config, count) : code;
  if (code == wg_WG_SUCCESS) succeed();
  release(single);
  return bytes;
}

int32_t wg_generate_batch_stream(struct wg_WordlistGenerator *generator, CUstream stream, uint64_t start, uint64_t count,
                                 struct wg_BatchDevice *batch) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  Config *config = &single->config;
  int32_t code = batch == NULL ? fail(wg_WG_ERROR_INVALID_PARAM, "there is no batch to fill in") : wg_WG_SUCCESS;
  if (code == wg_WG_SUCCESS) code = check_configured(config);
  if (code == wg_WG_SUCCESS) code = check_range(config, start, count);
  if (code == wg_WG_SUCCESS) code = make_plan(config);
  if (code == wg_WG_SUCCESS) code = make_batch(&single->maker, config, stream, start, count, batch);
  release(single);
  return code;
}

int32_t wg_generate_batch_device(struct wg_WordlistGenerator *generator, uint64_t start, uint64_t count,
                                 struct wg_BatchDevice *batch) {
  return wg_generate_batch_stream(generator, NULL, start, count, batch);
}

void wg_free_batch_device(struct wg_WordlistGenerator *generator, struct wg_BatchDevice *batch) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return;
  if (batch != NULL) free_batch(&single->maker, batch);
  succeed();
  release(single);
}

int32_t wg_word_to_index(const struct wg_WordlistGenerator *generator, const void *word, uintptr_t length,
                         uint64_t *index) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  const Config *config = &single->config;
  const unsigned char *bytes = word;
  uint64_t sum = 0;
  int32_t code = word == NULL || index == NULL
                     ? fail(wg_WG_ERROR_INVALID_PARAM, "a word and a place for its index are needed")
                     : check_configured(config);
  bool is_missing = length != (uintptr_t)config->length;
  for (int k = 0; code == wg_WG_SUCCESS && !is_missing && k < config->length; k++) {
    const Charset *set = charset_at(config, k);
    const unsigned char *found = memchr(set->bytes, bytes[k], set->size);
    is_missing = found == NULL || __builtin_mul_overflow(sum, (uint64_t)set->size, &sum) ||
                 __builtin_add_overflow(sum, (uint64_t)(found - set->bytes), &sum);
  }
  if (code == wg_WG_SUCCESS && is_missing)
    code = fail(wg_WG_ERROR_KEYSPACE_OVERFLOW, "the word is not in the keyspace, or its index has more than 64 bits");
  if (code == wg_WG_SUCCESS) {
    *index = sum;
    succeed();
  }
  release(single);
  return code;
}

/* ---- the machine ---- */

const char *wg_get_version(void) { return WG_VERSION; }

int32_t wg_cuda_available(void) {
  succeed();
  return mr_device_count(MR_CUDA) > 0 ? 1 : 0;
}

int32_t wg_get_device_count(void) {
  DeviceList list;
  if (list_devices(&list) != wg_WG_SUCCESS) return -1;
  succeed();
  return list.count;
}

int32_t wg_get_device_properties(int32_t device, wg_device_properties_t *properties) {
  if (properties == NULL) return fail(wg_WG_ERROR_INVALID_PARAM, "there is no place for the properties");
  DeviceList list;
  mr_info info;
  const int32_t code = find_device(device, &list);
  if (code != wg_WG_SUCCESS) return code;
  const int status = mr_probe(list.names[device], &info);
  if (status != MR_OK) return fail_runtime(status);
  memset(properties, 0, sizeof *properties);
  memcpy(properties->name, info.name, sizeof properties->name);
  properties->major = info.major;
  properties->minor = info.minor;
  properties->total_bytes = info.memory_bytes;
  properties->units = (int32_t)info.units;
  return succeed();
}

int32_t wg_get_device_info(int32_t device, char *name, int32_t *major, int32_t *minor, uint64_t *total_bytes) {
  if (name == NULL || major == NULL || minor == NULL || total_bytes == NULL)
    return fail(wg_WG_ERROR_INVALID_PARAM, "name, major, minor and total_bytes need places");
  wg_device_properties_t properties;
  const int32_t code = wg_get_device_properties(device, &properties);
  if (code != wg_WG_SUCCESS) return code;
  memcpy(name, properties.name, sizeof properties.name);
  *major = properties.major;
  *minor = properties.minor;
  *total_bytes = properties.total_bytes;
  return code;
}
