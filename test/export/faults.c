/* Makes each allocation, thread and driver call fail in turn, once. Everything must end with a status and a text, and
   nothing may be lost: either the results are right, or a call says why there are none. */
#include "check.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "opencl-shim.h"

static atomic_long left = -1;
static const char *_Atomic failed_call;

int fault(const char *what);
int fault(const char *what) {
  const long n = atomic_load(&left);
  if (n < 0 || atomic_fetch_sub(&left, 1) != 0) return 0;
  atomic_store(&failed_call, what);
  return 1;
}

static uint32_t words[WORDS];
static probe_hit right[4096];

/* Fails, or gives the right results. */
static int attempt(const char *name) {
  mr_device *device = NULL;
  int status = mr_open(name, &device);
  if (status != MR_OK) {
    CHECK(strlen(mr_error(NULL)) > 0 && device == NULL);
    return status;
  }
  const probe_job job = {.salt = 99, .limit = 1u << 24};
  const probe_data data = {.words = {words, sizeof words}};
  probe_hit hits[4096];
  size_t found = 0;
  const mr_task_options options = {.max_indices = 5000, .ring_hits = 8};
  status = probe_search(device, &job, &data, 0, 20000, &options, hits, 4096, &found);
  if (status == MR_OK) {
    CHECK(found == expected_hits(0, 20000, &job, words, right, 4096));
    for (size_t i = 0; i < found; i++) CHECK(same_hit(&hits[i], &right[i]));
    enum { ROWS = 1000 };
    float x[2 * ROWS], y[ROWS];
    for (int i = 0; i < 2 * ROWS; i++) x[i] = (float)i;
    const scale_job scaled = {.by = 0.25f, .class_ = 3};
    status = scale_transform(device, &scaled, x, 8, y, 4, ROWS, NULL);
    for (int i = 0; status == MR_OK && i < ROWS; i++) CHECK(y[i] == (x[2 * i] + x[2 * i + 1]) * 3.5f + (float)i);
  }
  mr_stream *stream = NULL;
  mr_buffer *buffer = NULL;
  mr_event *event = NULL;
  mr_device *member = mr_member(device, 0);
  if (status == MR_OK) status = mr_stream_open(member, &stream);
  if (status == MR_OK) status = mr_event_open(member, &event);
  if (status == MR_OK) status = mr_buffer_alloc(member, 4096, &buffer);
  if (status == MR_OK) status = mr_fill(stream, buffer, 5, 0, 4096);
  if (status == MR_OK) status = mr_copy(stream, buffer, 0, buffer, 2048, 2048);
  if (status == MR_OK) status = mr_event_record(event, stream);
  if (status == MR_OK) status = mr_stream_follow(stream, event);
  if (status == MR_OK) status = mr_event_wait(event);
  if (status == MR_OK) status = mr_cancel(stream);
  if (status == MR_OK) status = mr_is_idle(stream) < 0 ? MR_ERROR_DEVICE : MR_OK;
  if (status == MR_OK) status = mr_wait(stream);
  if (status != MR_OK) CHECK(strlen(mr_error(NULL)) > 0 && strlen(mr_error(device)) > 0);
  mr_close(device);
  return status;
}

/* OpenCL: commands that the driver accepts, and that fail while they run. Returns their number. */
static long fail_commands(const char *name) {
  void (*fail_at)(long) = (void (*)(long))(uintptr_t)shim_function("shim_fail_at");
  long (*commands_left)(void) = (long (*)(void))(uintptr_t)shim_function("shim_commands_left");
  if (fail_at == NULL || commands_left == NULL) return 0;
  long failures = 0;
  for (long n = 0;; n++) {
    fail_at(n);
    const int status = attempt(name);
    const bool was_made = commands_left() < 0;
    fail_at(-1);
    if (getenv("VERBOSE")) fprintf(stderr, "command %ld: %d %s\n", n, status, status ? mr_error(NULL) : "");
    if (!was_made) break;
    failures += status != MR_OK;
  }
  CHECK(failures > 10 && attempt(name) == MR_OK);
  return failures;
}

int main(int count, char **arguments) {
  const char *name = count > 1 ? arguments[1] : "cpu:2";
  const long step = count > 2 ? atol(arguments[2]) : 1;
  fill_words(words);
  CHECK(attempt(name) == MR_OK);
  long failures = 0, calls = 0;
  for (;; calls += step) {
    atomic_store(&failed_call, NULL);
    atomic_store(&left, calls);
    const int status = attempt(name);
    const bool was_made = atomic_load(&failed_call) != NULL;
    atomic_store(&left, -1);
    if (!was_made) {
      CHECK(status == MR_OK);
      break;
    }
    if (status != MR_OK) failures++;
    if (getenv("VERBOSE")) fprintf(stderr, "%ld %s: %d %s\n", calls, atomic_load(&failed_call), status, status ? mr_error(NULL) : "");
  }
  CHECK(attempt(name) == MR_OK); /* a device that failed can be opened again */
  failures += fail_commands(name);
  printf("ok, %ld calls, %ld failures\n", calls, failures);
  return 0;
}
