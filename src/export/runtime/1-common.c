/* Errors, handles, memory, threads and files: what all kinds of devices use. */
#include "internal.h"

/* ---- errors ---- */

static _Thread_local char thread_error[ERROR_BYTES];

/* Stores the text for the calling thread and for the device, which may be null; returns the status. */
__attribute__((format(printf, 3, 4))) static int fail(Device *device, int status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(thread_error, sizeof thread_error, format, list);
  va_end(list);
  for (; device != NULL; device = device->group) {
    pthread_mutex_lock(&device->lock);
    memcpy(device->error, thread_error, sizeof device->error);
    pthread_mutex_unlock(&device->lock);
  }
  return status;
}

static int no_memory(Device *device, uint64_t bytes) {
  return fail(device, MR_ERROR_MEMORY, "no memory for %llu bytes on the host", (unsigned long long)bytes);
}

/* ---- host memory ---- */

static void *allocate(size_t count, size_t size) { return MR_FAULT("calloc") ? NULL : calloc(count, size); }

/* Zeroed, aligned to a page; freed by free(). */
static void *allocate_pages(uint64_t bytes) {
  void *memory = NULL;
  if (bytes > SIZE_MAX / 2 || MR_FAULT("posix_memalign")) return NULL;
  if (posix_memalign(&memory, 4096, bytes == 0 ? 1 : (size_t)bytes) != 0) return NULL;
  memset(memory, 0, bytes == 0 ? 1 : (size_t)bytes);
  return memory;
}

static uint64_t host_memory_bytes(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : (uint64_t)1 << 32;
}

/* Memory that can be allocated without swapping; all of it where the system does not say. */
static uint64_t host_free_bytes(void) {
  unsigned long long kib = 0;
  char line[128];
  FILE *file = fopen("/proc/meminfo", "re");
  if (file != NULL) {
    while (fgets(line, sizeof line, file) != NULL)
      if (sscanf(line, "MemAvailable: %llu", &kib) == 1) break;
    fclose(file);
  }
  return kib > 0 ? (uint64_t)kib * 1024 : host_memory_bytes();
}

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* ---- handles ----
   A handle is a number, not an address: a position in a table, and a count that is never used again. A closed handle is
   thus found out without touching freed memory. */

#define HANDLE_BITS 20

static struct {
  pthread_mutex_t lock;
  Object **objects;
  uintptr_t count, first_free, used, made;
} handles = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Gives the object a handle. False if there is no memory. */
static bool add_handle(Object *object) {
  pthread_mutex_lock(&handles.lock);
  uintptr_t at = handles.first_free;
  while (at < handles.count && handles.objects[at] != NULL) at++;
  if (at == handles.count) {
    const uintptr_t count = handles.count == 0 ? 64 : handles.count * 2;
    const bool refused = count > (uintptr_t)1 << HANDLE_BITS || MR_FAULT("realloc");
    Object **objects = refused ? NULL : realloc(handles.objects, count * sizeof *objects);
    if (objects == NULL) {
      pthread_mutex_unlock(&handles.lock);
      return false;
    }
    memset(objects + handles.count, 0, (count - handles.count) * sizeof *objects);
    handles.objects = objects;
    handles.count = count;
  }
  handles.objects[at] = object;
  handles.first_free = at + 1;
  handles.used++;
  object->handle = (++handles.made << HANDLE_BITS) | at;
  pthread_mutex_unlock(&handles.lock);
  return true;
}

static void remove_handle(Object *object) {
  pthread_mutex_lock(&handles.lock);
  const uintptr_t at = object->handle & (((uintptr_t)1 << HANDLE_BITS) - 1);
  handles.objects[at] = NULL;
  if (at < handles.first_free) handles.first_free = at;
  if (--handles.used == 0) {
    free(handles.objects);
    handles.objects = NULL;
    handles.count = handles.first_free = 0;
  }
  pthread_mutex_unlock(&handles.lock);
}

static void *find_object(const void *handle, ObjectType type) {
  const uintptr_t number = (uintptr_t)handle, at = number & (((uintptr_t)1 << HANDLE_BITS) - 1);
  pthread_mutex_lock(&handles.lock);
  Object *object = at < handles.count ? handles.objects[at] : NULL;
  if (object != NULL && (object->handle != number || object->type != type)) object = NULL;
  pthread_mutex_unlock(&handles.lock);
  return object;
}

/* Makes an object with a handle, in the device's list; null if there is no memory. */
static void *new_object(ObjectType type, size_t bytes, Device *device) {
  Object *object = allocate(1, bytes);
  if (object == NULL) return NULL;
  object->type = type;
  object->device = device;
  if (!add_handle(object)) {
    free(object);
    return NULL;
  }
  if (device == NULL) return object;
  pthread_mutex_lock(&device->lock);
  object->next = device->objects.next;
  object->previous = &device->objects;
  device->objects.next->previous = object;
  device->objects.next = object;
  pthread_mutex_unlock(&device->lock);
  return object;
}

/* Takes the object out of its device's list and frees it. Its handle is invalid from here on. */
static void delete_object(Object *object) {
  remove_handle(object);
  if (object->device != NULL) {
    pthread_mutex_lock(&object->device->lock);
    object->next->previous = object->previous;
    object->previous->next = object->next;
    pthread_mutex_unlock(&object->device->lock);
  }
  free(object);
}

/* ---- libraries ---- */

typedef struct Symbol {
  const char *name;
  void **function;
} Symbol;

static bool is_missing_file(const char *text) {
  return strstr(text, "No such file") != NULL || strstr(text, "cannot open") != NULL;
}

/* Loads a library by the name in the environment variable, or by the first of `names` that exists, and its functions.
   Returns null and a text if it cannot. Libraries of drivers start threads and are never unloaded. */
static void *load_library(const char *variable, const char *const *names, const Symbol *symbols, char *error,
                          size_t error_bytes) {
  const char *configured = getenv(variable);
  const char *const given[] = {configured, NULL};
  void *library = NULL;
  error[0] = 0;
  for (const char *const *name = configured != NULL && *configured != 0 ? given : names; *name != NULL; name++) {
    library = MR_FAULT("dlopen") ? NULL : dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) break;
    /* A library that is there and cannot be loaded says more than names that are not there. */
    const char *text = dlerror();
    if (text == NULL) text = *name;
    if (error[0] == 0 || (is_missing_file(error) && !is_missing_file(text))) snprintf(error, error_bytes, "%s", text);
  }
  if (library == NULL) return NULL;
  for (const Symbol *symbol = symbols; symbol->name != NULL; symbol++) {
    *symbol->function = MR_FAULT(symbol->name) ? NULL : dlsym(library, symbol->name);
    if (*symbol->function != NULL) continue;
    snprintf(error, error_bytes, "%s is too old: it has no %s", names[0], symbol->name);
    dlclose(library);
    return NULL;
  }
  return library;
}

/* ---- text ---- */

/* Joins the pieces of a kernel's text. Null if there is no memory. */
static char *join_text(const char *const *pieces, size_t *length) {
  size_t bytes = 0;
  for (const char *const *piece = pieces; *piece != NULL; piece++) bytes += strlen(*piece);
  char *text = allocate(bytes + 1, 1);
  if (text == NULL) return NULL;
  char *at = text;
  for (const char *const *piece = pieces; *piece != NULL; piece++) {
    const size_t size = strlen(*piece);
    memcpy(at, *piece, size);
    at += size;
  }
  if (length != NULL) *length = bytes;
  return text;
}

/* True if every word of `wanted` is in `list`. Words are separated by spaces. */
static bool has_words(const char *list, const char *wanted) {
  for (const char *word = wanted; *word != 0;) {
    const size_t length = strcspn(word, " ");
    bool found = length == 0;
    for (const char *at = list; *at != 0 && !found;) {
      const size_t own = strcspn(at, " ");
      found = own == length && memcmp(at, word, length) == 0;
      at += own + (at[own] == ' ');
    }
    if (!found) return false;
    word += length + (word[length] == ' ');
  }
  return true;
}

/* The first line of a compiler's log that mentions an error, or its first line. */
static void first_error(const char *log, char *into, size_t bytes) {
  const char *at = strstr(log, "error");
  const char *line = at == NULL ? log : at;
  while (line > log && line[-1] != '\n') line--;
  snprintf(into, bytes, "%.*s", (int)strcspn(line, "\n"), line);
}

/* ---- the cache of compiled programs ----
   A file for each program in $XDG_CACHE_HOME/millrace-export or ~/.cache/millrace-export, named by a hash of everything
   that the program depends on. It begins with the full key, so that a collision is only a miss. A file is written under
   another name and renamed: readers see all of it or nothing. A cache that cannot be written is no error. */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < count; i++) hash = (hash ^ at[i]) * 0x100000001b3ull; /* FNV-1a */
  return hash;
}

/* Writes the path of the folder; false if there is none. Makes the folder if asked to. */
static bool cache_folder(char *path, size_t bytes, bool make) {
  const char *own = getenv("MILLRACE_EXPORT_CACHE"), *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int length;
  if (own != NULL && *own != 0) length = snprintf(path, bytes, "%s", own);
  else if (shared != NULL && *shared == '/') length = snprintf(path, bytes, "%s/millrace-export", shared);
  else if (home != NULL && *home == '/') length = snprintf(path, bytes, "%s/.cache/millrace-export", home);
  else return false;
  if (length < 0 || (size_t)length + 64 > bytes) return false;
  if (!make) return true;
  for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
    *slash = 0;
    (void)mkdir(path, 0700);
    *slash = '/';
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool cache_path(char *path, size_t bytes, const char *key, bool make) {
  if (!cache_folder(path, bytes, make)) return false;
  const size_t length = strlen(path);
  const uint64_t hash = hash_bytes(0xcbf29ce484222325ull, key, strlen(key));
  snprintf(path + length, bytes - length, "/%016llx", (unsigned long long)hash);
  return true;
}

/* Returns the program stored under the key, to be freed, or null. */
static char *cache_read(const char *key, size_t *bytes) {
  char path[1024];
  if (!cache_path(path, sizeof path, key, false)) return NULL;
  FILE *file = MR_FAULT("fopen") ? NULL : fopen(path, "rbe");
  if (file == NULL) return NULL;
  const size_t key_bytes = strlen(key) + 1;
  char *data = NULL;
  struct stat state;
  uint64_t sums[2];
  if (fstat(fileno(file), &state) == 0 && (uint64_t)state.st_size > key_bytes + sizeof sums &&
      (uint64_t)state.st_size < (uint64_t)1 << 30)
    data = allocate((size_t)state.st_size + 1, 1);
  const size_t body = data == NULL ? 0 : (size_t)state.st_size - sizeof sums;
  bool good = data != NULL && fread(sums, sizeof sums, 1, file) == 1 && fread(data, 1, body, file) == body;
  good = good && sums[0] == body && sums[1] == hash_bytes(0xcbf29ce484222325ull, data, body) &&
         memcmp(data, key, key_bytes) == 0;
  fclose(file);
  if (!good) {
    free(data);
    return NULL;
  }
  *bytes = body - key_bytes;
  memmove(data, data + key_bytes, *bytes);
  data[*bytes] = 0;
  return data;
}

static void cache_write(const char *key, const void *program, size_t bytes) {
  char path[1024], draft[1088];
  if (!cache_path(path, sizeof path, key, true)) return;
  static atomic_uint number;
  snprintf(draft, sizeof draft, "%s.%ld.%u", path, (long)getpid(), atomic_fetch_add(&number, 1));
  FILE *file = MR_FAULT("fopen") ? NULL : fopen(draft, "wbxe");
  if (file == NULL) return;
  const size_t key_bytes = strlen(key) + 1;
  uint64_t sums[2] = {key_bytes + bytes, hash_bytes(0xcbf29ce484222325ull, key, key_bytes)};
  sums[1] = hash_bytes(sums[1], program, bytes);
  bool good = fwrite(sums, sizeof sums, 1, file) == 1 && fwrite(key, 1, key_bytes, file) == key_bytes;
  good = good && fwrite(program, 1, bytes, file) == bytes;
  good = fclose(file) == 0 && good;
  if (!good || rename(draft, path) != 0) (void)unlink(draft);
}
