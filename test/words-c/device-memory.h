/* Reads the memory of a batch as a caller would: through CUDA's driver, OpenCL, or an address. */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include <dlfcn.h>

#include "check.h"

static inline int device_is(const char *kind) {
  const char *name = getenv("MILLRACE_DEVICE");
  return name != NULL && strncmp(name, kind, strlen(kind)) == 0;
}

/* Null if the driver has no such function. */
static inline void *find(const char *name) {
  static void *library;
  if (library == NULL) {
    const char *own = getenv(device_is("cuda") ? "MILLRACE_LIBCUDA" : "MILLRACE_LIBOPENCL");
    library = dlopen(own != NULL ? own : device_is("cuda") ? "libcuda.so.1" : "libOpenCL.so.1", RTLD_NOW);
    CHECK(library != NULL);
  }
  return dlsym(library, name);
}

static inline void *driver_function(const char *name) {
  void *function = find(name);
  CHECK(function != NULL);
  return function;
}

/* Declares a function of the driver: the name is also that of the variable. */
#define DRIVER(name, ...) int (*name)(__VA_ARGS__) = (int (*)(__VA_ARGS__))(uintptr_t)driver_function(#name)

static inline void read_cuda(uint64_t from, void *to, size_t bytes) {
  DRIVER(cuInit, unsigned);
  DRIVER(cuDevicePrimaryCtxRetain, void **, int);
  DRIVER(cuDevicePrimaryCtxRelease_v2, int);
  DRIVER(cuCtxPushCurrent_v2, void *);
  DRIVER(cuCtxPopCurrent_v2, void **);
  DRIVER(cuMemHostAlloc, void **, size_t, unsigned);
  DRIVER(cuMemFreeHost, void *);
  DRIVER(cuStreamCreate, void **, unsigned);
  DRIVER(cuStreamDestroy_v2, void *);
  DRIVER(cuStreamSynchronize, void *);
  DRIVER(cuMemcpyDtoHAsync_v2, void *, uint64_t, size_t, void *);
  void *context, *stream, *host;
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxPushCurrent_v2(context) == 0);
  CHECK(cuStreamCreate(&stream, 1) == 0 && cuMemHostAlloc(&host, bytes, 0) == 0);
  CHECK(cuMemcpyDtoHAsync_v2(host, from, bytes, stream) == 0 && cuStreamSynchronize(stream) == 0);
  memcpy(to, host, bytes);
  CHECK(cuMemFreeHost(host) == 0 && cuStreamDestroy_v2(stream) == 0);
  CHECK(cuCtxPopCurrent_v2(&context) == 0 && cuDevicePrimaryCtxRelease_v2(0) == 0);
}

/* Makes a queue in the context of a batch's memory. */
static inline void *opencl_queue(uint64_t data) {
  DRIVER(clGetMemObjectInfo, void *, unsigned, size_t, void *, size_t *);
  DRIVER(clGetContextInfo, void *, unsigned, size_t, void *, size_t *);
  void *(*create)(void *, void *, uint64_t, int *) =
      (void *(*)(void *, void *, uint64_t, int *))(uintptr_t)driver_function("clCreateCommandQueue");
  void *context, *device;
  int code;
  CHECK(clGetMemObjectInfo((void *)(uintptr_t)data, 0x1106, sizeof context, &context, NULL) == 0);
  CHECK(clGetContextInfo(context, 0x1081, sizeof device, &device, NULL) == 0);
  void *queue = create(context, device, 0, &code);
  CHECK(queue != NULL);
  return queue;
}

static inline void read_opencl(void *queue, uint64_t from, void *to, size_t bytes) {
  DRIVER(clEnqueueReadBuffer, void *, void *, unsigned, size_t, size_t, void *, unsigned, const void *, void *);
  DRIVER(clReleaseCommandQueue, void *);
  CHECK(clEnqueueReadBuffer(queue, (void *)(uintptr_t)from, 1, 0, bytes, to, 0, NULL, NULL) == 0);
  CHECK(clReleaseCommandQueue(queue) == 0);
}

/* Copies the batch's bytes; the caller frees them. */
static inline unsigned char *read_batch(const struct wg_BatchDevice *batch) {
  unsigned char *bytes = malloc(batch->total_bytes + 1);
  CHECK(bytes != NULL);
  if (device_is("cuda")) read_cuda(batch->data, bytes, batch->total_bytes);
  else if (device_is("opencl")) read_opencl(opencl_queue(batch->data), batch->data, bytes, batch->total_bytes);
  else memcpy(bytes, (const void *)(uintptr_t)batch->data, batch->total_bytes);
  return bytes;
}

#endif
