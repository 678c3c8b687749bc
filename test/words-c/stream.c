/* A caller's own CUDA context and stream. Nothing else may run the kernels, and calls do not wait for the stream: it is held
   up by an event until the calls have returned. */
#include "device-memory.h"

int main(void) {
  DRIVER(cuInit, unsigned);
  DRIVER(cuDevicePrimaryCtxRetain, void **, int);
  DRIVER(cuDevicePrimaryCtxRelease_v2, int);
  DRIVER(cuCtxPopCurrent_v2, void **);
  DRIVER(cuCtxPushCurrent_v2, void *);
  DRIVER(cuStreamCreate, void **, unsigned);
  DRIVER(cuStreamDestroy_v2, void *);
  DRIVER(cuStreamQuery, void *);
  DRIVER(cuStreamSynchronize, void *);
  DRIVER(cuMemHostAlloc, void **, size_t, unsigned);
  DRIVER(cuMemFreeHost, void *);
  DRIVER(cuMemcpyDtoHAsync_v2, void *, uint64_t, size_t, void *);
  DRIVER(cuLaunchHostFunc, void *, void (*)(void *), void *);
  extern void hold(void *);
  extern int let_go(void);

  void *context, *stream, *other, *host;
  CHECK(cuInit(0) == 0);
  /* The fake driver has only primary contexts. */
  int (*create)(void **, unsigned, int) = (int (*)(void **, unsigned, int))(uintptr_t)find("cuCtxCreate_v2");
  int (*destroy)(void *) = (int (*)(void *))(uintptr_t)find("cuCtxDestroy_v2");
  if (create != NULL) CHECK(create(&context, 0, 0) == 0 && cuCtxPopCurrent_v2(&context) == 0);
  else CHECK(cuDevicePrimaryCtxRetain(&context, 0) == 0);
  wg_handle_t words = wg_create(context, 0);
  CHECK(words != NULL);
  int32_t ids[8];
  for (int k = 0; k < 8; k++) ids[k] = 1;
  CHECK(wg_set_charset(words, 1, LOWER, 26) == 0 && wg_set_mask(words, ids, 8) == 0);
  CHECK(wg_set_format(words, WG_FORMAT_PACKED) == 0);

  CHECK(cuCtxPushCurrent_v2(context) == 0);
  CHECK(cuStreamCreate(&stream, 1) == 0 && cuStreamCreate(&other, 1) == 0);
  CHECK(cuMemHostAlloc(&host, 3 * 80000, 0) == 0);
  unsigned char *bytes = host;
  memset(bytes, 0xee, 3 * 80000);
  wg_batch_device_t batch[3];
  /* The first batches allocate; allocations may wait for the device. */
  for (int k = 0; k < 3; k++) CHECK(wg_generate_batch_stream(words, (CUstream)stream, 0, 10000, &batch[0]) == 0);
  CHECK(cuStreamSynchronize(stream) == 0);

  CHECK(cuLaunchHostFunc(stream, hold, NULL) == 0);
  CHECK(wg_generate_batch_stream(words, (CUstream)stream, 12345, 10000, &batch[1]) == 0);
  CHECK(cuStreamQuery(stream) == 600); /* not ready: the words are queued behind the function that waits */
  CHECK(cuMemcpyDtoHAsync_v2(bytes, batch[1].data, 80000, other) == 0 && cuStreamSynchronize(other) == 0);
  const int was_early = memcmp(bytes, "aaaaasgv", 8) == 0; /* word 12345 */
  CHECK(!was_early);
  CHECK(cuMemcpyDtoHAsync_v2(bytes, batch[1].data, 80000, stream) == 0);
  CHECK(let_go() == 0 && cuStreamSynchronize(stream) == 0);
  const char *const lower = "abcdefghijklmnopqrstuvwxyz";
  const char *const sets[8] = {lower, lower, lower, lower, lower, lower, lower, lower};
  char expected[8];
  for (uint64_t k = 0; k < 10000; k++) {
    naive(sets, 8, 12345 + k, expected);
    CHECK(memcmp(bytes + 8 * k, expected, 8) == 0);
  }
  /* Streams in turns, without waiting: each batch is complete before the ring's next use of its memory. */
  for (int k = 0; k < 200; k++) {
    void *const used = k % 2 == 0 ? stream : other;
    CHECK(wg_generate_batch_stream(words, (CUstream)used, 1000000007u * (uint64_t)k, 10000, &batch[2]) == 0);
    CHECK(cuMemcpyDtoHAsync_v2(bytes + 80000 * (k % 2), batch[2].data, 80000, used) == 0);
    if (k % 50 < 48) continue;
    CHECK(cuStreamSynchronize(used) == 0);
    naive(sets, 8, 1000000007u * (uint64_t)k + 9999, expected);
    CHECK(memcmp(bytes + 80000 * (k % 2) + 79992, expected, 8) == 0);
  }
  /* The caller may destroy its streams before the generator. */
  CHECK(cuStreamSynchronize(stream) == 0 && cuStreamSynchronize(other) == 0);
  CHECK(cuStreamDestroy_v2(stream) == 0 && cuStreamDestroy_v2(other) == 0);
  /* Words go to the caller's page-locked memory directly. */
  CHECK(wg_generate_batch_host(words, 12345, 10000, bytes, 80000) == 80000 && memcmp(bytes, "aaaaasgv", 8) == 0);
  wg_destroy(words);
  CHECK(cuMemFreeHost(host) == 0 && cuCtxPopCurrent_v2(&context) == 0);
  CHECK((create != NULL ? destroy(context) : cuDevicePrimaryCtxRelease_v2(0)) == 0);
  puts("ok");
  return 0;
}

#include <pthread.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int is_open;

void hold(void *given) {
  (void)given;
  pthread_mutex_lock(&gate);
  while (!is_open) pthread_cond_wait(&opened, &gate);
  pthread_mutex_unlock(&gate);
}

int let_go(void) {
  pthread_mutex_lock(&gate);
  is_open = 1;
  pthread_cond_broadcast(&opened);
  pthread_mutex_unlock(&gate);
  return 0;
}
