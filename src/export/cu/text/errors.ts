/** Errors as exceptions, and owners of CUDA's objects. */
export const errors = `// The exit statuses. 0: every block has a nonce.
enum Status { NO_NONCE = 1, BAD_USAGE = 64, NO_DEVICE = 69, INTERNAL = 70, BAD_FILE = 74, DEVICE_FAILED = 76 };

// An error that ends the program.
struct Failure {
  Status status;
  std::string text;
};

// Throws if a call of the CUDA runtime fails. The text names the line, the call and the reason.
#define CUDA(call) check_cuda(call, #call, __LINE__)

static void check_cuda(cudaError_t code, const char *call, int line) {
  if (code == cudaSuccess) return;
  std::string text = std::string(__FILE__) + ", line " + std::to_string(line) + ": " + call + " failed: " +
                     cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")";
  if (code == cudaErrorNoKernelImageForDevice) text += "; build this program with -arch=native";
  const bool is_missing = code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver ||
                          code == cudaErrorNoKernelImageForDevice;
  throw Failure{is_missing ? NO_DEVICE : DEVICE_FAILED, text};
}

// True if an event or a stream has nothing left to do. The runtime also records "not ready" as its last error, which must
// not be taken for an error of the next launch.
#define IS_READY(query) is_ready(query, #query, __LINE__)

static bool is_ready(cudaError_t code, const char *query, int line) {
  if (code != cudaErrorNotReady) check_cuda(code, query, line);
  else cudaGetLastError();
  return code == cudaSuccess;
}

// Owners of CUDA's objects, which are freed on every way out. If freeing fails, an error was reported before.
template <auto release>
struct Release {
  template <class Object>
  void operator()(Object *object) const { release(object); }
};
using Stream = std::unique_ptr<CUstream_st, Release<cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, Release<cudaEventDestroy>>;
template <class Type>
using DeviceArray = std::unique_ptr<Type[], Release<cudaFree>>;
template <class Type>
using HostArray = std::unique_ptr<Type[], Release<cudaFreeHost>>;  // page-locked, so that copies run beside kernels

static Stream make_stream() {
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return Stream(stream);
}

template <class Type>
static DeviceArray<Type> make_device_array(size_t count) {
  void *memory = nullptr;
  CUDA(cudaMalloc(&memory, count * sizeof(Type)));
  DeviceArray<Type> array(static_cast<Type *>(memory));
  CUDA(cudaMemset(memory, 0, count * sizeof(Type)));
  CUDA(cudaStreamSynchronize(nullptr));  // our streams do not wait for the one that zeroes it
  return array;
}

template <class Type>
static HostArray<Type> make_host_array(size_t count) {
  void *memory = nullptr;
  CUDA(cudaHostAlloc(&memory, count * sizeof(Type), cudaHostAllocMapped));
  std::memset(memory, 0, count * sizeof(Type));
  return HostArray<Type>(static_cast<Type *>(memory));
}`;
