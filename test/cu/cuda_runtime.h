// The CUDA runtime on a CPU, as far as exported programs use it. A stream is a thread that runs its commands in order. A
// launch runs as many thread blocks at a time as the emulated GPU holds, each in a thread; the threads of a block are
// fibers that take turns at barriers. The test replaces `<<<…>>>` by fake_launch, and the two lines of inline PTX.
//
// The environment changes what it does:
//   FAKE_FAIL=NAME:N[:CODE]  the Nth call of NAME fails (a launch is called cudaLaunchKernel), with that cudaError_t
//   FAKE_NONCES=A,B,…        where the search of each block begins (compiled with -DFIRST_NONCE=fake_nonce)
//   FAKE_FAULT=1             rotations of the device give a wrong bit
//   FAKE_LIMIT=1             the GPU has a display, which limits the time of launches
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define FAKE_ADDRESS_SANITIZER 1
#include <sanitizer/common_interface_defs.h>
#endif

#define __global__
#define __device__ static
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(threads)
#define __shared__ static thread_local

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorNotReady = 600,
  cudaErrorLaunchFailure = 719,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrKernelExecTimeout = 17 };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostAllocMapped = 2 };
struct cudaDeviceProp {
  char name[256];
};

inline const char *cudaGetErrorName(cudaError_t code) {
  return code == cudaErrorNoDevice ? "cudaErrorNoDevice" : code == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorFake";
}
inline const char *cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorNoDevice ? "no CUDA-capable device is detected" : code == cudaErrorMemoryAllocation ? "out of memory" : "fake error";
}

// --- Faults -------------------------------------------------------------------------------------------------------

inline const char *fake_setting(const char *name) { return std::getenv(name); }

// Counts the calls of a function. Returns the error that this one gives.
inline cudaError_t fake_call(const std::string &name) {
  static std::mutex mutex;
  static std::map<std::string, int> calls;
  const std::lock_guard<std::mutex> lock(mutex);
  const int call = ++calls[name];
  const char *const setting = fake_setting("FAKE_FAIL");
  if (setting == nullptr) return cudaSuccess;
  char wanted[64];
  int number = 0, code = cudaErrorLaunchFailure;
  if (std::sscanf(setting, "%63[^:]:%d:%d", wanted, &number, &code) < 2) std::abort();
  return name == wanted && call == number ? static_cast<cudaError_t>(code) : cudaSuccess;
}
#define FAKE_CALL \
  if (const cudaError_t fault = fake_call(__func__)) return fault

inline thread_local cudaError_t fake_last_error = cudaSuccess;
inline cudaError_t cudaGetLastError() {
  const cudaError_t error = fake_last_error;
  fake_last_error = cudaSuccess;
  return error;
}

// The runtime records "not ready" as its last error.
inline cudaError_t fake_readiness(bool is_ready) {
  return is_ready ? cudaSuccess : fake_last_error = cudaErrorNotReady;
}

// --- Objects: each must be freed before the program ends ------------------------------------------------------------

struct FakeObjects {
  std::mutex mutex;
  std::map<const void *, std::string> live;
  void add(const void *object, const std::string &kind) {
    const std::lock_guard<std::mutex> lock(mutex);
    live[object] = kind;
  }
  bool remove(const void *object, const std::string &kind) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = live.find(object);
    if (found == live.end() || found->second != kind) return false;
    live.erase(found);
    return true;
  }
  ~FakeObjects() {
    for (const auto &[object, kind] : live) std::fprintf(stderr, "leak: %s\n", kind.c_str());
    if (!live.empty()) std::_Exit(99);
  }
};
inline FakeObjects fake_objects;

inline cudaError_t fake_allocate(void **memory, size_t bytes, const char *kind) {
  *memory = std::malloc(bytes);
  std::memset(*memory, 0xcd, bytes);  // new memory is not zero
  fake_objects.add(*memory, kind);
  return cudaSuccess;
}
inline cudaError_t fake_free(void *memory, const char *kind) {
  if (memory == nullptr) return cudaSuccess;
  if (!fake_objects.remove(memory, kind)) std::abort();
  std::free(memory);
  return cudaSuccess;
}

// --- Streams and events -----------------------------------------------------------------------------------------------

struct CUstream_st {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> commands;  // the first is running
  bool is_closed = false;
  std::thread thread{[this] { run(); }};

  void add(std::function<void()> command) {
    const std::lock_guard<std::mutex> lock(mutex);
    commands.push_back(std::move(command));
    changed.notify_all();
  }
  bool is_idle() {
    const std::lock_guard<std::mutex> lock(mutex);
    return commands.empty();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return commands.empty(); });
  }
  void run() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return is_closed || !commands.empty(); });
      if (commands.empty()) return;
      lock.unlock();
      commands.front()();
      lock.lock();
      commands.pop_front();
      changed.notify_all();
    }
  }
  ~CUstream_st() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      is_closed = true;
      changed.notify_all();
    }
    thread.join();
  }
};
using cudaStream_t = CUstream_st *;
inline std::vector<cudaStream_t> fake_streams;

struct CUevent_st {
  std::atomic<int> recorded{0}, passed{0};
};
using cudaEvent_t = CUevent_st *;

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
  FAKE_CALL;
  *stream = new CUstream_st;
  fake_streams.push_back(*stream);
  fake_objects.add(*stream, "stream");
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!fake_objects.remove(stream, "stream")) std::abort();
  for (auto it = fake_streams.begin(); it != fake_streams.end(); ++it)
    if (*it == stream) {
      fake_streams.erase(it);
      break;
    }
  delete stream;
  return cudaSuccess;
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
  FAKE_CALL;
  return fake_readiness(stream->is_idle());
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  FAKE_CALL;
  if (stream != nullptr) stream->wait();
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  FAKE_CALL;
  *event = new CUevent_st;
  fake_objects.add(*event, "event");
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!fake_objects.remove(event, "event")) std::abort();
  for (const cudaStream_t stream : fake_streams) stream->wait();
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  FAKE_CALL;
  event->recorded++;
  stream->add([event] { event->passed++; });
  return cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t event) {
  FAKE_CALL;
  return fake_readiness(event->passed == event->recorded);
}

// --- Memory -----------------------------------------------------------------------------------------------------------

inline cudaError_t cudaMalloc(void **memory, size_t bytes) {
  FAKE_CALL;
  return fake_allocate(memory, bytes, "device memory");
}
inline cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned) {
  FAKE_CALL;
  return fake_allocate(memory, bytes, "host memory");
}
// Freeing waits for everything that runs, as the runtime does.
inline cudaError_t cudaFree(void *memory) {
  for (const cudaStream_t stream : fake_streams) stream->wait();
  return fake_free(memory, "device memory");
}
inline cudaError_t cudaFreeHost(void *memory) {
  for (const cudaStream_t stream : fake_streams) stream->wait();
  return fake_free(memory, "host memory");
}
inline cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
  FAKE_CALL;
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
  FAKE_CALL;
  stream->add([=] { std::memset(memory, value, bytes); });
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  FAKE_CALL;
  stream->add([=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

// --- The GPU: two multiprocessors that hold two thread blocks each --------------------------------------------------------

constexpr unsigned FAKE_PROCESSORS = 2, FAKE_BLOCKS = 2;

inline cudaError_t cudaGetDeviceCount(int *count) {
  FAKE_CALL;
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int) {
  FAKE_CALL;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
  FAKE_CALL;
  std::strcpy(properties->name, "a CPU");
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int) {
  FAKE_CALL;
  *value = which == cudaDevAttrMultiProcessorCount ? static_cast<int>(FAKE_PROCESSORS) : fake_setting("FAKE_LIMIT") != nullptr;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel, int, size_t) {
  FAKE_CALL;
  *blocks = FAKE_BLOCKS;
  return cudaSuccess;
}

// --- Thread blocks ----------------------------------------------------------------------------------------------------

struct FakeIndex {
  unsigned x;
};
inline thread_local FakeIndex threadIdx, blockIdx, gridDim;

// The threads of a block. A barrier returns to `run`, which resumes the next thread. __syncthreads_or collects a value in
// one round and returns it in the next, the same to all.
class FakeBlock {
 public:
  static thread_local FakeBlock *current;

  FakeBlock(unsigned threads, const std::function<void()> &body) : fibers_(threads), body_(body) {}

  void run() {
    current = this;
    for (unsigned left = static_cast<unsigned>(fibers_.size()); left > 0;) {
      any_ = false;
      for (unsigned i = 0; i < fibers_.size(); i++) {
        if (fibers_[i].is_done) continue;
        at_ = i;
        threadIdx.x = i;
        enter(fibers_[i]);
        left -= fibers_[i].is_done;
      }
      told_ = any_;
    }
  }

  bool barrier(bool value) {
    any_ |= value;
    leave(fibers_[at_]);
    return told_;
  }

 private:
  static constexpr size_t STACK = 1 << 15;
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool is_done = false;
    jmp_buf resume;
    void *sanitizer = nullptr;
  };

  static void main() {
    FakeBlock &block = *current;
#if FAKE_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(nullptr, &block.bottom_, &block.size_);
#endif
    block.body_();
    Fiber &fiber = block.fibers_[block.at_];
    fiber.is_done = true;
    block.leave(fiber);
  }

#if FAKE_ADDRESS_SANITIZER
  void enter(Fiber &fiber) {
    prepare(fiber);
    __sanitizer_start_switch_fiber(&sanitizer_, fiber.stack.get(), STACK);
    swapcontext(&own_, &fiber.context);
    __sanitizer_finish_switch_fiber(sanitizer_, nullptr, nullptr);
  }
  void leave(Fiber &fiber) {
    __sanitizer_start_switch_fiber(fiber.is_done ? nullptr : &fiber.sanitizer, bottom_, size_);
    swapcontext(&fiber.context, &own_);
    __sanitizer_finish_switch_fiber(fiber.sanitizer, &bottom_, &size_);
  }
#else
  // A jump is a twentieth of the time of swapcontext, which calls the kernel.
  void enter(Fiber &fiber) {
    const bool is_new = prepare(fiber);
    if (_setjmp(return_) != 0) return;
    if (is_new) setcontext(&fiber.context);
    _longjmp(fiber.resume, 1);
  }
  void leave(Fiber &fiber) {
    if (_setjmp(fiber.resume) == 0) _longjmp(return_, 1);
  }
#endif

  // Gives a new fiber its stack.
  static bool prepare(Fiber &fiber) {
    if (fiber.stack) return false;
    fiber.stack.reset(new char[STACK]);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, main, 0);
    return true;
  }

  std::vector<Fiber> fibers_;
  const std::function<void()> &body_;
  ucontext_t own_;
  jmp_buf return_;
  unsigned at_ = 0;
  bool any_ = false, told_ = false;
  void *sanitizer_ = nullptr;
  const void *bottom_ = nullptr;
  size_t size_ = 0;
};
inline thread_local FakeBlock *FakeBlock::current = nullptr;

template <class... Types, class... Values>
void fake_launch(void (*kernel)(Types...), unsigned blocks, unsigned threads, cudaStream_t stream, Values... values) {
  fake_last_error = blocks == 0 ? cudaErrorInvalidValue : fake_call("cudaLaunchKernel");
  if (fake_last_error != cudaSuccess) return;
  const std::tuple<Types...> arguments(values...);
  stream->add([=] {
    std::atomic<unsigned> next{0};
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < FAKE_PROCESSORS * FAKE_BLOCKS; i++)
      workers.emplace_back([&] {
        const std::function<void()> body = [&] { std::apply(kernel, arguments); };
        for (unsigned block; (block = next++) < blocks;) {
          blockIdx.x = block;
          gridDim.x = blocks;
          FakeBlock(threads, body).run();
        }
      });
    for (std::thread &worker : workers) worker.join();
  });
}

// --- Functions of the device -------------------------------------------------------------------------------------------

inline void __syncthreads() { FakeBlock::current->barrier(false); }
inline bool __syncthreads_or(bool value) { return FakeBlock::current->barrier(value); }
inline bool __any_sync(unsigned, bool value) { return value; }  // used only where all threads agree
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __nanosleep(unsigned ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns / 5)); }
template <class Word>
Word atomicAdd(Word *word, Word value) { return __atomic_fetch_add(word, value, __ATOMIC_RELAXED); }
template <class Word>
Word atomicExch(Word *word, Word value) { return __atomic_exchange_n(word, value, __ATOMIC_RELAXED); }

inline const unsigned fake_fault = fake_setting("FAKE_FAULT") != nullptr;
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned count) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (count & 31)) ^ fake_fault;
}
inline unsigned __byte_perm(unsigned a, unsigned, unsigned selector) {
  if (selector != 0x0123) std::abort();
  return __builtin_bswap32(a);
}
inline unsigned fake_processor() { return blockIdx.x % FAKE_PROCESSORS; }
inline unsigned long long fake_time() {
  return static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// The number for a block in FAKE_NONCES; 0 if there is none.
inline unsigned long long fake_nonce(size_t number) {
  const char *text = fake_setting("FAKE_NONCES");
  for (; text != nullptr && number > 0; number--) {
    text = std::strchr(text, ',');
    if (text != nullptr) text++;
  }
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}
