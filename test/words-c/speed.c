/* Rates of packed words of 8 characters, in bytes a second: in device memory with a wait after each batch, in device memory on a
   stream of the caller (CUDA), and in page-locked host memory. Usage: speed DEVICE_MIB STREAM_MIB HOST_MIB SECONDS */
#include <time.h>

#include "device-memory.h"

static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static wg_handle_t words;
static void *stream, *host;
static int (*synchronize)(void *);

typedef void Batch(uint64_t start, uint64_t count);

static void on_device(uint64_t start, uint64_t count) {
  wg_batch_device_t batch;
  CHECK(wg_generate_batch_device(words, start, count, &batch) == 0 && batch.total_bytes == 8 * count);
}

static void on_stream(uint64_t start, uint64_t count) {
  wg_batch_device_t batch;
  CHECK(wg_generate_batch_stream(words, (CUstream)stream, start, count, &batch) == 0 && batch.total_bytes == 8 * count);
}

static void to_host(uint64_t start, uint64_t count) {
  CHECK(wg_generate_batch_host(words, start, count, host, 8 * count) == (intptr_t)(8 * count));
  char expected[8];
  const char *const lower = "abcdefghijklmnopqrstuvwxyz";
  const char *const sets[8] = {lower, lower, lower, lower, lower, lower, lower, lower};
  for (uint64_t k = 0; k < count; k += count - 1) {
    naive(sets, 8, start + k, expected);
    CHECK(memcmp((char *)host + 8 * k, expected, 8) == 0);
  }
}

static void measure(const char *name, Batch *make, uint64_t bytes, double seconds) {
  for (uint64_t k = 0; k < 3; k++) make(k, bytes / 8); /* memory is allocated */
  if (make == on_stream) CHECK(synchronize(stream) == 0);
  const double began = now();
  uint64_t batches = 0;
  double spent = 0;
  while (spent < seconds || batches < 3) {
    make(1000003 * batches++, bytes / 8);
    /* Calls on a stream return at once: a wait for every eight keeps the queue short. */
    if (make == on_stream && batches % 8 == 0) CHECK(synchronize(stream) == 0);
    spent = now() - began;
  }
  if (make == on_stream) CHECK(synchronize(stream) == 0);
  printf("%s %.4g\n", name, (double)(batches * bytes) / (now() - began));
}

int main(int count, char **arguments) {
  CHECK(count == 5);
  uint64_t bytes[3];
  for (int k = 0; k < 3; k++) bytes[k] = strtoull(arguments[1 + k], NULL, 10) << 20;
  const double seconds = atof(arguments[4]);
  const int32_t ids[] = {1, 1, 1, 1, 1, 1, 1, 1};
  CHECK((words = wg_create(NULL, 0)) != NULL);
  CHECK(wg_set_charset(words, 1, LOWER, 26) == 0 && wg_set_mask(words, ids, 8) == 0);
  CHECK(wg_set_format(words, WG_FORMAT_PACKED) == 0);
  measure("device", on_device, bytes[0], seconds);
  if (device_is("cuda")) {
    DRIVER(cuInit, unsigned);
    DRIVER(cuDevicePrimaryCtxRetain, void **, int);
    DRIVER(cuCtxPushCurrent_v2, void *);
    DRIVER(cuStreamCreate, void **, unsigned);
    DRIVER(cuMemHostAlloc, void **, size_t, unsigned);
    DRIVER(cuStreamSynchronize, void *);
    void *context;
    CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxPushCurrent_v2(context) == 0);
    CHECK(cuStreamCreate(&stream, 1) == 0 && cuMemHostAlloc(&host, bytes[2], 0) == 0);
    synchronize = cuStreamSynchronize;
    measure("stream", on_stream, bytes[1], seconds);
  } else CHECK((host = malloc(bytes[2])) != NULL);
  measure("host", to_host, bytes[2], seconds);
  wg_destroy(words);
  return 0;
}
