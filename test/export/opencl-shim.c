/* A libOpenCL for tests in front of the real one. It counts the objects that are made and released, and writes to stderr what
   a driver would ignore or crash on: objects that are used after their release, and those left at the end. The nth command
   can be made to fail while it runs, as shim_fail_at() says: its event then has a negative status, and so have the events of
   commands that wait for it. With OPENCL_SHIM=gpu devices say that they are GPUs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;

enum { FAILED = -5, FAILED_BEFORE = -14, DEVICE_TYPE = 0x1000, TYPE_GPU = 4, EVENT_STATUS = 0x11d3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Objects by their addresses. Released ones stay until another object has their address. */
typedef struct Object {
  struct Object *next;
  handle address;
  const char *type;
  long references;
  int status; /* of an event whose command failed */
} Object;

static Object *buckets[4096];
static long commands_left = -1;

static Object *find(handle address, int make) {
  Object **bucket = &buckets[(uintptr_t)address / 16 % 4096];
  Object *object = *bucket;
  while (object != NULL && object->address != address) object = object->next;
  if (object != NULL || !make) return object;
  object = calloc(1, sizeof *object);
  object->address = address;
  object->next = *bucket;
  return *bucket = object;
}

static handle added(handle address, const char *type) {
  if (address == NULL) return NULL;
  pthread_mutex_lock(&lock);
  Object *object = find(address, 1);
  object->type = type;
  object->references = 1;
  object->status = 0;
  pthread_mutex_unlock(&lock);
  return address;
}

/* Changes the number of references; with 0, checks that there are any. Before a release: another thread may reuse the address. */
static void used(handle address, const char *type, const char *call, int change) {
  pthread_mutex_lock(&lock);
  Object *object = find(address, 0);
  if (object == NULL || object->references <= 0 || strcmp(object->type, type) != 0)
    fprintf(stderr, "%s: %p is not a %s\n", call, address, type);
  else object->references += change;
  pthread_mutex_unlock(&lock);
}

static void *real(const char *name) {
  static void *library;
  pthread_mutex_lock(&lock);
  if (library == NULL) library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  void *function = library == NULL ? NULL : dlsym(library, name);
  pthread_mutex_unlock(&lock);
  if (function != NULL) return function;
  fprintf(stderr, "no %s\n", name);
  abort();
}

/* Calls the real function of this function's name. */
#define REAL(name) ((__typeof__(&name))(uintptr_t)real(#name))

void shim_fail_at(long n);
void shim_fail_at(long n) { __atomic_store_n(&commands_left, n, __ATOMIC_SEQ_CST); }
/* Negative once the command has been made to fail. */
long shim_commands_left(void);
long shim_commands_left(void) { return __atomic_load_n(&commands_left, __ATOMIC_SEQ_CST); }

__attribute__((destructor)) static void report(void) {
  for (int i = 0; i < 4096; i++)
    for (const Object *object = buckets[i]; object != NULL; object = object->next)
      if (object->references > 0) fprintf(stderr, "a %s is left, with %ld references\n", object->type, object->references);
}

/* ---- platforms and devices ---- */

int clGetPlatformIDs(unsigned count, handle *list, unsigned *found) { return REAL(clGetPlatformIDs)(count, list, found); }
int clGetPlatformInfo(handle platform, unsigned what, size_t bytes, void *value, size_t *size) {
  return REAL(clGetPlatformInfo)(platform, what, bytes, value, size);
}
int clGetDeviceIDs(handle platform, uint64_t type, unsigned count, handle *list, unsigned *found) {
  return REAL(clGetDeviceIDs)(platform, type, count, list, found);
}
int clGetDeviceInfo(handle device, unsigned what, size_t bytes, void *value, size_t *size) {
  const int code = REAL(clGetDeviceInfo)(device, what, bytes, value, size);
  const char *face = getenv("OPENCL_SHIM");
  if (code == 0 && what == DEVICE_TYPE && value != NULL && face != NULL && strcmp(face, "gpu") == 0)
    memcpy(value, &(uint64_t){TYPE_GPU}, sizeof(uint64_t));
  return code;
}

/* ---- objects ---- */

handle clCreateContext(const void *properties, unsigned count, const handle *devices, void *notify, void *user, int *code) {
  return added(REAL(clCreateContext)(properties, count, devices, notify, user, code), "context");
}
int clGetContextInfo(handle context, unsigned what, size_t bytes, void *value, size_t *size) {
  used(context, "context", __func__, 0);
  return REAL(clGetContextInfo)(context, what, bytes, value, size);
}
handle clCreateCommandQueue(handle context, handle device, uint64_t properties, int *code) {
  used(context, "context", __func__, 0);
  return added(REAL(clCreateCommandQueue)(context, device, properties, code), "queue");
}
handle clCreateBuffer(handle context, uint64_t flags, size_t bytes, void *host, int *code) {
  used(context, "context", __func__, 0);
  return added(REAL(clCreateBuffer)(context, flags, bytes, host, code), "buffer");
}
int clGetMemObjectInfo(handle buffer, unsigned what, size_t bytes, void *value, size_t *size) {
  used(buffer, "buffer", __func__, 0);
  return REAL(clGetMemObjectInfo)(buffer, what, bytes, value, size);
}
handle clCreateProgramWithSource(handle context, unsigned count, const char **text, const size_t *lengths, int *code) {
  used(context, "context", __func__, 0);
  return added(REAL(clCreateProgramWithSource)(context, count, text, lengths, code), "program");
}
handle clCreateProgramWithBinary(handle context, unsigned count, const handle *devices, const size_t *lengths,
                                 const unsigned char **binaries, int *status, int *code) {
  used(context, "context", __func__, 0);
  return added(REAL(clCreateProgramWithBinary)(context, count, devices, lengths, binaries, status, code), "program");
}
int clBuildProgram(handle program, unsigned count, const handle *devices, const char *options, void *notify, void *user) {
  used(program, "program", __func__, 0);
  return REAL(clBuildProgram)(program, count, devices, options, notify, user);
}
int clGetProgramBuildInfo(handle program, handle device, unsigned what, size_t bytes, void *value, size_t *size) {
  used(program, "program", __func__, 0);
  return REAL(clGetProgramBuildInfo)(program, device, what, bytes, value, size);
}
int clGetProgramInfo(handle program, unsigned what, size_t bytes, void *value, size_t *size) {
  used(program, "program", __func__, 0);
  return REAL(clGetProgramInfo)(program, what, bytes, value, size);
}
handle clCreateKernel(handle program, const char *name, int *code) {
  used(program, "program", __func__, 0);
  return added(REAL(clCreateKernel)(program, name, code), "kernel");
}
int clSetKernelArg(handle kernel, unsigned index, size_t bytes, const void *value) {
  used(kernel, "kernel", __func__, 0);
  if (bytes == sizeof(handle) && value != NULL) used(*(const handle *)value, "buffer", __func__, 0);
  return REAL(clSetKernelArg)(kernel, index, bytes, value);
}
int clGetKernelWorkGroupInfo(handle kernel, handle device, unsigned what, size_t bytes, void *value, size_t *size) {
  used(kernel, "kernel", __func__, 0);
  return REAL(clGetKernelWorkGroupInfo)(kernel, device, what, bytes, value, size);
}

#define COUNTED(name, type, change)      \
  int name(handle object) {              \
    used(object, type, #name, change);   \
    return REAL(name)(object);           \
  }
COUNTED(clReleaseContext, "context", -1)
COUNTED(clReleaseCommandQueue, "queue", -1)
COUNTED(clRetainCommandQueue, "queue", 1)
COUNTED(clReleaseMemObject, "buffer", -1)
COUNTED(clReleaseProgram, "program", -1)
COUNTED(clReleaseKernel, "kernel", -1)
COUNTED(clReleaseEvent, "event", -1)
COUNTED(clFlush, "queue", 0)
COUNTED(clFinish, "queue", 0)

/* ---- commands ---- */

/* FAILED_BEFORE if the command of one of the events failed, otherwise 0. */
static int waited_status(const char *call, unsigned count, const handle *list) {
  int status = 0;
  for (unsigned i = 0; i < count; i++) used(list[i], "event", call, 0);
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < count; i++) {
    const Object *event = find(list[i], 0);
    if (event != NULL && event->status < 0) status = FAILED_BEFORE;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

/* The status that a command with this wait list has: 0 if it runs. */
static int command_status(const char *call, unsigned count, const handle *list) {
  const int status = waited_status(call, count, list);
  if (status != 0) return status;
  const long left = __atomic_load_n(&commands_left, __ATOMIC_SEQ_CST);
  return left >= 0 && __atomic_fetch_sub(&commands_left, 1, __ATOMIC_SEQ_CST) == 0 ? FAILED : 0;
}

static int failed(handle queue, int status, int is_blocking, unsigned count, const handle *list, handle *event);

/* Begins a command: checks its objects, and returns from the function if the command is made to fail. */
#define COMMAND(buffer, other, is_blocking)                                                        \
  used(queue, "queue", __func__, 0);                                                               \
  if ((buffer) != NULL) used(buffer, "buffer", __func__, 0);                                       \
  if ((other) != NULL) used(other, "buffer", __func__, 0);                                         \
  const int status = command_status(__func__, count, list);                                        \
  if (status != 0) return failed(queue, status, is_blocking, count, list, event)

static int ended(int code, handle *event) {
  if (code == 0 && event != NULL) added(*event, "event");
  return code;
}

int clEnqueueMarkerWithWaitList(handle queue, unsigned count, const handle *list, handle *event) {
  COMMAND(NULL, NULL, 0);
  return ended(REAL(clEnqueueMarkerWithWaitList)(queue, count, list, event), event);
}
int clEnqueueBarrierWithWaitList(handle queue, unsigned count, const handle *list, handle *event) {
  COMMAND(NULL, NULL, 0);
  return ended(REAL(clEnqueueBarrierWithWaitList)(queue, count, list, event), event);
}

/* A command that fails while it runs: a marker takes its place. */
static int failed(handle queue, int status, int is_blocking, unsigned count, const handle *list, handle *event) {
  if (is_blocking) {
    REAL(clFinish)(queue);
    return status;
  }
  const int code = REAL(clEnqueueMarkerWithWaitList)(queue, count, list, event);
  if (code != 0 || event == NULL) return code;
  added(*event, "event");
  pthread_mutex_lock(&lock);
  find(*event, 0)->status = status;
  pthread_mutex_unlock(&lock);
  return 0;
}

int clEnqueueWriteBuffer(handle queue, handle buffer, unsigned is_blocking, size_t offset, size_t bytes, const void *from,
                         unsigned count, const handle *list, handle *event) {
  COMMAND(buffer, NULL, is_blocking != 0);
  return ended(REAL(clEnqueueWriteBuffer)(queue, buffer, is_blocking, offset, bytes, from, count, list, event), event);
}
int clEnqueueReadBuffer(handle queue, handle buffer, unsigned is_blocking, size_t offset, size_t bytes, void *to,
                        unsigned count, const handle *list, handle *event) {
  COMMAND(buffer, NULL, is_blocking != 0);
  return ended(REAL(clEnqueueReadBuffer)(queue, buffer, is_blocking, offset, bytes, to, count, list, event), event);
}
int clEnqueueCopyBuffer(handle queue, handle from, handle to, size_t from_offset, size_t to_offset, size_t bytes,
                        unsigned count, const handle *list, handle *event) {
  COMMAND(from, to, 0);
  return ended(REAL(clEnqueueCopyBuffer)(queue, from, to, from_offset, to_offset, bytes, count, list, event), event);
}
int clEnqueueFillBuffer(handle queue, handle buffer, const void *pattern, size_t size, size_t offset, size_t bytes,
                        unsigned count, const handle *list, handle *event) {
  COMMAND(buffer, NULL, 0);
  return ended(REAL(clEnqueueFillBuffer)(queue, buffer, pattern, size, offset, bytes, count, list, event), event);
}
int clEnqueueNDRangeKernel(handle queue, handle kernel, unsigned dimensions, const size_t *offset, const size_t *global,
                           const size_t *local, unsigned count, const handle *list, handle *event) {
  COMMAND(NULL, NULL, 0);
  used(kernel, "kernel", __func__, 0);
  return ended(REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, count, list, event), event);
}
void *clEnqueueMapBuffer(handle queue, handle buffer, unsigned is_blocking, uint64_t flags, size_t offset, size_t bytes,
                         unsigned count, const handle *list, handle *event, int *code) {
  used(queue, "queue", __func__, 0);
  used(buffer, "buffer", __func__, 0);
  void *memory = REAL(clEnqueueMapBuffer)(queue, buffer, is_blocking, flags, offset, bytes, count, list, event, code);
  ended(*code, event);
  return memory;
}
int clEnqueueUnmapMemObject(handle queue, handle buffer, void *memory, unsigned count, const handle *list, handle *event) {
  used(queue, "queue", __func__, 0);
  used(buffer, "buffer", __func__, 0);
  return ended(REAL(clEnqueueUnmapMemObject)(queue, buffer, memory, count, list, event), event);
}

int clGetEventInfo(handle event, unsigned what, size_t bytes, void *value, size_t *size) {
  used(event, "event", __func__, 0);
  const int code = REAL(clGetEventInfo)(event, what, bytes, value, size);
  pthread_mutex_lock(&lock);
  const Object *object = find(event, 0);
  if (code == 0 && what == EVENT_STATUS && object != NULL && object->status < 0) memcpy(value, &object->status, sizeof(int));
  pthread_mutex_unlock(&lock);
  return code;
}
int clWaitForEvents(unsigned count, const handle *list) {
  const int status = waited_status(__func__, count, list);
  const int code = REAL(clWaitForEvents)(count, list);
  return status != 0 ? status : code;
}
