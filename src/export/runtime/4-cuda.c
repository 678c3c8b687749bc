/* NVIDIA GPUs: the driver API and its run-time compiler, NVRTC. Both are loaded when a CUDA device is first asked for. */
#include "internal.h"

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef void *CUhandle; /* CUcontext, CUstream, CUevent, CUmodule, CUfunction */

enum {
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_NO_DEVICE = 100,
  CUDA_NOT_READY = 600,
  CUDA_CONTEXT_ACTIVE = 708,
  ATTRIBUTE_MULTIPROCESSORS = 16,
  ATTRIBUTE_MAJOR = 75,
  ATTRIBUTE_MINOR = 76,
  ATTRIBUTE_MEMORY_POOLS = 115,
  FUNCTION_DYNAMIC_SHARED = 8,
  SCHEDULE_BLOCKING = 4,
  STREAM_NON_BLOCKING = 1,
  EVENT_BLOCKING = 1,
  EVENT_NO_TIMING = 2,
  HOST_PORTABLE = 1,
  HOST_DEVICE_MAP = 2,
  POINTER_MEMORY_TYPE = 2,
  MEMORY_TYPE_HOST = 1
};

/* The functions, by the names that the library exports. */
#define CUDA_FUNCTIONS(F)                                                                                              \
  F(cuInit, (unsigned))                                                                                                \
  F(cuDriverGetVersion, (int *))                                                                                       \
  F(cuGetErrorName, (CUresult, const char **))                                                                         \
  F(cuGetErrorString, (CUresult, const char **))                                                                       \
  F(cuDeviceGetCount, (int *))                                                                                         \
  F(cuDeviceGet, (CUdevice *, int))                                                                                    \
  F(cuDeviceGetName, (char *, int, CUdevice))                                                                          \
  F(cuDeviceTotalMem_v2, (size_t *, CUdevice))                                                                         \
  F(cuDeviceGetAttribute, (int *, int, CUdevice))                                                                      \
  F(cuDevicePrimaryCtxSetFlags_v2, (CUdevice, unsigned))                                                               \
  F(cuDevicePrimaryCtxRetain, (CUhandle *, CUdevice))                                                                  \
  F(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                                                          \
  F(cuCtxPushCurrent_v2, (CUhandle))                                                                                   \
  F(cuCtxPopCurrent_v2, (CUhandle *))                                                                                  \
  F(cuStreamCreate, (CUhandle *, unsigned))                                                                            \
  F(cuStreamDestroy_v2, (CUhandle))                                                                                    \
  F(cuStreamQuery, (CUhandle))                                                                                         \
  F(cuStreamSynchronize, (CUhandle))                                                                                   \
  F(cuStreamWaitEvent, (CUhandle, CUhandle, unsigned))                                                                 \
  F(cuEventCreate, (CUhandle *, unsigned))                                                                             \
  F(cuEventRecord, (CUhandle, CUhandle))                                                                               \
  F(cuEventQuery, (CUhandle))                                                                                          \
  F(cuEventSynchronize, (CUhandle))                                                                                    \
  F(cuEventDestroy_v2, (CUhandle))                                                                                     \
  F(cuModuleLoadData, (CUhandle *, const void *))                                                                      \
  F(cuModuleUnload, (CUhandle))                                                                                        \
  F(cuModuleGetFunction, (CUhandle *, CUhandle, const char *))                                                         \
  F(cuFuncSetAttribute, (CUhandle, int, int))                                                                          \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, CUhandle, int, size_t))                                       \
  F(cuLaunchKernel, (CUhandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUhandle,         \
                     void **, void **))                                                                                \
  F(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                                            \
  F(cuMemFree_v2, (CUdeviceptr))                                                                                       \
  F(cuMemGetInfo_v2, (size_t *, size_t *))                                                                             \
  F(cuMemAllocAsync, (CUdeviceptr *, size_t, CUhandle))                                                                \
  F(cuMemFreeAsync, (CUdeviceptr, CUhandle))                                                                           \
  F(cuMemHostAlloc, (void **, size_t, unsigned))                                                                       \
  F(cuMemFreeHost, (void *))                                                                                           \
  F(cuMemHostGetDevicePointer_v2, (CUdeviceptr *, void *, unsigned))                                                   \
  F(cuPointerGetAttributes, (unsigned, const int *, void **, CUdeviceptr))                                             \
  F(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUhandle))                                               \
  F(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUhandle))                                                     \
  F(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUhandle))                                                \
  F(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUhandle))                                                   \
  F(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUhandle))

#define NVRTC_FUNCTIONS(F)                                                                                             \
  F(nvrtcVersion, (int *, int *))                                                                                      \
  F(nvrtcGetNumSupportedArchs, (int *))                                                                                \
  F(nvrtcGetSupportedArchs, (int *))                                                                                   \
  F(nvrtcCreateProgram, (CUhandle *, const char *, const char *, int, const char **, const char **))                   \
  F(nvrtcDestroyProgram, (CUhandle *))                                                                                 \
  F(nvrtcCompileProgram, (CUhandle, int, const char **))                                                               \
  F(nvrtcGetProgramLogSize, (CUhandle, size_t *))                                                                      \
  F(nvrtcGetProgramLog, (CUhandle, char *))                                                                            \
  F(nvrtcGetCUBINSize, (CUhandle, size_t *))                                                                           \
  F(nvrtcGetCUBIN, (CUhandle, char *))                                                                                 \
  F(nvrtcGetPTXSize, (CUhandle, size_t *))                                                                             \
  F(nvrtcGetPTX, (CUhandle, char *))

#define FUNCTION_POINTER(name, arguments) CUresult(*name) arguments;
#define FUNCTION_SYMBOL(name, arguments) {#name, (void **)(void *)&FUNCTION_TABLE.name},

static struct {
  CUDA_FUNCTIONS(FUNCTION_POINTER)
} cuda;
static struct {
  NVRTC_FUNCTIONS(FUNCTION_POINTER)
} nvrtc;

/* Calls a function of the driver. Those that release something are called directly: they are not made to fail in tests. */
#define CUDA(name, ...) (MR_FAULT(#name) ? 999 : cuda.name(__VA_ARGS__))
#define NVRTC(name, ...) (MR_FAULT(#name) ? 11 : nvrtc.name(__VA_ARGS__))

static struct {
  pthread_mutex_t lock;
  bool is_loaded, has_nvrtc;
  int version; /* 13000 */
  char error[ERROR_BYTES];
} cuda_library = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct CudaDevice {
  CUdevice device;
  CUhandle context;
  bool is_primary;
  bool has_pools;
  CUhandle service, control; /* streams: one zeroes memory and sends tables, one sends epochs */
  CUhandle reaper;           /* a stream that frees memory when the others have passed the point of the free */
  CUhandle zeroed, sent;     /* events behind the last commands of service and control */
  CUhandle joined;           /* event: what the reaper waits for */
  void *spare_pages;         /* page-locked memory of closed streams: each begins with the address of the next */
  uint64_t allocations;      /* number of commands on `service` that other streams must wait for */
  uint64_t reaped;           /* number of those that the reaper has waited for */
  pthread_mutex_t lock;      /* of the two streams */
} CudaDevice;

/* ---- errors ---- */

static int cuda_fail(Device *device, const char *call, CUresult code, const char *doing) {
  const char *name = NULL, *text = NULL;
  if (cuda.cuGetErrorName != NULL) cuda.cuGetErrorName(code, &name);
  if (cuda.cuGetErrorString != NULL) cuda.cuGetErrorString(code, &text);
  const int status = code == CUDA_OUT_OF_MEMORY ? MR_ERROR_MEMORY : MR_ERROR_DEVICE;
  return fail(device, status, "%s: %s: %s failed with %s (%d)%s%s", device == NULL ? "cuda" : device->info.id, doing,
              call, name == NULL ? "an unknown code" : name, code, text == NULL ? "" : ": ", text == NULL ? "" : text);
}

/* ---- the libraries ---- */

static const char *const cuda_names[] = {"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1", NULL};
static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.14",
                                          "libnvrtc.so",    "libnvrtc.so.11.2",
                                          "/usr/local/cuda/lib64/libnvrtc.so", NULL};

/* Loads libcuda and starts it, once per process; a failure is not remembered. */
static int load_cuda(void) {
  static const Symbol symbols[] = {
#define FUNCTION_TABLE cuda
      CUDA_FUNCTIONS(FUNCTION_SYMBOL){NULL, NULL}};
  pthread_mutex_lock(&cuda_library.lock);
  int status = MR_OK;
  if (!cuda_library.is_loaded) {
    char error[512];
    if (load_library("MILLRACE_LIBCUDA", cuda_names, symbols, error, sizeof error) == NULL)
      status = fail(NULL, MR_ERROR_ABSENT, "cuda: no NVIDIA driver: %s", error);
    else cuda_library.is_loaded = true;
  }
  if (status == MR_OK) {
    const CUresult code = CUDA(cuInit, 0);
    if (code == CUDA_NO_DEVICE) status = fail(NULL, MR_ERROR_ABSENT, "cuda: the driver finds no usable GPU");
    else if (code != 0) status = cuda_fail(NULL, "cuInit", code, "starting the driver");
  }
  if (status == MR_OK) {
    const CUresult code = CUDA(cuDriverGetVersion, &cuda_library.version);
    if (code != 0) status = cuda_fail(NULL, "cuDriverGetVersion", code, "starting the driver");
  }
  pthread_mutex_unlock(&cuda_library.lock);
  return status;
}

#undef FUNCTION_TABLE
#define FUNCTION_TABLE nvrtc
static int load_nvrtc(Device *device) {
  static const Symbol symbols[] = {NVRTC_FUNCTIONS(FUNCTION_SYMBOL){NULL, NULL}};
  pthread_mutex_lock(&cuda_library.lock);
  int status = MR_OK;
  if (!cuda_library.has_nvrtc) {
    char error[512];
    cuda_library.has_nvrtc = load_library("MILLRACE_LIBNVRTC", nvrtc_names, symbols, error, sizeof error) != NULL;
    if (!cuda_library.has_nvrtc)
      status = fail(device, MR_ERROR_ABSENT,
                    "%s: NVRTC, which compiles kernels, is missing: install cuda-nvrtc, or name the library in "
                    "MILLRACE_LIBNVRTC (%s)",
                    device->info.id, error);
  }
  pthread_mutex_unlock(&cuda_library.lock);
  return status;
}
#undef FUNCTION_TABLE

static int cuda_count(void) {
  int count = 0;
  if (load_cuda() != MR_OK) return 0;
  return CUDA(cuDeviceGetCount, &count) == 0 ? count : 0;
}

static int describe_cuda(int ordinal, CUdevice *handle, mr_info *info) {
  int count = 0, units = 0;
  CUresult code = CUDA(cuDeviceGetCount, &count);
  if (code != 0) return cuda_fail(NULL, "cuDeviceGetCount", code, "looking for GPUs");
  if (ordinal < 0 || ordinal >= count)
    return fail(NULL, MR_ERROR_ABSENT, "cuda:%d: this machine has %d CUDA device%s", ordinal, count,
                count == 1 ? "" : "s");
  memset(info, 0, sizeof *info);
  snprintf(info->id, sizeof info->id, "cuda:%d", ordinal);
  info->kind = MR_CUDA;
  size_t bytes = 0;
  const char *call = "cuDeviceGet";
  code = CUDA(cuDeviceGet, handle, ordinal);
  if (code == 0) call = "cuDeviceGetName", code = CUDA(cuDeviceGetName, info->name, sizeof info->name, *handle);
  if (code == 0) call = "cuDeviceTotalMem", code = CUDA(cuDeviceTotalMem_v2, &bytes, *handle);
  if (code == 0) call = "cuDeviceGetAttribute", code = CUDA(cuDeviceGetAttribute, &units, ATTRIBUTE_MULTIPROCESSORS, *handle);
  if (code == 0) code = CUDA(cuDeviceGetAttribute, &info->major, ATTRIBUTE_MAJOR, *handle);
  if (code == 0) code = CUDA(cuDeviceGetAttribute, &info->minor, ATTRIBUTE_MINOR, *handle);
  if (code != 0) return cuda_fail(NULL, call, code, "describing the GPU");
  info->units = units < 1 ? 1 : (uint32_t)units;
  info->memory_bytes = bytes;
  return MR_OK;
}

/* ---- contexts ----
   The context is current only during a call, so that a caller's own context stays as it is. */

static int enter_context(Device *device) {
  const CudaDevice *own = device->state;
  const CUresult code = CUDA(cuCtxPushCurrent_v2, own->context);
  return code == 0 ? MR_OK : cuda_fail(device, "cuCtxPushCurrent", code, "entering the context");
}

static void leave_context(void) {
  CUhandle context;
  cuda.cuCtxPopCurrent_v2(&context);
}

static void cuda_close(Device *device) {
  CudaDevice *own = device->state;
  if (own == NULL) return;
  if (own->context != NULL && cuda.cuCtxPushCurrent_v2(own->context) == 0) {
    for (void *page; (page = own->spare_pages) != NULL;) {
      memcpy(&own->spare_pages, page, sizeof page);
      cuda.cuMemFreeHost(page);
    }
    const CUhandle streams[] = {own->service, own->control, own->reaper};
    const CUhandle events[] = {own->zeroed, own->sent, own->joined};
    for (int i = 0; i < 3; i++) {
      if (streams[i] != NULL) cuda.cuStreamSynchronize(streams[i]), cuda.cuStreamDestroy_v2(streams[i]);
      if (events[i] != NULL) cuda.cuEventDestroy_v2(events[i]);
    }
    leave_context();
  }
  if (own->is_primary) cuda.cuDevicePrimaryCtxRelease_v2(own->device);
  pthread_mutex_destroy(&own->lock);
  free(own);
  device->state = NULL;
}

static int cuda_open(Device *device, void *context, int ordinal) {
  int status = load_cuda();
  if (status != MR_OK) return status;
  CudaDevice *own = allocate(1, sizeof *own);
  if (own == NULL) return no_memory(NULL, sizeof *own);
  pthread_mutex_init(&own->lock, NULL);
  device->state = own;
  status = describe_cuda(ordinal, &own->device, &device->info);
  if (status == MR_OK && context == NULL) {
    /* Waits sleep instead of spinning. Another library may have opened the context with other flags. */
    CUresult code = CUDA(cuDevicePrimaryCtxSetFlags_v2, own->device, SCHEDULE_BLOCKING);
    const char *call = "cuDevicePrimaryCtxSetFlags";
    if (code == 0 || code == CUDA_CONTEXT_ACTIVE)
      call = "cuDevicePrimaryCtxRetain", code = CUDA(cuDevicePrimaryCtxRetain, &own->context, own->device);
    own->is_primary = code == 0;
    if (code != 0) status = cuda_fail(device, call, code, "opening the device");
  } else own->context = context;
  if (status == MR_OK) status = enter_context(device);
  if (status == MR_OK) {
    const char *call = "cuStreamCreate";
    CUresult code = CUDA(cuStreamCreate, &own->service, STREAM_NON_BLOCKING);
    if (code == 0) code = CUDA(cuStreamCreate, &own->control, STREAM_NON_BLOCKING);
    if (code == 0) code = CUDA(cuStreamCreate, &own->reaper, STREAM_NON_BLOCKING);
    if (code == 0) call = "cuEventCreate", code = CUDA(cuEventCreate, &own->zeroed, EVENT_NO_TIMING);
    if (code == 0) code = CUDA(cuEventCreate, &own->sent, EVENT_NO_TIMING);
    if (code == 0) code = CUDA(cuEventCreate, &own->joined, EVENT_NO_TIMING);
    int pools = 0; /* old drivers do not know the attribute */
    own->has_pools = CUDA(cuDeviceGetAttribute, &pools, ATTRIBUTE_MEMORY_POOLS, own->device) == 0 && pools != 0;
    if (code != 0) status = cuda_fail(device, call, code, "opening the device");
    leave_context();
  }
  if (status != MR_OK) cuda_close(device);
  return status;
}

/* ---- memory ---- */

/* Queues a command on `service`: other streams wait for it before their next command. */
static CUresult serviced(CudaDevice *own, CUresult code) {
  if (code == 0) code = CUDA(cuEventRecord, own->zeroed, own->service);
  if (code == 0) __atomic_add_fetch(&own->allocations, 1, __ATOMIC_RELEASE);
  return code;
}

/* Allocates zeroed memory. In a pool, since a plain free waits for everything that the GPU is doing. Under the lock. */
static CUresult alloc_zeroed(CudaDevice *own, CUdeviceptr *memory, size_t bytes, const char **call) {
  *call = own->has_pools ? "cuMemAllocAsync" : "cuMemAlloc";
  CUresult code = own->has_pools ? CUDA(cuMemAllocAsync, memory, bytes, own->service) : CUDA(cuMemAlloc_v2, memory, bytes);
  if (code != 0) {
    *memory = 0;
    return code;
  }
  *call = "cuMemsetD8Async";
  code = serviced(own, CUDA(cuMemsetD8Async, *memory, 0, bytes, own->service));
  if (code == 0) return 0;
  cuda.cuStreamSynchronize(own->service);
  if (own->has_pools) cuda.cuMemFreeAsync(*memory, own->service);
  else cuda.cuMemFree_v2(*memory);
  *memory = 0;
  return code;
}

/* Delays the reaper until the stream's commands have run. It has waited for earlier ones if none was queued since. A caller
   may have queued commands of its own on its stream. */
static void reap_after(CudaDevice *own, Stream *stream) {
  if (stream->native == NULL && !stream->is_adopted) return; /* it is being opened or closed */
  const bool is_busy = __atomic_exchange_n(&stream->is_busy, false, __ATOMIC_ACQUIRE);
  if (!is_busy && (stream->is_detached || !stream->is_adopted)) return;
  if (!stream->is_detached) cuda.cuEventRecord(own->joined, stream->native);
  const CUhandle event = stream->is_detached ? stream->left : own->joined;
  if (event != NULL) cuda.cuStreamWaitEvent(own->reaper, event, 0);
}

/* Frees memory when the commands queued so far on all streams have run. */
static void free_later(Device *device, CUdeviceptr memory) {
  CudaDevice *own = device->state;
  if (!own->has_pools) {
    cuda.cuStreamSynchronize(own->service); /* which may still be zeroing it */
    cuda.cuMemFree_v2(memory);
    return;
  }
  pthread_mutex_lock(&device->lock);
  pthread_mutex_lock(&own->lock);
  if (own->reaped != own->allocations) cuda.cuStreamWaitEvent(own->reaper, own->zeroed, 0);
  own->reaped = own->allocations;
  for (Object *object = device->objects.next; object != &device->objects; object = object->next)
    if (object->type == STREAM) reap_after(own, (Stream *)object);
  cuda.cuMemFreeAsync(memory, own->reaper);
  pthread_mutex_unlock(&own->lock);
  pthread_mutex_unlock(&device->lock);
}

/* Delays the stream until all memory that was allocated so far is zeroed. */
static CUresult await_memory(Stream *stream) {
  CudaDevice *own = stream->object.device->state;
  const uint64_t allocations = __atomic_load_n(&own->allocations, __ATOMIC_ACQUIRE);
  if (stream->memory_seen == allocations) return 0;
  const CUresult code = CUDA(cuStreamWaitEvent, stream->native, own->zeroed, 0);
  if (code == 0) stream->memory_seen = allocations;
  return code;
}

static int cuda_buffer_alloc(Buffer *buffer) {
  Device *device = buffer->object.device;
  CudaDevice *own = device->state;
  if (buffer->bytes > device->info.memory_bytes)
    return fail(device, MR_ERROR_MEMORY, "%s: a buffer of %llu bytes is larger than the device's memory",
                device->info.id, (unsigned long long)buffer->bytes);
  const int status = enter_context(device);
  if (status != MR_OK) return status;
  const size_t bytes = buffer->bytes == 0 ? 4 : (size_t)buffer->bytes;
  const char *call = "";
  pthread_mutex_lock(&own->lock);
  const CUresult code = alloc_zeroed(own, &buffer->address, bytes, &call);
  pthread_mutex_unlock(&own->lock);
  leave_context();
  return code == 0 ? MR_OK : cuda_fail(device, call, code, "allocating memory");
}

static int cuda_free_bytes(Device *device, uint64_t *bytes) {
  const int status = enter_context(device);
  if (status != MR_OK) return status;
  size_t left = 0, total = 0;
  const CUresult code = CUDA(cuMemGetInfo_v2, &left, &total);
  leave_context();
  *bytes = left;
  return code == 0 ? MR_OK : cuda_fail(device, "cuMemGetInfo", code, "asking for free memory");
}

static int cuda_buffer_adopt(Buffer *buffer) {
  (void)buffer;
  return MR_OK;
}

static void cuda_buffer_free(Buffer *buffer) {
  const CudaDevice *own = buffer->object.device->state;
  if (buffer->is_adopted || cuda.cuCtxPushCurrent_v2(own->context) != 0) return;
  free_later(buffer->object.device, buffer->address);
  leave_context();
}

static int cuda_host_alloc(Device *device, uint64_t bytes, void **memory, void **native) {
  (void)native;
  if (bytes > host_memory_bytes()) return no_memory(device, bytes);
  const int status = enter_context(device);
  if (status != MR_OK) return status;
  const size_t size = bytes == 0 ? 1 : (size_t)bytes;
  const CUresult code = CUDA(cuMemHostAlloc, memory, size, HOST_PORTABLE | HOST_DEVICE_MAP);
  leave_context();
  if (code != 0) return cuda_fail(device, "cuMemHostAlloc", code, "allocating page-locked memory");
  memset(*memory, 0, size);
  return MR_OK;
}

static void cuda_host_free(Device *device, void *memory, void *native) {
  (void)native;
  const CudaDevice *own = device->state;
  if (cuda.cuCtxPushCurrent_v2(own->context) != 0) return;
  cuda.cuMemFreeHost(memory);
  leave_context();
}

/* ---- compilation ---- */

/* The architecture to compile for: the GPU itself, or an older one of its generation, whose machine code it runs; else PTX
   of the newest one before it. 0 if NVRTC supports none. */
static int choose_architecture(Device *device, bool *is_ptx, CUresult *code) {
  const int gpu = device->info.major * 10 + device->info.minor;
  int count = 0, list[128], near = 0, older = 0;
  *code = NVRTC(nvrtcGetNumSupportedArchs, &count);
  if (*code != 0 || count < 1 || count > 128) return 0;
  *code = NVRTC(nvrtcGetSupportedArchs, list);
  if (*code != 0) return 0;
  for (int i = 0; i < count; i++) {
    if (list[i] > gpu) continue;
    if (list[i] / 10 == gpu / 10 && list[i] > near) near = list[i];
    if (list[i] > older) older = list[i];
  }
  *is_ptx = near == 0;
  return near != 0 ? near : older;
}

static int nvrtc_fail(Device *device, const char *call, int code, const char *kernel) {
  return fail(device, MR_ERROR_COMPILE, "%s: kernel %s: %s failed with %d", device->info.id, kernel, call, code);
}

/* Compiles the text; *image is to be freed. */
static int compile_cuda(Device *device, const Program *program, const char *text, int architecture, bool is_ptx,
                        char **image, size_t *image_bytes) {
  const char *name = program->kernel->name;
  CUhandle handle = NULL;
  int code = NVRTC(nvrtcCreateProgram, &handle, text, "kernel.cu", 0, NULL, NULL);
  if (code != 0) return nvrtc_fail(device, "nvrtcCreateProgram", code, name);
  char target[48], options[256];
  snprintf(target, sizeof target, "--gpu-architecture=%s_%d", is_ptx ? "compute" : "sm", architecture);
  snprintf(options, sizeof options, "%s", program->variant->options);
  const char *list[17] = {target};
  int count = 1;
  for (char *rest = options, *word; count < 17 && (word = strtok_r(rest, " ", &rest)) != NULL;) list[count++] = word;
  int status = MR_OK;
  code = NVRTC(nvrtcCompileProgram, handle, count, list);
  if (code != 0) {
    size_t bytes = 0;
    char line[400] = "";
    char *log = NVRTC(nvrtcGetProgramLogSize, handle, &bytes) == 0 ? allocate(bytes + 1, 1) : NULL;
    if (log != NULL && NVRTC(nvrtcGetProgramLog, handle, log) == 0) first_error(log, line, sizeof line);
    free(log);
    status = fail(device, MR_ERROR_COMPILE, "%s: NVRTC refused kernel %s (%d): %s", device->info.id, name, code, line);
  } else {
    code = is_ptx ? NVRTC(nvrtcGetPTXSize, handle, image_bytes) : NVRTC(nvrtcGetCUBINSize, handle, image_bytes);
    *image = code == 0 ? allocate(*image_bytes + 1, 1) : NULL;
    if (code == 0 && *image == NULL) status = no_memory(device, *image_bytes);
    else if (code == 0) code = is_ptx ? NVRTC(nvrtcGetPTX, handle, *image) : NVRTC(nvrtcGetCUBIN, handle, *image);
    if (code != 0) {
      status = nvrtc_fail(device, "nvrtcGetCUBIN", code, name);
      free(*image);
      *image = NULL;
    }
  }
  nvrtc.nvrtcDestroyProgram(&handle);
  return status;
}

/* Loads the machine code and the tables; *code and *call say what failed. */
static CUresult load_module(Device *device, Program *program, const char *image, const char **call) {
  CudaDevice *own = device->state;
  const mr_variant *variant = program->variant;
  *call = "cuModuleLoadData";
  CUresult code = CUDA(cuModuleLoadData, &program->module, image);
  if (code != 0) return code;
  *call = "cuModuleGetFunction";
  code = CUDA(cuModuleGetFunction, &program->function, program->module, variant->entry);
  if (code == 0 && variant->dynamic_bytes > 0) {
    *call = "cuFuncSetAttribute";
    code = CUDA(cuFuncSetAttribute, program->function, FUNCTION_DYNAMIC_SHARED, (int)variant->dynamic_bytes);
  }
  int groups = 0;
  if (code == 0) {
    *call = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
    code = CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor, &groups, program->function, (int)variant->lanes,
                variant->dynamic_bytes);
  }
  program->resident_groups = (uint64_t)(groups < 1 ? 1 : groups) * device->info.units;
  if (code == 0 && variant->tables != NULL) {
    const size_t bytes = variant->table_words * sizeof(uint32_t);
    void *staging = NULL;
    pthread_mutex_lock(&own->lock);
    code = alloc_zeroed(own, &program->tables, bytes, call);
    pthread_mutex_unlock(&own->lock);
    if (code == 0) *call = "cuMemHostAlloc", code = CUDA(cuMemHostAlloc, &staging, bytes, HOST_PORTABLE | HOST_DEVICE_MAP);
    if (code == 0) {
      memcpy(staging, variant->tables, bytes);
      *call = "cuMemcpyHtoDAsync";
      pthread_mutex_lock(&own->lock);
      code = CUDA(cuMemcpyHtoDAsync_v2, program->tables, staging, bytes, own->service);
      if (code == 0) *call = "cuStreamSynchronize", code = CUDA(cuStreamSynchronize, own->service);
      else cuda.cuStreamSynchronize(own->service);
      pthread_mutex_unlock(&own->lock);
      cuda.cuMemFreeHost(staging);
    }
  }
  return code;
}

static void cuda_unload(Device *device, Program *program) {
  const CudaDevice *own = device->state;
  if (program->module == NULL || cuda.cuCtxPushCurrent_v2(own->context) != 0) return;
  if (program->tables != 0) free_later(device, program->tables);
  cuda.cuModuleUnload(program->module);
  leave_context();
}

static int cuda_compile(Device *device, Program *program) {
  int status = load_nvrtc(device);
  if (status != MR_OK) return status;
  const char *name = program->kernel->name;
  int major = 0, minor = 0;
  int code = NVRTC(nvrtcVersion, &major, &minor);
  if (code != 0) return nvrtc_fail(device, "nvrtcVersion", code, name);
  bool is_ptx = false;
  const int architecture = choose_architecture(device, &is_ptx, &code);
  if (architecture == 0)
    return fail(device, MR_ERROR_COMPILE, "%s: NVRTC %d.%d cannot compile for compute capability %d.%d", device->info.id,
                major, minor, device->info.major, device->info.minor);
  char key[512];
  snprintf(key, sizeof key, "cuda %s %s sm_%d%s nvrtc %d.%d driver %d", program->kernel->digest,
           program->variant->options, architecture, is_ptx ? " ptx" : "", major, minor, cuda_library.version);
  size_t bytes = 0;
  char *image = cache_read(key, &bytes);
  const bool is_cached = image != NULL;
  if (!is_cached) {
    char *text = join_text(program->variant->text, NULL);
    if (text == NULL) return no_memory(device, 0);
    status = compile_cuda(device, program, text, architecture, is_ptx, &image, &bytes);
    free(text);
    if (status != MR_OK) return status;
    cache_write(key, image, bytes);
  }
  status = enter_context(device);
  if (status == MR_OK) {
    const char *call = "";
    code = load_module(device, program, image, &call);
    leave_context();
    if (code != 0) {
      status = cuda_fail(device, call, code, name);
      cuda_unload(device, program);
    }
  }
  free(image);
  return status;
}

/* True if the byte is in page-locked memory, by whoever allocated it. For other memory the driver gives no type. */
static bool is_locked_byte(uint64_t address) {
  const int what = POINTER_MEMORY_TYPE;
  unsigned type = 0;
  void *values[] = {&type};
  return CUDA(cuPointerGetAttributes, 1, &what, values, address) == 0 && type == MEMORY_TYPE_HOST;
}

static bool cuda_is_locked(Device *device, const void *memory, uint64_t bytes) {
  if (enter_context(device) != MR_OK) return false;
  const uint64_t first = (uint64_t)(uintptr_t)memory;
  const bool is_locked = is_locked_byte(first) && is_locked_byte(first + bytes - 1);
  leave_context();
  return is_locked;
}

/* ---- streams ---- */

/* One page of page-locked memory for each stream: its status words, then the source of its epoch. */
#define STREAM_BYTES 256

/* Keeps a page for the next stream: freeing it would wait for everything that the GPU is doing. */
static void keep_page(CudaDevice *own, void *page) {
  pthread_mutex_lock(&own->lock);
  memcpy(page, &own->spare_pages, sizeof page);
  own->spare_pages = page;
  pthread_mutex_unlock(&own->lock);
}

static void *spare_page(CudaDevice *own) {
  pthread_mutex_lock(&own->lock);
  void *page = own->spare_pages;
  if (page != NULL) memcpy(&own->spare_pages, page, sizeof page);
  pthread_mutex_unlock(&own->lock);
  return page;
}

static void cuda_stream_close(Stream *stream) {
  Device *device = stream->object.device;
  CudaDevice *own = device->state;
  if (cuda.cuCtxPushCurrent_v2(own->context) != 0) return;
  const bool is_used = !stream->is_detached && (stream->native != NULL || stream->is_adopted);
  if (stream->left != NULL) cuda.cuEventSynchronize(stream->left);
  if (is_used) cuda.cuStreamSynchronize(stream->native);
  cuda.cuStreamSynchronize(own->control);
  /* From here on free_later() of another thread leaves the stream alone. */
  pthread_mutex_lock(&own->lock);
  const CUhandle native = stream->is_adopted ? NULL : stream->native, left = stream->left;
  stream->native = stream->left = NULL;
  stream->is_adopted = stream->is_detached = false;
  pthread_mutex_unlock(&own->lock);
  if (native != NULL) cuda.cuStreamSynchronize(native), cuda.cuStreamDestroy_v2(native);
  if (left != NULL) cuda.cuEventDestroy_v2(left);
  if (stream->status != NULL) keep_page(own, stream->status);
  if (stream->epoch_device != 0) free_later(device, stream->epoch_device);
  if (stream->block != NULL) cuda.cuMemFreeHost(stream->block);
  if (stream->block_device != 0) free_later(device, stream->block_device);
  leave_context();
}

static int cuda_stream_open(Stream *stream) {
  Device *device = stream->object.device;
  CudaDevice *own = device->state;
  const int status = enter_context(device);
  if (status != MR_OK) return status;
  const char *call = "cuStreamCreate";
  CUhandle native = stream->native;
  CUresult code = stream->is_adopted ? 0 : CUDA(cuStreamCreate, &native, STREAM_NON_BLOCKING);
  pthread_mutex_lock(&own->lock);
  if (code == 0) stream->native = native;
  pthread_mutex_unlock(&own->lock);
  void *page = code == 0 ? spare_page(own) : NULL;
  if (code == 0 && page == NULL) {
    call = "cuMemHostAlloc";
    code = CUDA(cuMemHostAlloc, &page, STREAM_BYTES, HOST_PORTABLE | HOST_DEVICE_MAP);
  }
  if (code == 0) {
    memset(page, 0, STREAM_BYTES);
    stream->status = page;
    stream->epoch_source = stream->status + 16;
    call = "cuMemHostGetDevicePointer";
    code = CUDA(cuMemHostGetDevicePointer_v2, &stream->status_device, page, 0);
  }
  if (code == 0) {
    pthread_mutex_lock(&own->lock);
    code = alloc_zeroed(own, &stream->epoch_device, 128, &call);
    pthread_mutex_unlock(&own->lock);
  }
  leave_context();
  if (code == 0) return MR_OK;
  const int failed = cuda_fail(device, call, code, "opening a stream");
  cuda_stream_close(stream);
  return failed;
}

/* Ends a command, which may have been queued even if it failed: leaves the context and turns its code into a status. */
static int commanded(Stream *stream, const char *call, CUresult code, const char *doing) {
  leave_context();
  __atomic_store_n(&stream->is_busy, true, __ATOMIC_RELEASE); /* now, not before: free_later() resets it */
  return code == 0 ? MR_OK : cuda_fail(stream->object.device, call, code, doing);
}

/* Records an event behind the commands of a caller's stream, which is not touched any more then. */
static int cuda_detach(Stream *stream) {
  CudaDevice *own = stream->object.device->state;
  const int status = enter_context(stream->object.device);
  if (status != MR_OK) return status;
  const char *call = "cuEventCreate";
  CUresult code = 0;
  pthread_mutex_lock(&own->lock);
  if (stream->left == NULL) code = CUDA(cuEventCreate, &stream->left, EVENT_BLOCKING | EVENT_NO_TIMING);
  if (code == 0) call = "cuEventRecord", code = CUDA(cuEventRecord, stream->left, stream->native);
  if (code != 0) cuda.cuStreamSynchronize(stream->native);
  stream->is_detached = true;
  pthread_mutex_unlock(&own->lock);
  return commanded(stream, call, code, "leaving a stream");
}

/* It may be another stream at the same address, which must not overtake the commands of the first. */
static int cuda_attach(Stream *stream) {
  CudaDevice *own = stream->object.device->state;
  const int status = enter_context(stream->object.device);
  if (status != MR_OK) return status;
  pthread_mutex_lock(&own->lock);
  const CUresult code = stream->left == NULL ? 0 : CUDA(cuStreamWaitEvent, stream->native, stream->left, 0);
  stream->is_detached = code != 0;
  stream->memory_seen = UINT64_MAX;
  pthread_mutex_unlock(&own->lock);
  return commanded(stream, "cuStreamWaitEvent", code, "returning to a stream");
}

static int cuda_write(Stream *stream, Buffer *to, uint64_t offset, const void *from, uint64_t bytes) {
  const int status = enter_context(stream->object.device);
  if (status != MR_OK) return status;
  CUresult code = await_memory(stream);
  if (code == 0) code = CUDA(cuMemcpyHtoDAsync_v2, to->address + offset, from, (size_t)bytes, stream->native);
  return commanded(stream, "cuMemcpyHtoDAsync", code, "a write");
}

static int cuda_read(Stream *stream, Buffer *from, uint64_t offset, void *to, uint64_t bytes) {
  const int status = enter_context(stream->object.device);
  if (status != MR_OK) return status;
  CUresult code = await_memory(stream);
  if (code == 0) code = CUDA(cuMemcpyDtoHAsync_v2, to, from->address + offset, (size_t)bytes, stream->native);
  return commanded(stream, "cuMemcpyDtoHAsync", code, "a read");
}

static int cuda_copy(Stream *stream, Buffer *from, uint64_t from_offset, Buffer *to, uint64_t to_offset,
                     uint64_t bytes) {
  const int status = enter_context(stream->object.device);
  if (status != MR_OK) return status;
  CUresult code = await_memory(stream);
  if (code == 0)
    code = CUDA(cuMemcpyDtoDAsync_v2, to->address + to_offset, from->address + from_offset, (size_t)bytes, stream->native);
  return commanded(stream, "cuMemcpyDtoDAsync", code, "a copy");
}

static int cuda_fill(Stream *stream, Buffer *buffer, uint32_t word, uint64_t offset, uint64_t bytes) {
  const int status = enter_context(stream->object.device);
  if (status != MR_OK) return status;
  CUresult code = await_memory(stream);
  if (code == 0) code = CUDA(cuMemsetD32Async, buffer->address + offset, word, (size_t)(bytes / 4), stream->native);
  return commanded(stream, "cuMemsetD32Async", code, "a fill");
}

/* Memory for a launch block that is too long to be passed by value. One launch's block is in flight at a time. */
static CUresult send_block(Stream *stream, uint32_t epoch, const Job *job, const Launch *launch, const char **call) {
  const uint32_t words = job->program->variant->launch_words;
  CUresult code = 0;
  *call = "cuStreamSynchronize";
  if (stream->is_block_busy) code = CUDA(cuStreamSynchronize, stream->native);
  if (code != 0) return code;
  stream->is_block_busy = false;
  if (stream->block_words < words) {
    if (stream->block != NULL) cuda.cuMemFreeHost(stream->block);
    if (stream->block_device != 0) free_later(stream->object.device, stream->block_device);
    stream->block = NULL;
    stream->block_device = 0;
    stream->block_words = 0;
    void *page = NULL;
    *call = "cuMemHostAlloc";
    code = CUDA(cuMemHostAlloc, &page, words * sizeof(uint32_t), HOST_PORTABLE | HOST_DEVICE_MAP);
    if (code != 0) return code;
    stream->block = page;
    CudaDevice *own = stream->object.device->state;
    pthread_mutex_lock(&own->lock);
    code = alloc_zeroed(own, &stream->block_device, words * sizeof(uint32_t), call);
    pthread_mutex_unlock(&own->lock);
    if (code != 0) return code;
    stream->block_words = words;
    *call = "cuStreamWaitEvent";
    code = await_memory(stream);
    if (code != 0) return code;
  }
  write_block(stream->block, epoch, job, launch);
  *call = "cuMemcpyHtoDAsync";
  code = CUDA(cuMemcpyHtoDAsync_v2, stream->block_device, stream->block, words * sizeof(uint32_t), stream->native);
  stream->is_block_busy = code == 0;
  return code;
}

#define VALUE_WORDS 1024 /* of a launch block that is passed by value */

static int cuda_launch(Stream *stream, Job *job, const Launch *launch) {
  Device *device = stream->object.device;
  CudaDevice *own = device->state;
  const Program *program = job->program;
  const mr_variant *variant = program->variant;
  const int status = enter_context(device);
  if (status != MR_OK) return status;
  uint32_t block[VALUE_WORDS];
  uint64_t values[80];
  void *arguments[80];
  uint32_t at = 0;
  const char *call = "cuStreamWaitEvent";
  /* A launch that reads the new epoch also waits until the kernels can see it. */
  const uint32_t epoch = __atomic_load_n(&stream->epoch, __ATOMIC_ACQUIRE);
  CUresult code = await_memory(stream);
  if (code == 0 && __atomic_exchange_n(&stream->is_epoch_sent, false, __ATOMIC_ACQUIRE)) {
    pthread_mutex_lock(&own->lock);
    code = CUDA(cuStreamWaitEvent, stream->native, own->sent, 0);
    pthread_mutex_unlock(&own->lock);
  }
  if (code == 0 && variant->by_value) {
    write_block(block, epoch, job, launch);
    arguments[at++] = block;
  } else if (code == 0) {
    code = send_block(stream, epoch, job, launch, &call);
    values[at] = stream->block_device;
    arguments[at] = &values[at];
    at++;
  }
  const uint64_t fixed[] = {
      launch->count_buffer == NULL ? 0 : launch->count_buffer->address + 4 * launch->count_word,
      stream->epoch_device,
      stream->status_device,
      program->tables,
  };
  for (uint32_t i = 0; i < (variant->tables == NULL ? 3u : 4u); i++, at++) {
    values[at] = fixed[i];
    arguments[at] = &values[at];
  }
  for (uint32_t i = 0; i < launch->buffer_count; i++, at++) {
    values[at] = launch->buffers[i]->address;
    arguments[at] = &values[at];
  }
  if (code == 0) {
    call = "cuLaunchKernel";
    code = CUDA(cuLaunchKernel, program->function, group_count(program, launch->count), 1, 1, variant->lanes, 1, 1,
                variant->dynamic_bytes, stream->native, arguments, NULL);
  }
  return commanded(stream, call, code, program->kernel->name);
}

static int cuda_wait(Stream *stream) {
  const int status = enter_context(stream->object.device);
  if (status != MR_OK) return status;
  const CUresult code = CUDA(cuStreamSynchronize, stream->native);
  const int waited = commanded(stream, "cuStreamSynchronize", code, "waiting for a stream");
  if (waited != MR_OK) return waited;
  stream->is_block_busy = false;
  const bool is_cut = stream->status[STATUS_INCOMPLETE] != 0;
  stream->status[STATUS_INCOMPLETE] = 0;
  return launch_status(stream, stream->status, is_cut);
}

static int cuda_is_idle(Stream *stream) {
  const int status = enter_context(stream->object.device);
  if (status != MR_OK) return status;
  const CUresult code = CUDA(cuStreamQuery, stream->native);
  if (code == CUDA_NOT_READY) {
    leave_context();
    return 0;
  }
  const int asked = commanded(stream, "cuStreamQuery", code, "asking for a stream");
  return asked == MR_OK ? 1 : asked;
}

/* Kernels compare a word of device memory with the epoch of their launch. It is sent through a stream of its own, which is
   not delayed by others. */
static int cuda_cancel(Stream *stream) {
  Device *device = stream->object.device;
  CudaDevice *own = device->state;
  const int status = enter_context(device);
  if (status != MR_OK) return status;
  pthread_mutex_lock(&own->lock);
  const uint32_t epoch = stream->epoch + 1;
  __atomic_store_n(stream->epoch_source, epoch, __ATOMIC_RELAXED);
  const char *call = "cuStreamWaitEvent";
  CUresult code = CUDA(cuStreamWaitEvent, own->control, own->zeroed, 0);
  if (code == 0) {
    call = "cuMemcpyHtoDAsync";
    code = CUDA(cuMemcpyHtoDAsync_v2, stream->epoch_device, stream->epoch_source, 4, own->control);
  }
  if (code == 0) call = "cuEventRecord", code = CUDA(cuEventRecord, own->sent, own->control);
  if (code == 0) {
    __atomic_store_n(&stream->is_epoch_sent, true, __ATOMIC_RELEASE);
    __atomic_store_n(&stream->epoch, epoch, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&own->lock);
  return commanded(stream, call, code, "cancelling a stream");
}

/* ---- events ---- */

static int cuda_event_open(Event *event) {
  Device *device = event->object.device;
  const int status = enter_context(device);
  if (status != MR_OK) return status;
  const CUresult code = CUDA(cuEventCreate, &event->native, EVENT_BLOCKING | EVENT_NO_TIMING);
  leave_context();
  return code == 0 ? MR_OK : cuda_fail(device, "cuEventCreate", code, "making an event");
}

static void cuda_event_close(Event *event) {
  const CudaDevice *own = event->object.device->state;
  if (event->native == NULL || cuda.cuCtxPushCurrent_v2(own->context) != 0) return;
  cuda.cuEventDestroy_v2(event->native);
  leave_context();
}

static int cuda_event_record(Event *event, Stream *stream) {
  const int status = enter_context(stream->object.device);
  if (status != MR_OK) return status;
  return commanded(stream, "cuEventRecord", CUDA(cuEventRecord, event->native, stream->native), "recording an event");
}

static int cuda_event_wait(Event *event) {
  Device *device = event->object.device;
  const int status = enter_context(device);
  if (status != MR_OK) return status;
  const CUresult code = CUDA(cuEventSynchronize, event->native);
  leave_context();
  return code == 0 ? MR_OK : cuda_fail(device, "cuEventSynchronize", code, "waiting for an event");
}

static int cuda_event_is_done(Event *event) {
  Device *device = event->object.device;
  const int status = enter_context(device);
  if (status != MR_OK) return status;
  const CUresult code = CUDA(cuEventQuery, event->native);
  leave_context();
  if (code == CUDA_NOT_READY) return 0;
  return code == 0 ? 1 : cuda_fail(device, "cuEventQuery", code, "asking for an event");
}

static int cuda_follow(Stream *stream, Event *event) {
  const int status = enter_context(stream->object.device);
  if (status != MR_OK) return status;
  const CUresult code = CUDA(cuStreamWaitEvent, stream->native, event->native, 0);
  return commanded(stream, "cuStreamWaitEvent", code, "following an event");
}

static const Backend cuda_backend = {
    .open = cuda_open,
    .close = cuda_close,
    .compile = cuda_compile,
    .unload = cuda_unload,
    .buffer_alloc = cuda_buffer_alloc,
    .buffer_adopt = cuda_buffer_adopt,
    .buffer_free = cuda_buffer_free,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .stream_open = cuda_stream_open,
    .stream_close = cuda_stream_close,
    .detach = cuda_detach,
    .attach = cuda_attach,
    .write = cuda_write,
    .read = cuda_read,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .launch = cuda_launch,
    .wait = cuda_wait,
    .is_idle = cuda_is_idle,
    .cancel = cuda_cancel,
    .event_open = cuda_event_open,
    .event_close = cuda_event_close,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .event_is_done = cuda_event_is_done,
    .follow = cuda_follow,
};
