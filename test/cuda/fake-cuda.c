// A libcuda for tests, on the CPU. Streams are threads that run their work in order; copies and fills are real; launches
// run code from the fake NVRTC, or only take time. Every call is logged. Errors that a driver would ignore or crash on are
// logged as MISUSE: asynchronous copies of memory that is not page-locked, memory freed while work in flight uses it, calls
// from a thread without the context, objects destroyed twice or leaked.
//
// Settings come from FAKE_CUDA="name=value,…" when the driver is started, and from fake_set().
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef int CUresult;
typedef uint64_t Address;

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
       INVALID_IMAGE = 200, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
       CONTEXT_ACTIVE = 708, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713, NOT_SUPPORTED = 801 };

// Settings -----------------------------------------------------------------------------------------------------------

static struct { const char *name; long value; } settings[] = {
  {"devices", 1},        // GPUs
  {"init", 0},           // result of cuInit
  {"total", 1L << 30},   // bytes of memory
  {"pools", 1},          // memory pools
  {"processors", 2},     // multiprocessors, each of which holds two workgroups
  {"timeout", 0},        // the GPU drives a display
  {"waits", 0},          // calls that may wait for the device do wait
  {"register", 1},       // host memory can be registered
  {"register_at", 0},    // the nth registration from now fails
  {"launch_us", 0},      // added to the time of a launch
  {"endless", 0},        // launches without code end only when cancelled
  {"oom_at", 0},         // the nth allocation from now fails; 0: none
  {"launch_at", 0},      // the nth cuLaunchKernel from now fails,
  {"launch_code", 701},  // with this
  {"die_at", 0},         // the nth launch from now destroys its context,
  {"die_code", 700},     // with this
  {"revives", 1},        // a destroyed context can be created again; real drivers refuse, and each test would need a process
  {"lost_at", 0},        // the nth call on a context from now finds the device lost
  {"lost_code", 999},
  {"event_us", 0},       // delay of events
  {"lose_callbacks", 0}, // number of callbacks to lose
  {"callback_us", 0},    // time of a callback, or a write for a mark, after it has set its word
  {"host_func", OK},     // result of cuLaunchHostFunc
  {"misuse", 0},         // counted
  {"calls", 0},          // counted
};
#define SETTINGS (sizeof settings / sizeof *settings)

static long *setting(const char *name) {
  for (size_t i = 0; i < SETTINGS; i++) if (!strcmp(settings[i].name, name)) return &settings[i].value;
  fprintf(stderr, "fake cuda: no setting %s\n", name);
  abort();
}
int fake_set(const char *name, int64_t value) { *setting(name) = value; return 0; }
int64_t fake_get(const char *name) { return *setting(name); }

/** Counts a setting down; true when it reaches 0. */
static int due(const char *name) {
  long *left = setting(name);
  if (*left <= 0) return 0;
  return --*left == 0;
}

// Log ----------------------------------------------------------------------------------------------------------------

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static FILE *log_file;

static void vnote(const char *format, va_list list) {
  if (!log_file) {
    const char *path = getenv("FAKE_CUDA_LOG");
    log_file = fopen(path && *path ? path : "/dev/null", "a");
    if (!log_file) abort();
    setvbuf(log_file, NULL, _IOLBF, 1 << 16);
  }
  flockfile(log_file);
  fprintf(log_file, "%ld ", (long)syscall(SYS_gettid));
  vfprintf(log_file, format, list);
  fputc('\n', log_file);
  fflush(log_file);
  funlockfile(log_file);
}
static void note(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vnote(format, list);
  va_end(list);
}
static void misuse(const char *format, ...) {
  char text[256];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  ++*setting("misuse");
  note("MISUSE %s", text);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void pause_us(long us) {
  struct timespec t = { us / 1000000, us % 1000000 * 1000 };
  nanosleep(&t, NULL);
}

// Objects ------------------------------------------------------------------------------------------------------------

enum { DEVICE_MEMORY, PINNED, REGISTERED };
typedef struct Range { Address at, bytes; int kind; struct Range *next; } Range;
static Range *ranges;

/** An event can be recorded again while a stream waits for an earlier record: `passed` has the last 256. */
typedef struct Event { uint32_t magic, flags; unsigned recorded, done, passed[256]; int64_t ns; struct Event *next; } Event;
static Event *events;
#define EVENT 0xe7e17000u

typedef void (*Entry)(void **params, unsigned groups, unsigned threads);
typedef struct Module { void *library; Entry entry; uint32_t params, first_bytes; struct Module *next; int queue; } Module;
static Module *modules;

enum { COPY, FILL8, FILL32, LAUNCH, RECORD, WAIT, CALL, STORE, FREE };
typedef struct Op {
  int kind;
  Address to, from, bytes;
  uint32_t word;
  Event *event;
  unsigned generation;
  Module *module;
  unsigned groups, threads;
  void **params;
  void (*call)(void *);
  struct Op *next;
} Op;
typedef struct Context { int uses; unsigned flags; volatile CUresult sticky; } Context;
/** `more`: it has work, or ends. A condition of its own, so that work of one stream does not wake the threads of all. */
typedef struct Stream { pthread_t thread; pthread_cond_t more; Context *context; Op *head, *tail, *running; int ended; struct Stream *next; } Stream;
static Stream *streams;

static Context contexts[8];
static _Thread_local Context *current;
static int started;
static Address used;

static Range *inside(Address at, Address bytes, int device) {
  for (Range *r = ranges; r; r = r->next)
    if ((r->kind == DEVICE_MEMORY) == device && at >= r->at && at + bytes <= r->at + r->bytes) return r;
  return NULL;
}
static void add_range(Address at, Address bytes, int kind) {
  Range *r = malloc(sizeof *r);
  *r = (Range){ at, bytes, kind, ranges };
  ranges = r;
}
static int touches(Op *op, Range *r) {
  if (!op) return 0;
  if (op->kind == LAUNCH) {
    for (uint32_t i = 1; i < op->module->params; i++) {
      Address at = *(Address *)op->params[i];
      if (at >= r->at && at < r->at + r->bytes) return 1;
    }
    return 0;
  }
  if (op->kind == FREE) return 0;
  Address bytes = op->bytes ? op->bytes : 1;
  return (op->to < r->at + r->bytes && r->at < op->to + bytes) || (op->from && op->from < r->at + r->bytes && r->at < op->from + bytes);
}
/** Returns running work that uses the range. Waits for running work on a lost device. Under the lock. */
static Op *running_on(Range *r) {
  for (Stream *s = streams; s; ) {
    if (!touches(s->running, r)) { s = s->next; continue; }
    if (!s->context->sticky) return s->running;
    pthread_cond_wait(&changed, &lock);
    s = streams;
  }
  return NULL;
}
/** Removes a range from the list; work in flight that uses it is misuse. */
static Range *drop_range(Address at, int kind, const char *call) {
  Range *r = ranges;
  while (r && (r->at != at || r->kind != kind)) r = r->next;
  if (!r) {
    misuse("%s of 0x%lx, which is not there", call, (long)at);
    return NULL;
  }
  if (running_on(r)) misuse("%s of 0x%lx, which running work names", call, (long)at);
  for (Stream *s = streams; s; s = s->next)
    for (Op *op = s->head; op; op = op->next)
      if (!s->context->sticky && touches(op, r)) misuse("%s of 0x%lx, which queued work names", call, (long)at);
  Range **p = &ranges;
  while (*p != r) p = &(*p)->next;
  *p = r->next;
  return r;
}

// Streams ------------------------------------------------------------------------------------------------------------

/** A GPU writes to pages that the driver holds, even if the process has unmapped them: never a fault. */
static int move(void *to, const void *from, size_t bytes) {
  struct iovec here = { to, bytes }, there = { (void *)from, bytes };
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes) return 1;
  if (errno == EFAULT) return 0;
  memcpy(to, from, bytes); // a container that forbids the call
  return 1;
}

static void run_launch(Op *op) {
  long us = *setting("launch_us");
  if (op->module->entry) {
    if (us) pause_us(us);
    op->module->entry(op->params, op->groups, op->threads);
    return;
  }
  // Without code, a launch only takes time and can be cancelled. Parameters as in kernel/abi/grid.ts.
  uint32_t *block = op->module->first_bytes > 8 ? op->params[0] : *(uint32_t **)op->params[0];
  uint32_t *cancel = *(uint32_t **)op->params[2];
  uint32_t *status = *(uint32_t **)op->params[3];
  int64_t end = now_ns() + us * 1000LL;
  while (*setting("endless") || now_ns() < end) {
    uint32_t epoch = block[1];
    move(&epoch, cancel, 4);
    if (epoch != block[1]) { move(status, (uint32_t[]){ 1 }, 4); break; }
    pause_us(100);
  }
}

static void perform(Op *op) {
  switch (op->kind) {
    case COPY: if (!move((void *)op->to, (void *)op->from, op->bytes)) misuse("a copy met memory that is not there"); break;
    case FILL8: memset((void *)op->to, (int)op->word, op->bytes); break;
    case FILL32: for (Address i = 0; i < op->bytes / 4; i++) ((uint32_t *)op->to)[i] = op->word; break;
    case LAUNCH: run_launch(op); break;
    case CALL: op->call((void *)op->to); pause_us(*setting("callback_us")); break;
    case STORE: __atomic_store_n((uint32_t *)op->to, op->word, __ATOMIC_RELEASE); pause_us(*setting("callback_us")); break;
    case RECORD: if (*setting("event_us")) pause_us(*setting("event_us")); break;
  }
}

static void *work(void *given) {
  Stream *s = given;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!s->head && !s->ended) pthread_cond_wait(&s->more, &lock);
    Op *op = s->head;
    if (!op) break;
    s->running = op;
    s->head = op->next;
    if (!s->head) s->tail = NULL;
    if (op->kind == WAIT) {
      while (op->event->passed[op->generation % 256] < op->generation && !s->context->sticky) pthread_cond_wait(&changed, &lock);
    } else if (!s->context->sticky) {
      int dies = op->kind == LAUNCH && due("die_at");
      pthread_mutex_unlock(&lock);
      perform(op);
      pthread_mutex_lock(&lock);
      if (dies) s->context->sticky = *setting("die_code");
    }
    if (op->kind == RECORD) op->event->passed[op->generation % 256] = op->generation;
    if (op->kind == RECORD && op->event->done < op->generation) {
      op->event->done = op->generation;
      op->event->ns = now_ns();
    }
    if (op->kind == FREE) {
      s->running = NULL;
      Range *r = drop_range(op->to, DEVICE_MEMORY, "cuMemFreeAsync");
      if (r) { munmap((void *)r->at, r->bytes); used -= r->bytes; free(r); }
    }
    s->running = NULL;
    if (op->params) { for (uint32_t i = 0; i < op->module->params; i++) free(op->params[i]); free(op->params); }
    free(op);
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

/** Under the lock. */
static CUresult send(Stream *s, Op op) {
  Op *own = malloc(sizeof op);
  *own = op;
  own->next = NULL;
  if (s->tail) s->tail->next = own; else s->head = own;
  s->tail = own;
  pthread_cond_signal(&s->more);
  return OK;
}

/** Begins a call that needs a context: takes the lock. Every path out of the call is through `leave`. */
static CUresult enter(const char *call) {
  pthread_mutex_lock(&lock);
  ++*setting("calls");
  if (!current) { misuse("%s on a thread without a context", call); return INVALID_CONTEXT; }
  if (due("lost_at")) {
    current->sticky = *setting("lost_code");
    pthread_cond_broadcast(&changed);
  }
  return current->sticky;
}
static CUresult leave(CUresult code) {
  pthread_mutex_unlock(&lock);
  return code;
}
static Stream *stream_of(Address handle, const char *call) {
  for (Stream *s = streams; s; s = s->next) if ((Address)s == handle) return s;
  misuse("%s on stream 0x%lx, which is not there", call, (long)handle);
  return NULL;
}
static Event *event_of(Address handle, const char *call) {
  for (Event *e = events; e; e = e->next) if ((Address)e == handle && e->magic == EVENT) return e;
  misuse("%s on event 0x%lx, which is not there", call, (long)handle);
  return NULL;
}

/** For calls that may wait until nothing runs. Work that never ends is misuse; the call then continues. Under the lock. */
static void wait_for_all(const char *call) {
  if (!*setting("waits")) return;
  int64_t end = now_ns() + 3000000000LL;
  for (Stream *s = streams; s; ) {
    if (!s->head && !s->running) { s = s->next; continue; }
    if (now_ns() > end) { misuse("%s waits for work that does not end", call); return; }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 10000000;
    if (until.tv_nsec >= 1000000000) { until.tv_sec++; until.tv_nsec -= 1000000000; }
    pthread_cond_timedwait(&changed, &lock, &until);
    s = streams;
  }
}

// Driver and devices -------------------------------------------------------------------------------------------------

CUresult cuInit(unsigned flags) {
  pthread_mutex_lock(&lock);
  if (!started) {
    char *text = strdup(getenv("FAKE_CUDA") ? getenv("FAKE_CUDA") : "");
    for (char *rest = text, *word; (word = strsep(&rest, ",")); ) {
      char *value = strchr(word, '=');
      if (!value) continue;
      *value = 0;
      fake_set(word, atol(value + 1));
    }
    free(text);
  }
  started = 1;
  note("cuInit %u", flags);
  return leave(*setting("init"));
}
CUresult cuDriverGetVersion(int *version) { *version = 13000; return OK; }
CUresult cuDeviceGetCount(int *count) { *count = *setting("devices"); return started ? OK : NOT_INITIALIZED; }
CUresult cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal < *setting("devices") ? OK : INVALID_DEVICE; }
CUresult cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "Fake GPU %d", device); return OK; }
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = *setting("total"); return OK; }
CUresult cuDeviceGetPCIBusId(char *id, int size, int device) { snprintf(id, size, "0000:%02X:00.0", 0x1b + device); return OK; }
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 8: *value = 48 * 1024; return OK;
    case 13: *value = 1980000; return OK;
    case 16: *value = *setting("processors"); return OK;
    case 17: *value = *setting("timeout"); return OK;
    case 19: *value = 1; return OK;
    case 20: *value = 0; return OK;
    case 32: *value = 1; return OK;
    case 36: *value = 3201000; return OK;
    case 37: *value = 6144; return OK;
    case 38: *value = 60 << 20; return OK;
    case 39: *value = 1024; return OK;
    case 40: *value = 3; return OK;
    case 75: *value = 9; return OK;
    case 76: *value = 0; return OK;
    case 97: *value = 227 * 1024; return OK;
    case 99: *value = 1; return OK;
    case 115: *value = *setting("pools"); return OK;
    default: misuse("cuDeviceGetAttribute %d is not known", attribute); return INVALID_VALUE;
  }
}
CUresult cuDeviceGetDefaultMemPool(Address *pool, int device) { (void)device; *pool = 0xb001; return OK; }

static const struct { int code; const char *name, *text; } texts[] = {
  {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"}, {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
  {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
  {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
  {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
  {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
  {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
  {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"}, {999, "CUDA_ERROR_UNKNOWN", "unknown error"} };
static CUresult describe(int code, const char **out, int name) {
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].code == code) { *out = name ? texts[i].name : texts[i].text; return OK; }
  *out = NULL;
  return INVALID_VALUE;
}
CUresult cuGetErrorName(int code, const char **out) { return describe(code, out, 1); }
CUresult cuGetErrorString(int code, const char **out) { return describe(code, out, 0); }

CUresult cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  note("cuDevicePrimaryCtxSetFlags %d %u", device, flags);
  if (contexts[device].uses) return CONTEXT_ACTIVE;
  contexts[device].flags = flags;
  return OK;
}
CUresult cuDevicePrimaryCtxRetain(Address *context, int device) {
  pthread_mutex_lock(&lock);
  if (contexts[device].uses == 0 && *setting("revives")) contexts[device].sticky = OK;
  if (contexts[device].sticky) return leave(contexts[device].sticky);
  contexts[device].uses++;
  *context = (Address)&contexts[device];
  note("cuDevicePrimaryCtxRetain %d", device);
  return leave(OK);
}
static void leftover(const char *what, const void *list) { if (list) misuse("the context is released with %s left", what); }
CUresult cuDevicePrimaryCtxRelease_v2(int device) {
  pthread_mutex_lock(&lock);
  note("cuDevicePrimaryCtxRelease %d", device);
  if (contexts[device].uses == 0) { misuse("a context is released twice"); return leave(INVALID_CONTEXT); }
  if (--contexts[device].uses == 0) {
    leftover("streams", streams);
    leftover("events", events);
    leftover("modules", modules);
    leftover("memory", ranges);
  }
  return leave(OK);
}
/** Contexts under the current one, as callers push and pop them. */
static _Thread_local Context *below[16];
static _Thread_local int depth;
CUresult cuCtxPushCurrent_v2(Address context) {
  if (context == 0 || depth == 16) return INVALID_CONTEXT;
  below[depth++] = current;
  current = (Context *)context;
  return OK;
}
CUresult cuCtxPopCurrent_v2(Address *context) {
  if (depth == 0) { misuse("a context is popped that was not pushed"); return INVALID_CONTEXT; }
  *context = (Address)current;
  current = below[--depth];
  return OK;
}
CUresult cuCtxSetCurrent(Address context) { current = (Context *)context; note("cuCtxSetCurrent %d", context != 0); return OK; }

// Memory -------------------------------------------------------------------------------------------------------------

static CUresult allocate(Address *out, size_t bytes) {
  if (bytes == 0) return INVALID_VALUE;
  if (due("oom_at") || used + bytes > (Address)*setting("total")) return OUT_OF_MEMORY;
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return OUT_OF_MEMORY;
  memset(at, 0xcd, bytes < 1 << 20 ? bytes : 1 << 20); // callers must zero it
  *out = (Address)at;
  add_range(*out, bytes, DEVICE_MEMORY);
  used += bytes;
  return OK;
}
CUresult cuMemAlloc_v2(Address *out, size_t bytes) {
  CUresult code = enter("cuMemAlloc");
  if (!code) code = allocate(out, bytes);
  note("cuMemAlloc %zu = %d", bytes, code);
  return leave(code);
}
CUresult cuMemAllocAsync(Address *out, size_t bytes, Address stream) {
  CUresult code = enter("cuMemAllocAsync");
  wait_for_all("cuMemAllocAsync");
  if (!code && !stream_of(stream, "cuMemAllocAsync")) code = INVALID_HANDLE;
  if (!code) code = allocate(out, bytes);
  note("cuMemAllocAsync %zu = %d", bytes, code);
  return leave(code);
}
/** Waits for all running work, as the real one does. */
CUresult cuMemFree_v2(Address at) {
  CUresult code = enter("cuMemFree");
  note("cuMemFree 0x%lx", (long)at);
  for (Stream *s = streams; s && !code; s = s->head || s->running ? (pthread_cond_wait(&changed, &lock), streams) : s->next);
  Range *r = drop_range(at, DEVICE_MEMORY, "cuMemFree");
  if (r) { munmap((void *)r->at, r->bytes); used -= r->bytes; free(r); }
  return leave(code);
}
CUresult cuMemFreeAsync(Address at, Address stream) {
  CUresult code = enter("cuMemFreeAsync");
  note("cuMemFreeAsync 0x%lx", (long)at);
  Stream *s = stream_of(stream, "cuMemFreeAsync");
  if (!inside(at, 1, 1)) misuse("cuMemFreeAsync of 0x%lx, which is not there", (long)at);
  else if (s) send(s, (Op){ .kind = FREE, .to = at });
  return leave(code);
}
CUresult cuMemGetInfo_v2(size_t *free_, size_t *total) {
  CUresult code = enter("cuMemGetInfo");
  *total = *setting("total");
  *free_ = *total - used;
  return leave(code);
}
CUresult cuMemPoolGetAttribute(Address pool, int attribute, uint64_t *value) {
  CUresult code = enter("cuMemPoolGetAttribute");
  (void)pool; (void)attribute;
  *value = 0;
  return leave(code);
}
CUresult cuMemPoolTrimTo(Address pool, size_t keep) { (void)pool; note("cuMemPoolTrimTo %zu", keep); return OK; }

CUresult cuMemHostAlloc(Address *out, size_t bytes, unsigned flags) {
  CUresult code = enter("cuMemHostAlloc");
  wait_for_all("cuMemHostAlloc");
  note("cuMemHostAlloc %zu %u", bytes, flags);
  if (code) return leave(code);
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return leave(OUT_OF_MEMORY);
  *out = (Address)at;
  add_range(*out, bytes, PINNED);
  return leave(OK);
}
CUresult cuMemFreeHost(Address at) {
  CUresult code = enter("cuMemFreeHost");
  note("cuMemFreeHost 0x%lx", (long)at);
  Range *r = drop_range(at, PINNED, "cuMemFreeHost");
  if (r) { munmap((void *)r->at, r->bytes); free(r); }
  return leave(code);
}
/** Only the memory's type, which is none for memory that CUDA does not know. */
CUresult cuPointerGetAttributes(unsigned count, const int *what, void **values, Address at) {
  CUresult code = enter("cuPointerGetAttributes");
  if (count != 1 || what[0] != 2) misuse("cuPointerGetAttributes of other attributes");
  unsigned type = 0;
  for (Range *r = ranges; r && !type; r = r->next)
    if (at >= r->at && at < r->at + r->bytes) type = r->kind == DEVICE_MEMORY ? 2 : 1;
  memcpy(values[0], &type, sizeof type);
  return leave(code);
}
CUresult cuMemHostRegister_v2(Address at, size_t bytes, unsigned flags) {
  CUresult code = enter("cuMemHostRegister");
  wait_for_all("cuMemHostRegister");
  if (!code && (!*setting("register") || due("register_at"))) code = NOT_SUPPORTED;
  for (Range *r = ranges; r && !code; r = r->next)
    if (r->kind != DEVICE_MEMORY && at < r->at + r->bytes && r->at < at + bytes) code = ALREADY_REGISTERED;
  if (!code) add_range(at, bytes, REGISTERED);
  note("cuMemHostRegister 0x%lx %zu %u = %d", (long)at, bytes, flags, code);
  return leave(code);
}
CUresult cuMemHostUnregister(Address at) {
  CUresult code = enter("cuMemHostUnregister");
  wait_for_all("cuMemHostUnregister");
  note("cuMemHostUnregister 0x%lx", (long)at);
  Range *r = drop_range(at, REGISTERED, "cuMemHostUnregister");
  free(r);
  return leave(code);
}
CUresult cuMemHostGetDevicePointer_v2(Address *out, Address at, unsigned flags) {
  CUresult code = enter("cuMemHostGetDevicePointer");
  (void)flags;
  if (!inside(at, 1, 0)) { misuse("cuMemHostGetDevicePointer of memory that is not page-locked"); code = INVALID_VALUE; }
  *out = at;
  return leave(code);
}

static CUresult copy(const char *call, Address to, Address from, size_t bytes, Address stream, int to_device, int from_device) {
  CUresult code = enter(call);
  note("%s 0x%lx 0x%lx %zu on 0x%lx", call, (long)to, (long)from, bytes, (long)stream);
  if (code) return leave(code);
  Stream *s = stream_of(stream, call);
  if (!inside(to, bytes, to_device)) misuse("%s to 0x%lx, which is %s", call, (long)to, to_device ? "no device memory" : "not page-locked");
  else if (!inside(from, bytes, from_device)) misuse("%s from 0x%lx, which is %s", call, (long)from, from_device ? "no device memory" : "not page-locked");
  else if (s) return leave(send(s, (Op){ .kind = COPY, .to = to, .from = from, .bytes = bytes }));
  return leave(INVALID_VALUE);
}
CUresult cuMemcpyHtoDAsync_v2(Address to, Address from, size_t bytes, Address stream) { return copy("cuMemcpyHtoDAsync", to, from, bytes, stream, 1, 0); }
CUresult cuMemcpyDtoHAsync_v2(Address to, Address from, size_t bytes, Address stream) { return copy("cuMemcpyDtoHAsync", to, from, bytes, stream, 0, 1); }
CUresult cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Address stream) { return copy("cuMemcpyDtoDAsync", to, from, bytes, stream, 1, 1); }

static CUresult fill(const char *call, int kind, Address to, uint32_t word, size_t bytes, Address stream) {
  CUresult code = enter(call);
  note("%s 0x%lx 0x%x %zu on 0x%lx", call, (long)to, word, bytes, (long)stream);
  if (code) return leave(code);
  Stream *s = stream_of(stream, call);
  if (!inside(to, bytes, 1)) misuse("%s of 0x%lx, which is no device memory", call, (long)to);
  else if (s) return leave(send(s, (Op){ .kind = kind, .to = to, .word = word, .bytes = bytes }));
  return leave(INVALID_VALUE);
}
CUresult cuMemsetD8Async(Address to, uint8_t byte, size_t n, Address stream) { return fill("cuMemsetD8Async", FILL8, to, byte, n, stream); }
CUresult cuMemsetD32Async(Address to, uint32_t word, size_t n, Address stream) { return fill("cuMemsetD32Async", FILL32, to, word, n * 4, stream); }

// Streams and events -------------------------------------------------------------------------------------------------

CUresult cuStreamCreate(Address *out, unsigned flags) {
  CUresult code = enter("cuStreamCreate");
  if (code) return leave(code);
  Stream *s = calloc(1, sizeof *s);
  pthread_cond_init(&s->more, NULL);
  s->context = current;
  s->next = streams;
  streams = s;
  pthread_create(&s->thread, NULL, work, s);
  *out = (Address)s;
  note("cuStreamCreate %u = 0x%lx", flags, (long)*out);
  return leave(OK);
}
CUresult cuStreamDestroy_v2(Address stream) {
  CUresult code = enter("cuStreamDestroy");
  note("cuStreamDestroy 0x%lx", (long)stream);
  Stream *s = stream_of(stream, "cuStreamDestroy");
  if (!s) return leave(INVALID_HANDLE);
  int busy = 0; // a pending free is not work
  for (Op *op = s->head; op; op = op->next) busy |= op->kind != FREE;
  if ((busy || (s->running && s->running->kind != FREE)) && !code) misuse("a stream is destroyed with work in flight");
  s->ended = 1;
  pthread_cond_signal(&s->more);
  pthread_mutex_unlock(&lock);
  pthread_join(s->thread, NULL);
  pthread_mutex_lock(&lock);
  for (Stream **p = &streams; *p; p = &(*p)->next) if (*p == s) { *p = s->next; break; }
  return leave(code);
}
CUresult cuStreamQuery(Address stream) {
  CUresult code = enter("cuStreamQuery");
  Stream *s = code ? NULL : stream_of(stream, "cuStreamQuery");
  if (s && (s->head || s->running)) code = NOT_READY;
  return leave(code);
}
CUresult cuStreamSynchronize(Address stream) {
  CUresult code = enter("cuStreamSynchronize");
  note("cuStreamSynchronize 0x%lx", (long)stream);
  Stream *s = code ? NULL : stream_of(stream, "cuStreamSynchronize");
  while (s && (s->head || s->running)) pthread_cond_wait(&changed, &lock);
  return leave(current ? current->sticky : INVALID_CONTEXT);
}
CUresult cuStreamWaitEvent(Address stream, Address event, unsigned flags) {
  CUresult code = enter("cuStreamWaitEvent");
  note("cuStreamWaitEvent 0x%lx 0x%lx %u", (long)stream, (long)event, flags);
  if (code) return leave(code);
  Stream *s = stream_of(stream, "cuStreamWaitEvent");
  Event *e = event_of(event, "cuStreamWaitEvent");
  if (!s || !e) return leave(INVALID_HANDLE);
  return leave(send(s, (Op){ .kind = WAIT, .event = e, .generation = e->recorded }));
}
CUresult cuLaunchHostFunc(Address stream, void (*call)(void *), Address data) {
  CUresult code = enter("cuLaunchHostFunc");
  note("cuLaunchHostFunc on 0x%lx", (long)stream);
  if (!code) code = *setting("host_func");
  if (code) return leave(code);
  Stream *s = stream_of(stream, "cuLaunchHostFunc");
  if (*setting("lose_callbacks") > 0) { --*setting("lose_callbacks"); note("a callback is lost"); return leave(OK); }
  return leave(s ? send(s, (Op){ .kind = CALL, .call = call, .to = data }) : INVALID_HANDLE);
}
CUresult cuStreamWriteValue32_v2(Address stream, Address to, uint32_t value, unsigned flags) {
  CUresult code = enter("cuStreamWriteValue32");
  note("cuStreamWriteValue32 0x%lx %u %u on 0x%lx", (long)to, value, flags, (long)stream);
  if (code) return leave(code);
  Stream *s = stream_of(stream, "cuStreamWriteValue32");
  if (!inside(to, 4, 0) && !inside(to, 4, 1)) misuse("cuStreamWriteValue32 to memory that the GPU does not see");
  return leave(s ? send(s, (Op){ .kind = STORE, .to = to, .word = value, .bytes = 4 }) : INVALID_HANDLE);
}

CUresult cuEventCreate(Address *out, unsigned flags) {
  CUresult code = enter("cuEventCreate");
  if (code) return leave(code);
  Event *e = calloc(1, sizeof *e);
  *e = (Event){ .magic = EVENT, .flags = flags, .next = events };
  events = e;
  *out = (Address)e;
  note("cuEventCreate %u = 0x%lx", flags, (long)*out);
  return leave(OK);
}
CUresult cuEventDestroy_v2(Address event) {
  CUresult code = enter("cuEventDestroy");
  note("cuEventDestroy 0x%lx", (long)event);
  Event *e = event_of(event, "cuEventDestroy");
  if (e) {
    e->magic = 0; // kept: work in flight may still read it
    for (Event **p = &events; *p; p = &(*p)->next) if (*p == e) { *p = e->next; break; }
  }
  return leave(code);
}
CUresult cuEventRecord(Address event, Address stream) {
  CUresult code = enter("cuEventRecord");
  note("cuEventRecord 0x%lx on 0x%lx", (long)event, (long)stream);
  if (code) return leave(code);
  Stream *s = stream_of(stream, "cuEventRecord");
  Event *e = event_of(event, "cuEventRecord");
  if (!s || !e) return leave(INVALID_HANDLE);
  return leave(send(s, (Op){ .kind = RECORD, .event = e, .generation = ++e->recorded }));
}
CUresult cuEventQuery(Address event) {
  CUresult code = enter("cuEventQuery");
  Event *e = code ? NULL : event_of(event, "cuEventQuery");
  if (e && e->done < e->recorded) code = NOT_READY;
  return leave(code);
}
CUresult cuEventSynchronize(Address event) {
  CUresult code = enter("cuEventSynchronize");
  note("cuEventSynchronize 0x%lx", (long)event);
  Event *e = code ? NULL : event_of(event, "cuEventSynchronize");
  while (e && e->done < e->recorded && !current->sticky) pthread_cond_wait(&changed, &lock);
  return leave(current ? current->sticky : INVALID_CONTEXT);
}
CUresult cuEventElapsedTime(float *out, Address from, Address to) {
  CUresult code = enter("cuEventElapsedTime");
  if (code) return leave(code);
  Event *a = event_of(from, "cuEventElapsedTime"), *b = event_of(to, "cuEventElapsedTime");
  if (!a || !b || (a->flags & 2) || (b->flags & 2)) { misuse("cuEventElapsedTime of events without times"); return leave(INVALID_HANDLE); }
  if (a->done < a->recorded || b->done < b->recorded) return leave(NOT_READY);
  *out = (b->ns - a->ns) / 1e6f;
  return leave(OK);
}

// Modules and launches -----------------------------------------------------------------------------------------------

/** The output of the fake NVRTC: this, then a shared library if it compiled one. */
typedef struct { char magic[8]; uint32_t params, first_bytes; uint64_t library_bytes; } Image;
#define QUEUE 0x80000000u // flag in `first_bytes`: the entry is a resident grid's

CUresult cuModuleLoadData(Address *out, const void *data) {
  CUresult code = enter("cuModuleLoadData");
  wait_for_all("cuModuleLoadData");
  const Image *image = data;
  if (!code && memcmp(image->magic, "FAKECUBN", 8) && memcmp(image->magic, "FAKE PTX", 8)) code = INVALID_IMAGE;
  note("cuModuleLoadData %.8s = %d", code ? "" : image->magic, code);
  if (code) return leave(code);
  Module *m = calloc(1, sizeof *m);
  *m = (Module){ NULL, NULL, image->params, image->first_bytes & ~QUEUE, modules, (image->first_bytes & QUEUE) != 0 };
  if (image->library_bytes) {
    char path[] = "/tmp/fake-cuda-XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || write(file, image + 1, image->library_bytes) != (ssize_t)image->library_bytes) abort();
    close(file);
    m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    if (!m->library) { fprintf(stderr, "fake cuda: %s\n", dlerror()); return leave(INVALID_IMAGE); }
    m->entry = (Entry)dlsym(m->library, "fake_entry");
  }
  modules = m;
  *out = (Address)m;
  return leave(OK);
}
static Module *module_of(Address handle, const char *call) {
  for (Module *m = modules; m; m = m->next) if ((Address)m == handle) return m;
  misuse("%s on module 0x%lx, which is not there", call, (long)handle);
  return NULL;
}
CUresult cuModuleUnload(Address handle) {
  CUresult code = enter("cuModuleUnload");
  wait_for_all("cuModuleUnload");
  note("cuModuleUnload 0x%lx", (long)handle);
  Module *m = module_of(handle, "cuModuleUnload");
  for (Stream *s = streams; m && s; s = s->next) {
    if (s->running && s->running->module == m) misuse("a module is unloaded while it runs");
    for (Op *op = s->head; op; op = op->next) if (op->module == m) misuse("a module is unloaded with launches queued");
  }
  for (Module **p = &modules; m && *p; p = &(*p)->next) if (*p == m) { *p = m->next; break; }
  if (m && m->library) dlclose(m->library);
  free(m);
  return leave(code);
}
CUresult cuModuleGetFunction(Address *out, Address module, const char *name) {
  CUresult code = enter("cuModuleGetFunction");
  note("cuModuleGetFunction %s", name);
  if (!code && !module_of(module, "cuModuleGetFunction")) code = INVALID_HANDLE;
  Module *m = code ? NULL : module_of(module, "cuModuleGetFunction");
  if (m && strcmp(name, m->queue ? "millrace_queue" : "millrace_range")) code = NOT_FOUND;
  *out = module;
  return leave(code);
}
CUresult cuFuncGetAttribute(int *out, int attribute, Address function) {
  CUresult code = enter("cuFuncGetAttribute");
  module_of(function, "cuFuncGetAttribute");
  *out = attribute == 4 ? 32 : 0;
  return leave(code);
}
CUresult cuFuncSetAttribute(Address function, int attribute, int value) {
  CUresult code = enter("cuFuncSetAttribute");
  note("cuFuncSetAttribute %d %d", attribute, value);
  module_of(function, "cuFuncSetAttribute");
  return leave(code);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, Address function, int threads, size_t bytes) {
  CUresult code = enter("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  (void)threads; (void)bytes;
  module_of(function, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *out = 2;
  return leave(code);
}
CUresult cuLaunchKernel(Address function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, Address stream, void **params, void **extra) {
  CUresult code = enter("cuLaunchKernel");
  note("cuLaunchKernel %u,%u,%u of %u,%u,%u shared %u on 0x%lx", gx, gy, gz, bx, by, bz, shared, (long)stream);
  if (extra) misuse("cuLaunchKernel with extra");
  if (!code && due("launch_at")) code = *setting("launch_code");
  if (code) return leave(code);
  Stream *s = stream_of(stream, "cuLaunchKernel");
  Module *m = module_of(function, "cuLaunchKernel");
  if (!s || !m) return leave(INVALID_HANDLE);
  Op op = { .kind = LAUNCH, .module = m, .groups = gx, .threads = bx, .params = malloc(m->params * sizeof(void *)) };
  for (uint32_t i = 0; i < m->params; i++) {
    uint32_t bytes = i == 0 ? m->first_bytes : 8;
    op.params[i] = malloc(bytes);
    memcpy(op.params[i], params[i], bytes);
    Address at = *(Address *)op.params[i];
    int may_be_null = i == 1 && !m->queue;
    if ((i == 0 && bytes > 8) || (at == 0 && may_be_null)) continue;
    int mapped = i == 3, either = m->queue || i == 2; // the status is host memory; the epoch and a resident grid's may be
    if (either ? !inside(at, 4, 0) && !inside(at, 4, 1) : !inside(at, 4, !mapped)) misuse("parameter %u of a launch is 0x%lx, which the GPU does not see", i, (long)at);
  }
  return leave(send(s, op));
}
