/* Makes each allocation, thread and driver call fail in turn, once. A call then returns a code and has a text, or its words
   are right; the next calls work, and nothing is lost. */
#include <stdatomic.h>

#include "../export/opencl-shim.h"
#include "device-memory.h"

static atomic_long left = -1;
static const char *_Atomic failed_call;

int fault(const char *what);
int fault(const char *what) {
  const long n = atomic_load(&left);
  if (n < 0 || atomic_fetch_sub(&left, 1) != 0) return 0;
  atomic_store(&failed_call, what);
  return 1;
}

static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
static const char *const sets[] = {lower, lower, lower, lower, lower, lower, lower};
static const int32_t ids[] = {1, 1, 1, 1, 1, 1, 1};

static void compare(const unsigned char *words, uint64_t start, uint64_t count) {
  char expected[8] = "";
  for (uint64_t k = 0; k < count; k++) {
    naive(sets, 7, start + k, expected);
    expected[7] = '\n';
    CHECK(memcmp(words + 8 * k, expected, 8) == 0);
  }
}

/* Returns 1 if the call failed; then there is a text. */
static int failed(intptr_t code) {
  CHECK(code >= 0 || (code >= -4 && code != -1 && wg_get_error(NULL) != NULL));
  return code < 0;
}

/* A stream of the caller in the context that the generator uses; null if there are none. */
static void *own_stream(void) {
  if (!device_is("cuda")) return NULL;
  DRIVER(cuInit, unsigned);
  DRIVER(cuDevicePrimaryCtxRetain, void **, int);
  DRIVER(cuCtxPushCurrent_v2, void *);
  DRIVER(cuStreamCreate, void **, unsigned);
  void *context, *stream;
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0);
  CHECK(cuCtxPushCurrent_v2(context) == 0 && cuStreamCreate(&stream, 1) == 0);
  return stream;
}

static void *stream;

/* Of opencl-shim.c: says which command fails; null if the shim is not there. */
static void (*fail_at)(long);
static long (*commands_left)(void);

/* Compares a batch with its words. The test's own commands do not fail. */
static void compare_batch(const wg_batch_device_t *batch, uint64_t start) {
  const long left = commands_left == NULL ? -1 : commands_left();
  if (fail_at != NULL) fail_at(-1);
  unsigned char *copy = read_batch(batch);
  if (fail_at != NULL) fail_at(left);
  compare(copy, start, batch->count);
  free(copy);
}

/* Returns the number of calls that failed. */
static int attempt_single(unsigned char *memory) {
  wg_handle_t words = wg_create(NULL, 0);
  if (words == NULL) {
    CHECK(wg_get_error(NULL) != NULL);
    return 1;
  }
  int failures = 0;
  CHECK(wg_set_charset(words, 1, lower, 26) == 0 && wg_set_mask(words, ids, 7) == 0);
  for (uint64_t turn = 0; turn < 3; turn++) {
    const uint64_t start = 1000000007u * turn;
    const intptr_t bytes = wg_generate_batch_host(words, start, 3000, memory, 24000);
    failures += failed(bytes);
    if (bytes > 0) compare(memory, start, 3000);
    wg_batch_device_t batch;
    const int32_t code = wg_generate_batch_device(words, start, 2000 + 500 * turn, &batch);
    failures += failed(code);
    if (code == 0 && !device_is("cuda")) compare_batch(&batch, start);
    if (stream != NULL) failures += failed(wg_generate_batch_stream(words, (CUstream)stream, start + 1, 3000, &batch));
    if (turn == 1) CHECK(wg_set_format(words, WG_FORMAT_PACKED) == 0 && wg_set_format(words, WG_FORMAT_NEWLINES) == 0);
  }
  wg_destroy(words);
  return failures;
}

static int attempt_several(unsigned char *memory) {
  wg_multigpu_handle_t words = wg_multigpu_create();
  if (words == NULL) {
    CHECK(wg_get_error(NULL) != NULL);
    return 1;
  }
  /* A device may have been left out. */
  int failures = wg_get_error(NULL) == NULL ? 0 : 1;
  CHECK(wg_multigpu_set_charset(words, 1, lower, 26) == 0 && wg_multigpu_set_mask(words, ids, 7) == 0);
  for (uint64_t turn = 0; turn < 2; turn++) {
    const intptr_t bytes = wg_multigpu_generate(words, 77, 3000, memory, 24000);
    failures += failed(bytes);
    if (bytes > 0) compare(memory, 77, 3000);
    if (bytes > 0 && wg_get_error(NULL) != NULL) failures++; /* another device has done the part of one that failed */
  }
  wg_multigpu_destroy(words);
  return failures;
}

/* OpenCL: commands that the driver accepts, and that fail while they run. Returns their number. */
static long fail_commands(int (*attempt)(unsigned char *), unsigned char *memory) {
  if (!device_is("opencl") || fail_at == NULL) return 0;
  long failures = 0;
  for (long n = 0;; n++) {
    fail_at(n);
    const int seen = attempt(memory);
    const int was_made = commands_left() < 0;
    fail_at(-1);
    if (getenv("VERBOSE") != NULL) fprintf(stderr, "command %ld: %d failed\n", n, seen);
    if (!was_made) break;
    failures += seen > 0;
  }
  CHECK(failures > 5 && attempt(memory) == 0);
  return failures;
}

int main(void) {
  unsigned char *memory = malloc(24000);
  long failures = 0, calls = 0;
  CHECK(memory != NULL);
  stream = own_stream();
  fail_at = (void (*)(long))(uintptr_t)shim_function("shim_fail_at");
  commands_left = (long (*)(void))(uintptr_t)shim_function("shim_commands_left");
  for (int kind = 0; kind < 2; kind++) {
    int (*attempt)(unsigned char *) = kind == 0 ? attempt_single : attempt_several;
    CHECK(attempt(memory) == 0);
    for (long n = 0;; n++, calls++) {
      atomic_store(&failed_call, NULL);
      atomic_store(&left, n);
      const int seen = attempt(memory);
      const char *call = atomic_load(&failed_call);
      atomic_store(&left, -1);
      if (call == NULL) {
        CHECK(seen == 0);
        break;
      }
      failures += seen > 0;
      if (getenv("VERBOSE") != NULL) fprintf(stderr, "%d %ld %s: %d failed\n", kind, n, call, seen);
    }
    CHECK(attempt(memory) == 0); /* a device that failed can be opened again */
    failures += fail_commands(attempt, memory);
  }
  free(memory);
  printf("ok, %ld calls, %ld failures\n", calls, failures);
  return 0;
}
