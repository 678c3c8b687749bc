/* The machine's devices by their numbers, and those that are open. */
#include "internal.h"

typedef struct DeviceList {
  char names[MAX_DEVICES][32];
  int count;
} DeviceList;

static void add_device(DeviceList *list, const char *name, size_t length) {
  if (list->count == MAX_DEVICES || length >= sizeof list->names[0]) return;
  snprintf(list->names[list->count++], sizeof list->names[0], "%.*s", (int)length, name);
}

static void add_kind(DeviceList *list, mr_kind kind) {
  const int count = kind == MR_CPU ? 0 : mr_device_count(kind);
  for (int i = 0; i < count; i++) {
    char name[32];
    const int length = snprintf(name, sizeof name, "%s:%d", kind == MR_CUDA ? "cuda" : "opencl", i);
    add_device(list, name, (size_t)length);
  }
  if (kind == MR_CPU) add_device(list, "cpu", 3);
}

/* Lists the devices in the order of their numbers. */
static int32_t list_devices(DeviceList *list) {
  list->count = 0;
  const char *given = getenv("MILLRACE_DEVICE");
  if (given == NULL || *given == 0 || strcmp(given, "auto") == 0) {
    mr_info info;
    const int status = mr_probe("auto", &info);
    if (status != MR_OK) return fail_runtime(status);
    add_kind(list, info.kind);
    return wg_WG_SUCCESS;
  }
  if (strcmp(given, "all") == 0) given = "cuda,opencl,cpu";
  for (const char *at = given; *at != 0;) {
    const size_t length = strcspn(at, ",");
    static const char *const kinds[] = {"cpu", "cuda", "opencl"};
    int kind = 0;
    while (kind < 3 && (strlen(kinds[kind]) != length || strncmp(at, kinds[kind], length) != 0)) kind++;
    if (kind < 3) add_kind(list, (mr_kind)kind);
    else add_device(list, at, length);
    at += length + (at[length] == ',');
  }
  if (list->count > 0) return wg_WG_SUCCESS;
  char first[32];
  mr_info info;
  snprintf(first, sizeof first, "%.*s", (int)strcspn(given, ","), given);
  const int status = mr_probe(first, &info);
  return fail(wg_WG_ERROR_CUDA, "there are no devices of MILLRACE_DEVICE=%s: %s", given,
              status == MR_OK ? "they could not be listed" : mr_error(NULL));
}

/* Finds the name of a device by its number. */
static int32_t find_device(int32_t number, DeviceList *list) {
  const int32_t code = list_devices(list);
  if (code != wg_WG_SUCCESS || (number >= 0 && number < list->count)) return code;
  return fail(wg_WG_ERROR_INVALID_PARAM, "device %d: this machine has %d device%s, from 0", (int)number, list->count,
              list->count == 1 ? "" : "s");
}

static struct {
  pthread_mutex_t lock;
  SharedDevice *first;
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Opens a device, or shares it if it is open: by its name, or a CUDA device in a context of the caller. */
static int32_t open_shared(const char *name, void *context, int32_t ordinal, SharedDevice **made) {
  char key[32];
  if (context == NULL) snprintf(key, sizeof key, "%s", name);
  else snprintf(key, sizeof key, "cuda:%d", (int)ordinal);
  int32_t code = wg_WG_SUCCESS;
  pthread_mutex_lock(&opened.lock);
  SharedDevice *shared = opened.first;
  while (shared != NULL && (shared->context != context || strcmp(shared->name, key) != 0)) shared = shared->next;
  if (shared == NULL) {
    shared = allocate(1, sizeof *shared);
    if (shared == NULL) code = wg_WG_ERROR_OUT_OF_MEMORY;
    else {
      memcpy(shared->name, key, sizeof key);
      shared->context = context;
      const int status =
          context == NULL ? mr_open(key, &shared->device) : mr_open_cuda(context, (int)ordinal, &shared->device);
      code = checked(status);
      if (code == wg_WG_SUCCESS) {
        shared->next = opened.first;
        opened.first = shared;
      } else {
        free(shared);
        shared = NULL;
      }
    }
  }
  if (shared != NULL) shared->users++;
  pthread_mutex_unlock(&opened.lock);
  *made = shared;
  return code;
}

static void close_shared(SharedDevice *shared) {
  if (shared == NULL) return;
  pthread_mutex_lock(&opened.lock);
  if (--shared->users == 0) {
    SharedDevice **at = &opened.first;
    while (*at != shared) at = &(*at)->next;
    *at = shared->next;
    mr_close(shared->device);
    free(shared);
  }
  pthread_mutex_unlock(&opened.lock);
}
