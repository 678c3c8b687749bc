// Definitions with which CUDA source runs on a CPU, as C: one workgroup after the other. Threads of a workgroup also run one
// after the other if their only barriers check for cancellation (thread 0 reads the flag, the others reuse its value); with
// real barriers, each thread has a separate stack.
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

typedef _Bool bool;
#define true 1
#define false 0
#define __global__ static
#define __device__ static
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(n)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static _Thread_local
#define FAKE_ASM(...)
#define FAKE_PROCESSOR(name) (name = blockIdx.x)
#define FAKE_TIME(name) (name = fake_time())
#define __nanosleep(ns) usleep((ns) / 5)
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_system() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __any_sync(mask, value) (!!(value)) // used only where all threads agree

static _Thread_local struct { unsigned x; } threadIdx, blockIdx, gridDim;
static _Thread_local __attribute__((aligned(16))) unsigned char fake_near[227 * 1024];
typedef struct Launch Launch;

typedef struct { unsigned x, y, z, w; } uint4;
typedef struct { int x, y, z, w; } int4;
typedef struct { float x, y, z, w; } float4;
typedef struct { unsigned long long x, y; } ulonglong2;
typedef struct { double x, y; } double2;
#define make_uint4(a, b, c, d) ((uint4){ a, b, c, d })
#define make_int4(a, b, c, d) ((int4){ a, b, c, d })
#define make_float4(a, b, c, d) ((float4){ a, b, c, d })
#define make_ulonglong2(a, b) ((ulonglong2){ a, b })
#define make_double2(a, b) ((double2){ a, b })

static float __fmul_rn(float a, float b) { return a * b; }
static double __dmul_rn(double a, double b) { return a * b; }
static float __fdiv_rn(float a, float b) { return a / b; }
static double __ddiv_rn(double a, double b) { return a / b; }
#define __fsqrt_rn __builtin_sqrtf
#define __dsqrt_rn __builtin_sqrt
// Called, not built in: GCC merges a fused multiply-add and its negation into one instruction, which gives +0 for -(+0).
float fmaf(float, float, float);
double fma(double, double, double);
#define __fmaf_rn fmaf
#define __fma_rn fma
#define FAKE_BITS(name, from, to) static to name(from a) { to r; memcpy(&r, &a, sizeof r); return r; }
FAKE_BITS(__uint_as_float, unsigned, float)
FAKE_BITS(__int_as_float, int, float)
FAKE_BITS(__float_as_uint, float, unsigned)
FAKE_BITS(__float_as_int, float, int)
FAKE_BITS(__longlong_as_double, long long, double)
FAKE_BITS(__double_as_longlong, double, long long)
#define __popc(a) __builtin_popcount(a)
#define __popcll(a) __builtin_popcountll(a)
static int __clz(int a) { return a ? __builtin_clz(a) : 32; }
static int __clzll(long long a) { return a ? __builtin_clzll(a) : 64; }
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned __int128)a * b >> 64; }
static unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) { return (((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32; }
static unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return ((unsigned long long)hi << 32 | lo) >> (n & 31); }
static unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= (unsigned)(both >> (8 * (s >> (4 * i) & 7)) & 255) << (8 * i);
  return r;
}

#define atomicAdd(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define atomicOr(p, v) __atomic_fetch_or(p, v, __ATOMIC_RELAXED)
#define atomicExch(p, v) __atomic_exchange_n(p, v, __ATOMIC_RELAXED)
static unsigned fake_limit(unsigned *p, unsigned v, int least) {
  unsigned old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, least ? (v < old ? v : old) : (v > old ? v : old), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}
#define atomicMin(p, v) fake_limit(p, v, 1)
#define atomicMax(p, v) fake_limit(p, v, 0)

static unsigned long long fake_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void fake_call(void **params);

#if FAKE_BARRIERS
// A round robin over the threads' stacks. `__syncthreads_or` collects values during a round and returns the result of the
// previous round, which is the same for all threads.
enum { FAKE_STACK = 1 << 16, FAKE_MOST = 1024 };
static _Thread_local ucontext_t fake_main, fake_threads[FAKE_MOST];
static _Thread_local char *fake_stacks;
static _Thread_local char fake_done[FAKE_MOST];
static _Thread_local int fake_any, fake_told;
static _Thread_local void **fake_params;
static _Thread_local unsigned fake_at;

static void __syncthreads(void) {
  swapcontext(&fake_threads[fake_at], &fake_main);
}
static int __syncthreads_or(int value) {
  fake_any |= value;
  __syncthreads();
  return fake_told;
}
// Integers only. All threads shuffle at the same time, as a barrier demands.
static _Thread_local unsigned long long fake_lanes[FAKE_MOST];
static unsigned long long fake_shuffle(unsigned long long value, unsigned from) {
  fake_lanes[fake_at] = value;
  __syncthreads();
  const unsigned long long result = fake_lanes[from];
  __syncthreads();
  return result;
}
#define __shfl_xor_sync(mask, value, by) ((__typeof__(value))fake_shuffle((unsigned long long)(value), fake_at ^ (by)))
#define __shfl_up_sync(mask, value, by) \
  ((__typeof__(value))fake_shuffle((unsigned long long)(value), fake_at % 32 < (by) ? fake_at : fake_at - (by)))

static void fake_thread(void) {
  fake_call(fake_params);
  fake_done[fake_at] = 1;
  swapcontext(&fake_threads[fake_at], &fake_main);
}
static void fake_group(void **params, unsigned threads) {
  if (!fake_stacks) fake_stacks = mmap(0, (size_t)FAKE_STACK * FAKE_MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  fake_params = params;
  for (unsigned t = 0; t < threads; t++) {
    getcontext(&fake_threads[t]);
    fake_threads[t].uc_stack.ss_sp = fake_stacks + (size_t)t * FAKE_STACK;
    fake_threads[t].uc_stack.ss_size = FAKE_STACK;
    makecontext(&fake_threads[t], fake_thread, 0);
    fake_done[t] = 0;
  }
  for (unsigned left = threads; left > 0; ) {
    fake_any = 0;
    for (unsigned t = 0; t < threads; t++) {
      if (fake_done[t]) continue;
      fake_at = t;
      threadIdx.x = t;
      swapcontext(&fake_main, &fake_threads[t]);
      left -= fake_done[t];
    }
    fake_told = fake_any;
  }
}
#else
enum { FAKE_LOOKS = 1 << 16 };
static _Thread_local char fake_told[FAKE_LOOKS];
static _Thread_local unsigned fake_look;
static int __syncthreads_or(int value) {
  unsigned at = fake_look++ % FAKE_LOOKS;
  if (threadIdx.x == 0) fake_told[at] = value;
  return fake_told[at];
}
static void fake_group(void **params, unsigned threads) {
  for (unsigned t = 0; t < threads; t++) {
    threadIdx.x = t;
    fake_look = 0;
    fake_call(params);
  }
}
#endif

#if FAKE_QUEUE
// Workgroups of a resident grid run at the same time, each in a thread.
typedef struct { pthread_t thread; void **params; unsigned group, groups, threads; } FakeGroup;
static void *fake_resident(void *given) {
  FakeGroup *own = given;
  blockIdx.x = own->group;
  gridDim.x = own->groups;
  fake_group(own->params, own->threads);
  if (fake_stacks) munmap(fake_stacks, (size_t)FAKE_STACK * FAKE_MOST);
  return NULL;
}
void fake_entry(void **params, unsigned groups, unsigned threads) {
  FakeGroup all[groups];
  for (unsigned g = 0; g < groups; g++) {
    all[g] = (FakeGroup){ 0, params, g, groups, threads };
    pthread_create(&all[g].thread, NULL, fake_resident, &all[g]);
  }
  for (unsigned g = 0; g < groups; g++) pthread_join(all[g].thread, NULL);
}
#else
void fake_entry(void **params, unsigned groups, unsigned threads) {
  gridDim.x = groups;
  for (unsigned g = 0; g < groups; g++) {
    blockIdx.x = g;
    fake_group(params, threads);
  }
}
#endif
