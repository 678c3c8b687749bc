/*
 * Times the variants of the SHA-256d kernel that `prepare.ts` compiled: each scans 2^30 nonces seven times (device events,
 * the first two not counted), then the five fastest scan 2^32. Every scan must find the known nonce, and all variants the
 * same hits. Uses only the driver API, loaded at run time, so that a C compiler is enough:
 *
 *   gcc -O2 -o speed test/speed/run.c -ldl && ./speed .gpu/speed [part of a name]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef void *handle;

enum { WARMUPS = 2, RUNS = 5, BEST = 5, MOST = 200, MOST_WORDS = 1024, RING_WORDS = 4 + 2 * 1000, SCANS = 2 };

#define DRIVER(X)                                                                                                      \
  X(cuInit, "cuInit", (u32))                                                                                           \
  X(cuDeviceGet, "cuDeviceGet", (int *, int))                                                                          \
  X(cuDeviceGetName, "cuDeviceGetName", (char *, int, int))                                                            \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                                                   \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (handle *, int))                                             \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", (handle))                                                                      \
  X(cuModuleLoad, "cuModuleLoad", (handle *, const char *))                                                            \
  X(cuModuleUnload, "cuModuleUnload", (handle))                                                                        \
  X(cuModuleGetFunction, "cuModuleGetFunction", (handle *, handle, const char *))                                      \
  X(cuFuncGetAttribute, "cuFuncGetAttribute", (int *, int, handle))                                                    \
  X(cuOccupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *, handle, int, size_t))                          \
  X(cuMemAlloc, "cuMemAlloc_v2", (u64 *, size_t))                                                                      \
  X(cuMemsetD32, "cuMemsetD32_v2", (u64, u32, size_t))                                                                 \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, u64, size_t))                                                            \
  X(cuEventCreate, "cuEventCreate", (handle *, u32))                                                                   \
  X(cuEventRecord, "cuEventRecord", (handle, handle))                                                                  \
  X(cuEventSynchronize, "cuEventSynchronize", (handle))                                                                \
  X(cuEventElapsedTime, "cuEventElapsedTime", (float *, handle, handle))                                               \
  X(cuLaunchKernel, "cuLaunchKernel", (handle, u32, u32, u32, u32, u32, u32, u32, handle, void **, void **))

#define DECLARE(name, symbol, args) static int(*name) args;
DRIVER(DECLARE)

/* Attribute numbers of the driver API. */
enum { MULTIPROCESSORS = 16, REGISTERS = 4 };

struct scan {
  char name[16];
  u64 count;
  u32 words[MOST_WORDS];
};

struct variant {
  char name[64];
  u32 workgroup, words;
  double waves;
  struct scan scans[SCANS];
  int registers, resident;
  double best, median, longBest, longMedian;
};

static struct variant variants[MOST];
static u32 ringWanted[SCANS][RING_WORDS];
static int ringKnown[SCANS];
static u32 nonce;
static u64 cancel, status, ring;
static handle from, to;
static int processors, wrong;

static void fail(const char *what, int code) {
  fprintf(stderr, "%s: %d\n", what, code);
  exit(1);
}
#define OK(call)                                                                                                       \
  do {                                                                                                                 \
    int code = call;                                                                                                   \
    if (code) fail(#call, code);                                                                                       \
  } while (0)

static int up(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static int byNonce(const void *a, const void *b) {
  u32 x = ((const u32 *)a)[1], y = ((const u32 *)b)[1];
  return (x > y) - (x < y);
}
static int faster(const void *a, const void *b) {
  return -up(&(*(struct variant *const *)a)->median, &(*(struct variant *const *)b)->median);
}

static int manifest(const char *folder, const char *part) {
  char path[512];
  snprintf(path, sizeof path, "%s/manifest.txt", folder);
  FILE *file = fopen(path, "r");
  int count = 0;
  if (!file || fscanf(file, " nonce %u", &nonce) != 1) fail(path, 0);
  while (count < MOST) {
    struct variant *v = &variants[count];
    if (fscanf(file, " variant %63s %u %lf %u", v->name, &v->workgroup, &v->waves, &v->words) != 4) break;
    if (v->words > MOST_WORDS) fail("launch block too large", (int)v->words);
    for (int s = 0; s < SCANS; s++) {
      if (fscanf(file, " %15s %llu", v->scans[s].name, &v->scans[s].count) != 2) fail("manifest", count);
      for (u32 i = 0; i < v->words; i++)
        if (fscanf(file, " %x", &v->scans[s].words[i]) != 1) fail("manifest", count);
    }
    count += !part || strstr(v->name, part) != NULL;
  }
  fclose(file);
  return count;
}

/* Checks that the hits of the last scan include the known nonce and equal those of the other variants. */
static void check(const struct variant *v, int s) {
  static u32 found[RING_WORDS];
  OK(cuMemcpyDtoH(found, ring, sizeof found));
  u32 hits = found[0] > 1000 ? 1000 : found[0], known = 0;
  qsort(found + 4, hits, 8, byNonce);
  for (u32 i = 0; i < hits; i++) known |= found[4 + 2 * i + 1] == nonce;
  if (!ringKnown[s] && known) memcpy(ringWanted[s], found, sizeof found), ringKnown[s] = 1;
  if (!known || memcmp(ringWanted[s], found, sizeof found)) {
    printf("%s: WRONG HITS (%u)\n", v->name, hits);
    wrong = 1;
  }
}

static void measure(struct variant *v, handle kernel, int s, int runs, double *best, double *median) {
  double rates[64];
  u64 counted = 0;
  void *arguments[] = {v->scans[s].words, &counted, &cancel, &status, &ring};
  u32 groups = (u32)(processors * v->resident * v->waves + 0.5);
  u64 most = (v->scans[s].count + v->workgroup - 1) / v->workgroup;
  if (groups > most) groups = (u32)most;
  for (int i = -WARMUPS; i < runs; i++) {
    float milliseconds;
    OK(cuMemsetD32(ring, 0, RING_WORDS));
    OK(cuEventRecord(from, NULL));
    OK(cuLaunchKernel(kernel, groups, 1, 1, v->workgroup, 1, 1, 0, NULL, arguments, NULL));
    OK(cuEventRecord(to, NULL));
    OK(cuEventSynchronize(to));
    OK(cuEventElapsedTime(&milliseconds, from, to));
    if (i >= 0) rates[i] = (double)v->scans[s].count / milliseconds / 1e6;
  }
  check(v, s);
  qsort(rates, (size_t)runs, sizeof *rates, up);
  *best = rates[runs - 1];
  *median = rates[runs / 2];
}

static void scan(struct variant *v, const char *folder, int s) {
  char path[512];
  handle module, kernel;
  snprintf(path, sizeof path, "%s/%s.cubin", folder, v->name);
  OK(cuModuleLoad(&module, path));
  OK(cuModuleGetFunction(&kernel, module, "millrace_range"));
  OK(cuFuncGetAttribute(&v->registers, REGISTERS, kernel));
  OK(cuOccupancy(&v->resident, kernel, (int)v->workgroup, 0));
  if (s == 0) measure(v, kernel, s, RUNS, &v->best, &v->median);
  else measure(v, kernel, s, RUNS, &v->longBest, &v->longMedian);
  OK(cuModuleUnload(module));
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : ".gpu/speed", *part = argc > 2 ? argv[2] : NULL;
  handle driver = dlopen("libcuda.so.1", RTLD_NOW), context;
  int device;
  char name[128];
  if (!driver) fail(dlerror(), 0);
#define FIND(function, symbol, args)                                                                                   \
  if (!(*(void **)&function = dlsym(driver, symbol))) fail("no " symbol, 0);
  DRIVER(FIND)
  int count = manifest(folder, part);
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuDeviceGetName(name, sizeof name, device));
  OK(cuDeviceGetAttribute(&processors, MULTIPROCESSORS, device));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  OK(cuMemAlloc(&cancel, 4));
  OK(cuMemAlloc(&status, 64));
  OK(cuMemAlloc(&ring, 4 * RING_WORDS));
  OK(cuMemsetD32(cancel, 1, 1)); /* the epoch of every launch block */
  OK(cuMemsetD32(status, 0, 16));
  OK(cuEventCreate(&from, 0));
  OK(cuEventCreate(&to, 0));
  printf("%s, %d processors, %d variants\n", name, processors, count);

  struct variant *order[MOST];
  for (int i = 0; i < count; i++) {
    order[i] = &variants[i];
    scan(order[i], folder, 0);
  }
  qsort(order, (size_t)count, sizeof *order, faster);
  for (int i = 0; i < count && i < BEST; i++) scan(order[i], folder, 1);
  printf("%-32s %4s %8s %8s %8s %8s %8s\n", "variant", "regs", "resident", "median", "best", "2^32", "best");
  for (int i = 0; i < count; i++) {
    struct variant *v = order[i];
    printf("%-32s %4d %8d %8.3f %8.3f", v->name, v->registers, v->resident, v->median, v->best);
    if (v->longBest > 0) printf(" %8.3f %8.3f", v->longMedian, v->longBest);
    printf("\n");
  }
  printf("%u hits in the long scan; %s\n", ringWanted[1][0], wrong ? "WRONG HITS" : "all hits correct");
  return wrong;
}
