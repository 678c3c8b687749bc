/* OpenCL 1.2 devices of all platforms. The library is loaded when an OpenCL device is first asked for. */
#include "internal.h"

typedef int cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_bits;
typedef void *cl_handle;

enum {
  CL_OUT_OF_DEVICE_MEMORY = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_OUT_OF_HOST_MEMORY = -6,
  CL_PLATFORM_NOT_FOUND = -1001,
  CL_PLATFORM_NAME = 0x0902,
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_UNITS = 0x1002,
  CL_DEVICE_SINGLE_CONFIG = 0x101b,
  CL_DEVICE_MEMORY = 0x101f,
  CL_DEVICE_LITTLE_ENDIAN = 0x1026,
  CL_DEVICE_AVAILABLE = 0x1027,
  CL_DEVICE_COMPILER = 0x1028,
  CL_DEVICE_NAME = 0x102b,
  CL_DEVICE_VENDOR = 0x102c,
  CL_DRIVER_VERSION = 0x102d,
  CL_DEVICE_VERSION = 0x102f,
  CL_ROUNDED_DIVIDE = 1 << 7,
  CL_TYPE_CPU = 2,
  CL_READ_WRITE = 1,
  CL_USE_HOST_PTR = 1 << 3,
  CL_ALLOC_HOST_PTR = 1 << 4,
  CL_COPY_HOST_PTR = 1 << 5,
  CL_MAP_READ_WRITE = 3,
  CL_PROGRAM_BINARY_SIZES = 0x1165,
  CL_PROGRAM_BINARIES = 0x1166,
  CL_PROGRAM_BUILD_LOG = 0x1183,
  CL_KERNEL_WORK_GROUP_SIZE = 0x11b0,
  CL_EVENT_STATUS = 0x11d3
};

#define CL_FUNCTIONS(F)                                                                                                \
  F(cl_int, clGetPlatformIDs, (cl_uint, cl_handle *, cl_uint *))                                                       \
  F(cl_int, clGetPlatformInfo, (cl_handle, cl_uint, size_t, void *, size_t *))                                         \
  F(cl_int, clGetDeviceIDs, (cl_handle, cl_bits, cl_uint, cl_handle *, cl_uint *))                                     \
  F(cl_int, clGetDeviceInfo, (cl_handle, cl_uint, size_t, void *, size_t *))                                           \
  F(cl_handle, clCreateContext, (const void *, cl_uint, const cl_handle *, void *, void *, cl_int *))                  \
  F(cl_int, clReleaseContext, (cl_handle))                                                                             \
  F(cl_handle, clCreateCommandQueue, (cl_handle, cl_handle, cl_bits, cl_int *))                                        \
  F(cl_int, clReleaseCommandQueue, (cl_handle))                                                                        \
  F(cl_handle, clCreateBuffer, (cl_handle, cl_bits, size_t, void *, cl_int *))                                         \
  F(cl_int, clReleaseMemObject, (cl_handle))                                                                           \
  F(cl_handle, clCreateProgramWithSource, (cl_handle, cl_uint, const char **, const size_t *, cl_int *))               \
  F(cl_handle, clCreateProgramWithBinary,                                                                              \
    (cl_handle, cl_uint, const cl_handle *, const size_t *, const unsigned char **, cl_int *, cl_int *))               \
  F(cl_int, clBuildProgram, (cl_handle, cl_uint, const cl_handle *, const char *, void *, void *))                     \
  F(cl_int, clGetProgramBuildInfo, (cl_handle, cl_handle, cl_uint, size_t, void *, size_t *))                          \
  F(cl_int, clGetProgramInfo, (cl_handle, cl_uint, size_t, void *, size_t *))                                          \
  F(cl_int, clReleaseProgram, (cl_handle))                                                                             \
  F(cl_handle, clCreateKernel, (cl_handle, const char *, cl_int *))                                                    \
  F(cl_int, clReleaseKernel, (cl_handle))                                                                              \
  F(cl_int, clSetKernelArg, (cl_handle, cl_uint, size_t, const void *))                                                \
  F(cl_int, clGetKernelWorkGroupInfo, (cl_handle, cl_handle, cl_uint, size_t, void *, size_t *))                       \
  F(cl_int, clEnqueueWriteBuffer,                                                                                      \
    (cl_handle, cl_handle, cl_uint, size_t, size_t, const void *, cl_uint, const cl_handle *, cl_handle *))            \
  F(cl_int, clEnqueueReadBuffer,                                                                                       \
    (cl_handle, cl_handle, cl_uint, size_t, size_t, void *, cl_uint, const cl_handle *, cl_handle *))                  \
  F(cl_int, clEnqueueCopyBuffer,                                                                                       \
    (cl_handle, cl_handle, cl_handle, size_t, size_t, size_t, cl_uint, const cl_handle *, cl_handle *))                \
  F(cl_int, clEnqueueFillBuffer,                                                                                       \
    (cl_handle, cl_handle, const void *, size_t, size_t, size_t, cl_uint, const cl_handle *, cl_handle *))             \
  F(void *, clEnqueueMapBuffer,                                                                                        \
    (cl_handle, cl_handle, cl_uint, cl_bits, size_t, size_t, cl_uint, const cl_handle *, cl_handle *, cl_int *))       \
  F(cl_int, clEnqueueUnmapMemObject, (cl_handle, cl_handle, void *, cl_uint, const cl_handle *, cl_handle *))          \
  F(cl_int, clEnqueueNDRangeKernel,                                                                                    \
    (cl_handle, cl_handle, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const cl_handle *,        \
     cl_handle *))                                                                                                     \
  F(cl_int, clEnqueueMarkerWithWaitList, (cl_handle, cl_uint, const cl_handle *, cl_handle *))                         \
  F(cl_int, clEnqueueBarrierWithWaitList, (cl_handle, cl_uint, const cl_handle *, cl_handle *))                        \
  F(cl_int, clGetEventInfo, (cl_handle, cl_uint, size_t, void *, size_t *))                                            \
  F(cl_int, clReleaseEvent, (cl_handle))                                                                               \
  F(cl_int, clWaitForEvents, (cl_uint, const cl_handle *))                                                             \
  F(cl_int, clRetainCommandQueue, (cl_handle))                                                                         \
  F(cl_int, clFlush, (cl_handle))                                                                                      \
  F(cl_int, clFinish, (cl_handle))

#define CL_POINTER(result, name, arguments) result(*name) arguments;
#define CL_SYMBOL(result, name, arguments) {#name, (void **)(void *)&cl.name},

static struct {
  CL_FUNCTIONS(CL_POINTER)
} cl;

/* Calls a function that returns a code; those that release something are called directly. */
#define CL(name, ...) (MR_FAULT(#name) ? CL_OUT_OF_RESOURCES : cl.name(__VA_ARGS__))
/* Calls a function that returns a handle and writes its code. */
#define CL_NEW(name, code, ...) (MR_FAULT(#name) ? (*(code) = CL_OUT_OF_RESOURCES, NULL) : cl.name(__VA_ARGS__, code))

static struct {
  pthread_mutex_t lock;
  bool is_loaded;
} cl_library = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct ClDevice {
  cl_handle device, context;
  bool is_cpu, rounds_quotients;
  cl_handle service, control; /* queues: one zeroes memory, one sends epochs */
  cl_handle zeroed;           /* event of the last command on `service` */
  uint64_t allocations;
  pthread_mutex_t lock;       /* of the two queues */
  char version[512];          /* of platform and driver, for the cache */
} ClDevice;

/* ---- errors ---- */

static const struct {
  cl_int code;
  const char *name;
} cl_names[] = {
    {-1, "DEVICE_NOT_FOUND"},        {-2, "DEVICE_NOT_AVAILABLE"},     {-3, "COMPILER_NOT_AVAILABLE"},
    {-4, "MEM_OBJECT_ALLOCATION_FAILURE"}, {-5, "OUT_OF_RESOURCES"},   {-6, "OUT_OF_HOST_MEMORY"},
    {-11, "BUILD_PROGRAM_FAILURE"},  {-12, "MAP_FAILURE"},             {-14, "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "INVALID_VALUE"},          {-33, "INVALID_DEVICE"},          {-34, "INVALID_CONTEXT"},
    {-36, "INVALID_COMMAND_QUEUE"},  {-38, "INVALID_MEM_OBJECT"},      {-42, "INVALID_BINARY"},
    {-43, "INVALID_BUILD_OPTIONS"},  {-44, "INVALID_PROGRAM"},         {-45, "INVALID_PROGRAM_EXECUTABLE"},
    {-46, "INVALID_KERNEL_NAME"},    {-48, "INVALID_KERNEL"},          {-49, "INVALID_ARG_INDEX"},
    {-51, "INVALID_ARG_SIZE"},       {-52, "INVALID_KERNEL_ARGS"},     {-54, "INVALID_WORK_GROUP_SIZE"},
    {-61, "INVALID_BUFFER_SIZE"},    {-1001, "PLATFORM_NOT_FOUND"},    {-9999, "ILLEGAL_BUFFER_ACCESS"},
};

static int cl_fail(Device *device, const char *call, cl_int code, const char *doing) {
  const char *name = "an unknown code";
  for (size_t i = 0; i < sizeof cl_names / sizeof *cl_names; i++)
    if (cl_names[i].code == code) name = cl_names[i].name;
  const bool is_memory = code == CL_OUT_OF_DEVICE_MEMORY || code == CL_OUT_OF_HOST_MEMORY;
  return fail(device, is_memory ? MR_ERROR_MEMORY : MR_ERROR_DEVICE, "%s: %s: %s failed with %s (%d)",
              device == NULL ? "opencl" : device->info.id, doing, call, name, code);
}

/* ---- the library and its devices ---- */

static int load_opencl(void) {
  static const Symbol symbols[] = {CL_FUNCTIONS(CL_SYMBOL){NULL, NULL}};
  static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
  pthread_mutex_lock(&cl_library.lock);
  int status = MR_OK;
  if (!cl_library.is_loaded) {
    char error[512];
    cl_library.is_loaded = load_library("MILLRACE_LIBOPENCL", names, symbols, error, sizeof error) != NULL;
    if (!cl_library.is_loaded) status = fail(NULL, MR_ERROR_ABSENT, "opencl: no OpenCL: %s", error);
  }
  pthread_mutex_unlock(&cl_library.lock);
  return status;
}

#define MAX_CL_DEVICES 64

static uint64_t cl_number(cl_handle device, cl_uint what) {
  uint64_t value = 0;
  return CL(clGetDeviceInfo, device, what, sizeof value, &value, NULL) == 0 ? value : 0;
}

static void cl_text(cl_handle device, cl_uint what, char *text, size_t bytes) {
  memset(text, 0, bytes);
  if (CL(clGetDeviceInfo, device, what, bytes - 1, text, NULL) != 0) text[0] = 0;
}

/* Lists the devices that kernels can run on, GPUs first. Returns their number, or a negative status. */
static int list_opencl(cl_handle *list) {
  const int status = load_opencl();
  if (status != MR_OK) return status;
  cl_handle platforms[MAX_CL_DEVICES], found[MAX_CL_DEVICES];
  cl_uint platform_count = 0, count = 0;
  const cl_int code = CL(clGetPlatformIDs, MAX_CL_DEVICES, platforms, &platform_count);
  if (code == CL_PLATFORM_NOT_FOUND) platform_count = 0;
  else if (code != 0) return cl_fail(NULL, "clGetPlatformIDs", code, "looking for devices");
  int gpus = 0, all = 0;
  cl_handle cpus[MAX_CL_DEVICES];
  for (cl_uint p = 0; p < platform_count && p < MAX_CL_DEVICES; p++) {
    if (CL(clGetDeviceIDs, platforms[p], 0xffffffff, MAX_CL_DEVICES, found, &count) != 0) continue;
    for (cl_uint i = 0; i < count && i < MAX_CL_DEVICES && all < MAX_CL_DEVICES; i++) {
      if (cl_number(found[i], CL_DEVICE_AVAILABLE) == 0 || cl_number(found[i], CL_DEVICE_COMPILER) == 0 ||
          cl_number(found[i], CL_DEVICE_LITTLE_ENDIAN) == 0)
        continue;
      if ((cl_number(found[i], CL_DEVICE_TYPE) & CL_TYPE_CPU) == 0) list[gpus++] = found[i];
      else cpus[all - gpus] = found[i];
      all++;
    }
  }
  for (int i = gpus; i < all; i++) list[i] = cpus[i - gpus];
  return all;
}

static int opencl_count(void) {
  cl_handle list[MAX_CL_DEVICES];
  const int count = list_opencl(list);
  return count < 0 ? 0 : count;
}

static int describe_opencl(int ordinal, cl_handle *device, mr_info *info) {
  cl_handle list[MAX_CL_DEVICES];
  const int count = list_opencl(list);
  if (count < 0) return count;
  if (ordinal < 0 || ordinal >= count)
    return fail(NULL, MR_ERROR_ABSENT, "opencl:%d: this machine has %d OpenCL device%s", ordinal, count,
                count == 1 ? "" : "s");
  *device = list[ordinal];
  memset(info, 0, sizeof *info);
  snprintf(info->id, sizeof info->id, "opencl:%d", ordinal);
  info->kind = MR_OPENCL;
  cl_text(*device, CL_DEVICE_NAME, info->name, sizeof info->name);
  const uint64_t units = cl_number(*device, CL_DEVICE_UNITS);
  info->units = units < 1 ? 1 : (uint32_t)units;
  info->memory_bytes = cl_number(*device, CL_DEVICE_MEMORY);
  return MR_OK;
}

/* True if an OpenCL device is a GPU; mr_open() prefers the native CPU device to OpenCL on the CPU. */
static bool has_opencl_gpu(void) {
  cl_handle list[MAX_CL_DEVICES];
  return list_opencl(list) > 0 && (cl_number(list[0], CL_DEVICE_TYPE) & CL_TYPE_CPU) == 0;
}

/* What a variant may ask for: `nvidia`, whose processors add by multiplying, too; `cpu`, whose platforms run a workgroup
   as a loop. */
static const char *opencl_features(const Device *device) {
  const ClDevice *own = device->state;
  if (own->is_cpu) return "cpu";
  char vendor[128];
  cl_text(own->device, CL_DEVICE_VENDOR, vendor, sizeof vendor);
  return strstr(vendor, "NVIDIA") != NULL ? "nvidia" : "";
}

static void opencl_close(Device *device) {
  ClDevice *own = device->state;
  if (own == NULL) return;
  if (own->zeroed != NULL) cl.clReleaseEvent(own->zeroed);
  if (own->service != NULL) cl.clFinish(own->service), cl.clReleaseCommandQueue(own->service);
  if (own->control != NULL) cl.clFinish(own->control), cl.clReleaseCommandQueue(own->control);
  if (own->context != NULL) cl.clReleaseContext(own->context);
  pthread_mutex_destroy(&own->lock);
  free(own);
  device->state = NULL;
}

static int opencl_open(Device *device, void *context, int ordinal) {
  (void)context;
  ClDevice *own = allocate(1, sizeof *own);
  if (own == NULL) return no_memory(NULL, sizeof *own);
  pthread_mutex_init(&own->lock, NULL);
  device->state = own;
  int status = describe_opencl(ordinal, &own->device, &device->info);
  if (status == MR_OK) {
    own->is_cpu = (cl_number(own->device, CL_DEVICE_TYPE) & CL_TYPE_CPU) != 0;
    own->rounds_quotients = (cl_number(own->device, CL_DEVICE_SINGLE_CONFIG) & CL_ROUNDED_DIVIDE) != 0;
    char version[200], driver[200];
    cl_text(own->device, CL_DEVICE_VERSION, version, sizeof version);
    cl_text(own->device, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(own->version, sizeof own->version, "%.60s %s %s", device->info.name, version, driver);
    cl_int code = 0;
    const char *call = "clCreateContext";
    own->context = CL_NEW(clCreateContext, &code, NULL, 1, &own->device, NULL, NULL);
    if (code == 0) {
      call = "clCreateCommandQueue";
      own->service = CL_NEW(clCreateCommandQueue, &code, own->context, own->device, 0);
    }
    if (code == 0) own->control = CL_NEW(clCreateCommandQueue, &code, own->context, own->device, 0);
    if (code != 0) status = cl_fail(device, call, code, "opening the device");
  }
  if (status != MR_OK) opencl_close(device);
  return status;
}

/* ---- memory ---- */

static cl_handle cl_memory(uint64_t address) { return (cl_handle)(uintptr_t)address; }

/* Zeroes memory on a queue of its own; other queues wait for its event. */
static cl_int zero_memory(ClDevice *own, cl_handle memory, size_t bytes) {
  const uint32_t zero = 0;
  cl_handle event = NULL;
  pthread_mutex_lock(&own->lock);
  cl_int code = CL(clEnqueueFillBuffer, own->service, memory, &zero, 4, 0, bytes, 0, NULL, &event);
  if (code == 0) {
    if (own->zeroed != NULL) cl.clReleaseEvent(own->zeroed);
    own->zeroed = event;
    own->allocations++;
    code = CL(clFlush, own->service);
  }
  pthread_mutex_unlock(&own->lock);
  return code;
}

/* Each command of a stream waits for the event of the one before it, also on a queue that runs commands in order: a command
   that fails then makes the later ones fail, and the last event has the outcome of all. */
#define AFTER_EVENT(event) *(event) == NULL ? 0u : 1u, *(event) == NULL ? NULL : (event)
#define AFTER(stream) AFTER_EVENT(&(stream)->last_event)

static void set_last_event(Stream *stream, cl_handle event) {
  if (stream->last_event != NULL) cl.clReleaseEvent(stream->last_event);
  stream->last_event = event;
}

/* Delays the stream until another queue's event has passed. */
static cl_int follow_event(Stream *stream, cl_handle event) {
  const cl_handle list[] = {event, stream->last_event};
  cl_handle barrier = NULL;
  const cl_int code =
      CL(clEnqueueBarrierWithWaitList, stream->native, stream->last_event == NULL ? 1 : 2, list, &barrier);
  if (code == 0) set_last_event(stream, barrier);
  return code;
}

static cl_int await_zeroed(Stream *stream) {
  ClDevice *own = stream->object.device->state;
  cl_int code = 0;
  pthread_mutex_lock(&own->lock);
  if (stream->memory_seen != own->allocations) {
    code = follow_event(stream, own->zeroed);
    if (code == 0) stream->memory_seen = own->allocations;
  }
  pthread_mutex_unlock(&own->lock);
  return code;
}

static int opencl_buffer_alloc(Buffer *buffer) {
  Device *device = buffer->object.device;
  ClDevice *own = device->state;
  if (buffer->bytes > device->info.memory_bytes)
    return fail(device, MR_ERROR_MEMORY, "%s: a buffer of %llu bytes is larger than the device's memory",
                device->info.id, (unsigned long long)buffer->bytes);
  const size_t bytes = buffer->bytes == 0 ? 16 : ((size_t)buffer->bytes + 15) / 16 * 16;
  cl_int code = 0;
  const char *call = "clCreateBuffer";
  cl_handle memory = CL_NEW(clCreateBuffer, &code, own->context, CL_READ_WRITE, bytes, NULL);
  if (code == 0) {
    call = "clEnqueueFillBuffer";
    code = zero_memory(own, memory, bytes);
    if (code != 0) cl.clReleaseMemObject(memory);
  }
  if (code != 0) return cl_fail(device, call, code, "allocating memory");
  buffer->address = (uint64_t)(uintptr_t)memory;
  return MR_OK;
}

static int opencl_buffer_adopt(Buffer *buffer) {
  (void)buffer;
  return MR_OK;
}

/* The platform keeps the memory until the commands that use it have run. */
static void opencl_buffer_free(Buffer *buffer) {
  if (!buffer->is_adopted) cl.clReleaseMemObject(cl_memory(buffer->address));
}

/* Drivers keep a mapped buffer that they allocated on the host page-locked. A CPU device reads all memory. */
static int opencl_host_alloc(Device *device, uint64_t bytes, void **memory, void **native) {
  ClDevice *own = device->state;
  if (bytes > host_memory_bytes()) return no_memory(device, bytes);
  const size_t size = bytes == 0 ? 1 : (size_t)bytes;
  if (own->is_cpu) {
    *memory = allocate_pages(size);
    return *memory == NULL ? no_memory(device, bytes) : MR_OK;
  }
  cl_int code = 0;
  const char *call = "clCreateBuffer";
  cl_handle buffer = CL_NEW(clCreateBuffer, &code, own->context, CL_READ_WRITE | CL_ALLOC_HOST_PTR, size, NULL);
  if (code == 0) {
    call = "clEnqueueMapBuffer";
    pthread_mutex_lock(&own->lock);
    *memory = CL_NEW(clEnqueueMapBuffer, &code, own->control, buffer, 1, CL_MAP_READ_WRITE, 0, size, 0, NULL, NULL);
    pthread_mutex_unlock(&own->lock);
    if (code != 0) cl.clReleaseMemObject(buffer);
  }
  if (code != 0) return cl_fail(device, call, code, "allocating page-locked memory");
  *native = buffer;
  memset(*memory, 0, size);
  return MR_OK;
}

static void opencl_host_free(Device *device, void *memory, void *native) {
  ClDevice *own = device->state;
  if (native == NULL) {
    free(memory);
    return;
  }
  pthread_mutex_lock(&own->lock);
  cl.clEnqueueUnmapMemObject(own->control, native, memory, 0, NULL, NULL);
  cl.clFinish(own->control);
  pthread_mutex_unlock(&own->lock);
  cl.clReleaseMemObject(native);
}

/* ---- compilation ---- */

/* A device that does not round quotients refuses the option that asks for it. */
static void cl_options(const ClDevice *own, const char *given, char *options, size_t bytes) {
  static const char rounded[] = "-cl-fp32-correctly-rounded-divide-sqrt";
  snprintf(options, bytes, "%s", given);
  char *at = own->rounds_quotients ? NULL : strstr(options, rounded);
  if (at != NULL) memmove(at, at + sizeof rounded - 1, strlen(at + sizeof rounded - 1) + 1);
}

static int refused_by_opencl(Device *device, Program *program, cl_handle built, cl_int code) {
  const ClDevice *own = device->state;
  size_t bytes = 0;
  char line[400] = "";
  char *log = CL(clGetProgramBuildInfo, built, own->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) == 0
                  ? allocate(bytes + 1, 1)
                  : NULL;
  if (log != NULL && CL(clGetProgramBuildInfo, built, own->device, CL_PROGRAM_BUILD_LOG, bytes, log, NULL) == 0)
    first_error(log, line, sizeof line);
  free(log);
  return fail(device, MR_ERROR_COMPILE, "%s: the OpenCL compiler refused kernel %s (%d): %s", device->info.id,
              program->kernel->name, code, line);
}

/* Loads a program from the cache; null if it is not there, or if the platform refuses its own binary. */
static cl_handle cached_opencl(const ClDevice *own, const char *key, const char *options) {
  size_t bytes = 0;
  char *binary = cache_read(key, &bytes);
  if (binary == NULL) return NULL;
  cl_int accepted = 0, code = 0;
  const unsigned char *list[] = {(const unsigned char *)binary};
  cl_handle program =
      CL_NEW(clCreateProgramWithBinary, &code, own->context, 1, &own->device, &bytes, list, &accepted);
  free(binary);
  if (code != 0) return NULL;
  if (accepted == 0 && CL(clBuildProgram, program, 1, &own->device, options, NULL, NULL) == 0) return program;
  cl.clReleaseProgram(program);
  return NULL;
}

static void store_opencl(cl_handle program, const char *key) {
  size_t bytes = 0;
  if (CL(clGetProgramInfo, program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != 0 || bytes == 0) return;
  unsigned char *binary = allocate(bytes, 1);
  if (binary == NULL) return;
  if (CL(clGetProgramInfo, program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == 0)
    cache_write(key, binary, bytes);
  free(binary);
}

static int build_opencl(Device *device, Program *program, const char *key, const char *options) {
  const ClDevice *own = device->state;
  size_t length = 0;
  char *text = join_text(program->variant->text, &length);
  if (text == NULL) return no_memory(device, 0);
  cl_int code = 0;
  const char *list[] = {text};
  cl_handle built = CL_NEW(clCreateProgramWithSource, &code, own->context, 1, list, &length);
  free(text);
  if (code != 0) return cl_fail(device, "clCreateProgramWithSource", code, program->kernel->name);
  code = CL(clBuildProgram, built, 1, &own->device, options, NULL, NULL);
  if (code != 0) {
    const int status = refused_by_opencl(device, program, built, code);
    cl.clReleaseProgram(built);
    return status;
  }
  store_opencl(built, key);
  program->module = built;
  return MR_OK;
}

static void opencl_unload(Device *device, Program *program) {
  ClDevice *own = device->state;
  if (program->tables != 0) {
    pthread_mutex_lock(&own->lock);
    cl.clFinish(own->service); /* which may still be sending them */
    pthread_mutex_unlock(&own->lock);
    cl.clReleaseMemObject(cl_memory(program->tables));
  }
  if (program->function != NULL) cl.clReleaseKernel(program->function);
  if (program->module != NULL) cl.clReleaseProgram(program->module);
}

static int opencl_compile(Device *device, Program *program) {
  ClDevice *own = device->state;
  const mr_variant *variant = program->variant;
  char options[256], key[1024];
  cl_options(own, variant->options, options, sizeof options);
  snprintf(key, sizeof key, "opencl %s [%s] %s %s", program->kernel->digest,
           variant->features == NULL ? "" : variant->features, options, own->version);
  program->module = cached_opencl(own, key, options);
  if (program->module == NULL) {
    const int status = build_opencl(device, program, key, options);
    if (status != MR_OK) return status;
  }
  cl_int code = 0;
  const char *call = "clCreateKernel";
  program->function = CL_NEW(clCreateKernel, &code, program->module, variant->entry);
  size_t threads = 0;
  if (code == 0) {
    call = "clGetKernelWorkGroupInfo";
    code = CL(clGetKernelWorkGroupInfo, program->function, own->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof threads,
              &threads, NULL);
  }
  if (code == 0 && variant->tables != NULL) {
    call = "clCreateBuffer";
    cl_handle tables = CL_NEW(clCreateBuffer, &code, own->context, CL_READ_WRITE | CL_COPY_HOST_PTR,
                              variant->table_words * sizeof(uint32_t), (void *)(uintptr_t)variant->tables);
    if (code == 0) program->tables = (uint64_t)(uintptr_t)tables;
  }
  int status = code == 0 ? MR_OK : cl_fail(device, call, code, program->kernel->name);
  if (status == MR_OK && threads < variant->lanes)
    status = fail(device, MR_ERROR_COMPILE, "%s: kernel %s has workgroups of %u threads, the device at most %zu",
                  device->info.id, program->kernel->name, variant->lanes, threads);
  if (status != MR_OK) opencl_unload(device, program);
  /* Four workgroups for a core; a GPU's unit holds 2048 threads. */
  const uint32_t per_unit = own->is_cpu ? 4 : 2048 / variant->lanes;
  program->resident_groups = (uint64_t)device->info.units * (per_unit < 1 ? 1 : per_unit);
  return status;
}

/* ---- streams ----
   On a CPU the kernels read the epoch and write their status in the stream's own memory. A GPU has both in its memory. */

/* Called when no launch of the stream is in flight. */
static void free_blocks(Stream *stream) {
  if (stream->block_device != 0) cl.clReleaseMemObject(cl_memory(stream->block_device));
  for (int i = 0; i < BLOCK_COPIES; i++) {
    if (stream->copy_events[i] != NULL) cl.clReleaseEvent(stream->copy_events[i]);
    free(stream->copies[i]);
    stream->copies[i] = NULL;
    stream->copy_events[i] = NULL;
  }
  stream->block_device = 0;
  stream->block_words = 0;
}

static void opencl_stream_close(Stream *stream) {
  ClDevice *own = stream->object.device->state;
  if (stream->native != NULL) cl.clFinish(stream->native);
  pthread_mutex_lock(&own->lock);
  cl.clFinish(own->control);
  pthread_mutex_unlock(&own->lock);
  if (stream->status_device != 0) cl.clReleaseMemObject(cl_memory(stream->status_device));
  if (stream->epoch_device != 0) cl.clReleaseMemObject(cl_memory(stream->epoch_device));
  if (stream->counter_device != 0) cl.clReleaseMemObject(cl_memory(stream->counter_device));
  free_blocks(stream);
  set_last_event(stream, NULL);
  if (stream->native != NULL) cl.clReleaseCommandQueue(stream->native);
  free(stream->status);
}

/* Zeroed words that kernels and the host share. */
static cl_int shared_words(ClDevice *own, uint32_t *words, size_t bytes, uint64_t *address) {
  cl_int code = 0;
  const cl_bits flags = CL_READ_WRITE | (own->is_cpu ? (cl_bits)CL_USE_HOST_PTR : (cl_bits)CL_COPY_HOST_PTR);
  cl_handle memory = CL_NEW(clCreateBuffer, &code, own->context, flags, bytes, words);
  if (code == 0) *address = (uint64_t)(uintptr_t)memory;
  return code;
}

static int opencl_stream_open(Stream *stream) {
  Device *device = stream->object.device;
  ClDevice *own = device->state;
  /* A page of its own: the status, and from word 256 on the epoch. */
  stream->status = allocate_pages(4096);
  if (stream->status == NULL) return no_memory(device, 4096);
  if (stream->is_adopted) cl.clRetainCommandQueue(stream->native); /* the caller may release it at any time */
  stream->epoch_source = stream->status + 256;
  cl_int code = 0;
  const char *call = "clCreateCommandQueue";
  if (!stream->is_adopted) stream->native = CL_NEW(clCreateCommandQueue, &code, own->context, own->device, 0);
  if (code == 0) {
    call = "clCreateBuffer";
    code = shared_words(own, stream->status, 64, &stream->status_device);
  }
  if (code == 0) code = shared_words(own, stream->epoch_source, 64, &stream->epoch_device);
  if (code == 0) {
    cl_handle counter = CL_NEW(clCreateBuffer, &code, own->context, CL_READ_WRITE, 64, NULL);
    if (code == 0) stream->counter_device = (uint64_t)(uintptr_t)counter;
  }
  if (code == 0) return MR_OK;
  const int failed = cl_fail(device, call, code, "opening a stream");
  opencl_stream_close(stream);
  return failed;
}

/* Ends a command: keeps its event, which has the command's outcome, and sends it to the device. */
static int cl_commanded(Stream *stream, const char *call, cl_int code, cl_handle event, const char *doing) {
  if (event != NULL) set_last_event(stream, event);
  if (code == 0) {
    code = CL(clFlush, stream->native);
    if (code != 0) call = "clFlush";
  }
  return code == 0 ? MR_OK : cl_fail(stream->object.device, call, code, doing);
}

static int opencl_write(Stream *stream, Buffer *to, uint64_t offset, const void *from, uint64_t bytes) {
  cl_handle event = NULL;
  cl_int code = await_zeroed(stream);
  if (code == 0)
    code = CL(clEnqueueWriteBuffer, stream->native, cl_memory(to->address), 0, (size_t)offset, (size_t)bytes, from,
              AFTER(stream), &event);
  return cl_commanded(stream, "clEnqueueWriteBuffer", code, event, "a write");
}

static int opencl_read(Stream *stream, Buffer *from, uint64_t offset, void *to, uint64_t bytes) {
  cl_handle event = NULL;
  cl_int code = await_zeroed(stream);
  if (code == 0)
    code = CL(clEnqueueReadBuffer, stream->native, cl_memory(from->address), 0, (size_t)offset, (size_t)bytes, to,
              AFTER(stream), &event);
  return cl_commanded(stream, "clEnqueueReadBuffer", code, event, "a read");
}

static int opencl_copy(Stream *stream, Buffer *from, uint64_t from_offset, Buffer *to, uint64_t to_offset,
                       uint64_t bytes) {
  cl_handle event = NULL;
  cl_int code = await_zeroed(stream);
  if (code == 0)
    code = CL(clEnqueueCopyBuffer, stream->native, cl_memory(from->address), cl_memory(to->address),
              (size_t)from_offset, (size_t)to_offset, (size_t)bytes, AFTER(stream), &event);
  return cl_commanded(stream, "clEnqueueCopyBuffer", code, event, "a copy");
}

static int opencl_fill(Stream *stream, Buffer *buffer, uint32_t word, uint64_t offset, uint64_t bytes) {
  cl_handle event = NULL;
  cl_int code = await_zeroed(stream);
  if (code == 0)
    code = CL(clEnqueueFillBuffer, stream->native, cl_memory(buffer->address), &word, 4, (size_t)offset,
              (size_t)bytes, AFTER(stream), &event);
  return cl_commanded(stream, "clEnqueueFillBuffer", code, event, "a fill");
}

static cl_int set_argument(cl_handle kernel, cl_uint index, uint64_t address) {
  const cl_handle memory = cl_memory(address);
  return CL(clSetKernelArg, kernel, index, sizeof memory, address == 0 ? NULL : &memory);
}

/* Makes the memory for launch blocks of a kernel: one on the device, since launches run in order, and several copies on the
   host, which must stay until they have been sent. */
static int need_blocks(Stream *stream, uint32_t words) {
  Device *device = stream->object.device;
  const ClDevice *own = device->state;
  if (stream->block_words >= words) return MR_OK;
  cl_int code = CL(clFinish, stream->native);
  if (code != 0) return cl_fail(device, "clFinish", code, "a launch block");
  free_blocks(stream);
  cl_handle block = CL_NEW(clCreateBuffer, &code, own->context, CL_READ_WRITE, words * sizeof(uint32_t), NULL);
  if (code != 0) return cl_fail(device, "clCreateBuffer", code, "a launch block");
  stream->block_device = (uint64_t)(uintptr_t)block;
  for (int i = 0; i < BLOCK_COPIES; i++) {
    stream->copies[i] = allocate(words, sizeof(uint32_t));
    if (stream->copies[i] == NULL) return no_memory(device, words * sizeof(uint32_t));
  }
  stream->block_words = words;
  return MR_OK;
}

/* Queues the launch's block; *sent is the event of its write. Waits if too many are on their way. */
static cl_int send_launch_block(Stream *stream, uint32_t epoch, const Job *job, const Launch *launch, cl_handle *sent,
                                const char **call) {
  const uint32_t at = stream->next_copy++ % BLOCK_COPIES;
  cl_int code = 0;
  if (stream->copy_events[at] != NULL) {
    *call = "clWaitForEvents";
    code = CL(clWaitForEvents, 1, &stream->copy_events[at]);
    cl.clReleaseEvent(stream->copy_events[at]);
    stream->copy_events[at] = NULL;
  }
  if (code != 0) return code;
  write_block(stream->copies[at], epoch, job, launch);
  *call = "clEnqueueWriteBuffer";
  code = CL(clEnqueueWriteBuffer, stream->native, cl_memory(stream->block_device), 0, 0,
            job->program->variant->launch_words * sizeof(uint32_t), stream->copies[at], AFTER(stream),
            &stream->copy_events[at]);
  *sent = stream->copy_events[at];
  return code;
}

#define CL_VALUE_WORDS 256 /* of a launch block that is passed by value: devices accept 1024 bytes */

static int opencl_launch(Stream *stream, Job *job, const Launch *launch) {
  Device *device = stream->object.device;
  ClDevice *own = device->state;
  Program *program = job->program;
  const mr_variant *variant = program->variant;
  if (!variant->by_value) {
    const int status = need_blocks(stream, variant->launch_words);
    if (status != MR_OK) return status;
  }
  uint32_t block[CL_VALUE_WORDS];
  const uint32_t epoch = __atomic_load_n(&stream->epoch, __ATOMIC_ACQUIRE);
  const char *call;
  cl_int code;
  call = "clEnqueueBarrierWithWaitList";
  code = await_zeroed(stream);
  if (code == 0 && __atomic_exchange_n(&stream->is_epoch_sent, false, __ATOMIC_ACQUIRE)) {
    call = "clFinish";
    pthread_mutex_lock(&own->lock);
    code = CL(clFinish, own->control);
    pthread_mutex_unlock(&own->lock);
  }
  cl_handle sent = NULL, event = NULL;
  if (code == 0 && variant->by_value) write_block(block, epoch, job, launch);
  else if (code == 0) code = send_launch_block(stream, epoch, job, launch, &sent, &call);
  const cl_handle *before = sent != NULL ? &sent : &stream->last_event;
  if (code == 0 && launch->count_buffer != NULL) {
    call = "clEnqueueCopyBuffer";
    code = CL(clEnqueueCopyBuffer, stream->native, cl_memory(launch->count_buffer->address),
              cl_memory(stream->counter_device), (size_t)(4 * launch->count_word), 0, 4, AFTER_EVENT(before),
              &event);
    if (code == 0) set_last_event(stream, event);
    before = &stream->last_event;
    event = NULL;
  }
  pthread_mutex_lock(&program->lock);
  if (code == 0) {
    call = "clSetKernelArg";
    const uint64_t fixed[] = {stream->block_device, launch->count_buffer == NULL ? 0 : stream->counter_device,
                              stream->epoch_device, stream->status_device, program->tables};
    cl_uint at = 0;
    if (variant->by_value)
      code = CL(clSetKernelArg, program->function, at++, variant->launch_words * sizeof(uint32_t), block);
    for (; code == 0 && at < (variant->tables == NULL ? 4u : 5u); at++)
      code = set_argument(program->function, at, fixed[at]);
    for (uint32_t i = 0; code == 0 && i < launch->buffer_count; i++)
      code = set_argument(program->function, at++, launch->buffers[i]->address);
  }
  if (code == 0) {
    call = "clEnqueueNDRangeKernel";
    const uint64_t blocks = (launch->count + variant->group_items - 1) / variant->group_items;
    const uint64_t few = blocks < program->resident_groups ? blocks : program->resident_groups;
    const size_t groups = own->is_cpu ? (size_t)few : group_count(program, launch->count);
    const size_t local = variant->lanes, global = groups * local;
    code = CL(clEnqueueNDRangeKernel, stream->native, program->function, 1, NULL, &global, &local,
              AFTER_EVENT(before), &event);
  }
  pthread_mutex_unlock(&program->lock);
  return cl_commanded(stream, call, code, event, program->kernel->name);
}

static int opencl_wait(Stream *stream) {
  Device *device = stream->object.device;
  const ClDevice *own = device->state;
  const char *call = "clFinish";
  cl_int code = own->is_cpu
                    ? CL(clFinish, stream->native)
                    : CL(clEnqueueReadBuffer, stream->native, cl_memory(stream->status_device), 1, 0, 32,
                         stream->status, AFTER(stream), NULL);
  cl_int outcome = 0;
  if (stream->last_event != NULL) {
    const cl_int asked = CL(clGetEventInfo, stream->last_event, CL_EVENT_STATUS, sizeof outcome, &outcome, NULL);
    if (asked != 0) call = "clGetEventInfo", code = asked;
    else if (outcome < 0) call = "a command", code = outcome;
    set_last_event(stream, NULL);
  }
  if (code != 0) return cl_fail(device, call, code, "waiting for a stream");
  const bool is_cut = stream->status[STATUS_INCOMPLETE] != 0, is_set = is_cut || stream->status[STATUS_TRAPPED] != 0;
  if (is_set && !own->is_cpu) {
    const uint32_t zero = 0;
    code = CL(clEnqueueFillBuffer, stream->native, cl_memory(stream->status_device), &zero, 4, 0, 32, 0, NULL, NULL);
    if (code != 0) return cl_fail(device, "clEnqueueFillBuffer", code, "clearing a stream's status");
  }
  stream->status[STATUS_INCOMPLETE] = 0;
  return launch_status(stream, stream->status, is_cut);
}

static int opencl_is_idle(Stream *stream) {
  if (stream->last_event == NULL) return 1;
  cl_int outcome = 0;
  const cl_int code = CL(clGetEventInfo, stream->last_event, CL_EVENT_STATUS, sizeof outcome, &outcome, NULL);
  if (code != 0) return cl_fail(stream->object.device, "clGetEventInfo", code, "asking for a stream");
  return outcome <= 0; /* a failed command is idle, too: mr_wait() reports it */
}

static int opencl_cancel(Stream *stream) {
  Device *device = stream->object.device;
  ClDevice *own = device->state;
  const uint32_t epoch = __atomic_load_n(&stream->epoch, __ATOMIC_ACQUIRE) + 1;
  __atomic_store_n(stream->epoch_source, epoch, __ATOMIC_RELAXED);
  cl_int code = 0;
  if (!own->is_cpu) {
    pthread_mutex_lock(&own->lock);
    code = CL(clEnqueueWriteBuffer, own->control, cl_memory(stream->epoch_device), 0, 0, 4, stream->epoch_source, 0,
              NULL, NULL);
    if (code == 0) code = CL(clFlush, own->control);
    if (code == 0) __atomic_store_n(&stream->is_epoch_sent, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&own->lock);
  }
  if (code != 0) return cl_fail(device, "clEnqueueWriteBuffer", code, "cancelling a stream");
  __atomic_store_n(&stream->epoch, epoch, __ATOMIC_RELEASE);
  return MR_OK;
}

/* ---- events ---- */

static int opencl_event_open(Event *event) {
  (void)event;
  return MR_OK;
}

static void opencl_event_close(Event *event) {
  if (event->native != NULL) cl.clReleaseEvent(event->native);
}

static int opencl_event_record(Event *event, Stream *stream) {
  cl_handle marker = NULL;
  const cl_int code = CL(clEnqueueMarkerWithWaitList, stream->native, AFTER(stream), &marker);
  if (code != 0) return cl_fail(stream->object.device, "clEnqueueMarkerWithWaitList", code, "recording an event");
  opencl_event_close(event);
  event->native = marker;
  return cl_commanded(stream, "clFlush", 0, NULL, "recording an event");
}

static int opencl_event_wait(Event *event) {
  if (event->native == NULL) return MR_OK;
  const cl_int code = CL(clWaitForEvents, 1, &event->native);
  return code == 0 ? MR_OK : cl_fail(event->object.device, "clWaitForEvents", code, "waiting for an event");
}

static int opencl_event_is_done(Event *event) {
  if (event->native == NULL) return 1;
  cl_int outcome = 0;
  const cl_int code = CL(clGetEventInfo, event->native, CL_EVENT_STATUS, sizeof outcome, &outcome, NULL);
  if (code != 0) return cl_fail(event->object.device, "clGetEventInfo", code, "asking for an event");
  return outcome < 0 ? cl_fail(event->object.device, "clGetEventInfo", outcome, "running commands") : outcome == 0;
}

static int opencl_follow(Stream *stream, Event *event) {
  if (event->native == NULL) return MR_OK;
  const cl_int code = follow_event(stream, event->native);
  return code == 0 ? MR_OK
                   : cl_fail(stream->object.device, "clEnqueueBarrierWithWaitList", code, "following an event");
}

static const Backend opencl_backend = {
    .open = opencl_open,
    .close = opencl_close,
    .compile = opencl_compile,
    .unload = opencl_unload,
    .buffer_alloc = opencl_buffer_alloc,
    .buffer_adopt = opencl_buffer_adopt,
    .buffer_free = opencl_buffer_free,
    .host_alloc = opencl_host_alloc,
    .host_free = opencl_host_free,
    .stream_open = opencl_stream_open,
    .stream_close = opencl_stream_close,
    .write = opencl_write,
    .read = opencl_read,
    .copy = opencl_copy,
    .fill = opencl_fill,
    .launch = opencl_launch,
    .wait = opencl_wait,
    .is_idle = opencl_is_idle,
    .cancel = opencl_cancel,
    .event_open = opencl_event_open,
    .event_close = opencl_event_close,
    .event_record = opencl_event_record,
    .event_wait = opencl_event_wait,
    .event_is_done = opencl_event_is_done,
    .follow = opencl_follow,
};
