/* Searches and transforms on the device of the command line: results, order, overflow, cancel, progress, several devices,
   threads. */
#include "check.h"

#include <pthread.h>

#define COUNT 300000u

static uint32_t words[WORDS];
static probe_hit right[2 * COUNT];

static void compare(const probe_hit *hits, size_t found, uint64_t start, uint64_t count, const probe_job *job) {
  const size_t expected = expected_hits(start, count, job, words, right, 2 * COUNT);
  CHECK(found == expected);
  for (size_t i = 0; i < found; i++) CHECK(same_hit(&hits[i], &right[i]));
}

static void search(mr_device *device, const probe_job *job, uint64_t start, uint64_t count,
                   const mr_task_options *options) {
  const probe_data data = {.words = {words, sizeof words}};
  probe_hit *hits = calloc(2 * COUNT, sizeof *hits);
  size_t found = 0;
  CHECK(hits != NULL);
  CHECK(probe_search(device, job, &data, start, count, options, hits, 2 * COUNT, &found) == MR_OK);
  compare(hits, found, start, count, job);
  free(hits);
}

static int stop_after(void *user, uint64_t done, uint64_t total) {
  (void)total;
  uint64_t *seen = user;
  CHECK(done > *seen);
  *seen = done;
  return 0;
}

static int refuse(void *user, uint64_t done, uint64_t total) {
  (void)user;
  (void)done;
  (void)total;
  return 1;
}

static void transform(mr_device *device) {
  enum { ROWS = 70000 };
  float *x = malloc(ROWS * 2 * sizeof *x), *y = malloc(ROWS * sizeof *y);
  CHECK(x != NULL && y != NULL);
  for (int i = 0; i < 2 * ROWS; i++) x[i] = (float)(i % 1000);
  const scale_job job = {.by = 0.25f, .class_ = 3};
  CHECK(scale_transform(device, &job, x, 8, y, 4, ROWS, NULL) == MR_OK);
  for (int i = 0; i < ROWS; i++) CHECK(y[i] == (x[2 * i] + x[2 * i + 1]) * 3.5f + (float)i);
  /* In memory of the device, without an intermediate copy. */
  void *in, *out;
  CHECK(mr_host_alloc(device, ROWS * 8, &in) == MR_OK && mr_host_alloc(device, ROWS * 4, &out) == MR_OK);
  memcpy(in, x, ROWS * 8);
  CHECK(scale_transform(device, &job, in, 8, out, 4, ROWS, NULL) == MR_OK);
  CHECK(memcmp(out, y, ROWS * 4) == 0);
  mr_host_free(device, in);
  mr_host_free(device, out);
  free(x);
  free(y);
}

struct Taken {
  uint64_t next;
  const scale_job *job;
  uint64_t stop_at;
};

static int take(void *user, uint64_t start, uint64_t count, const void *bytes) {
  struct Taken *taken = user;
  CHECK(start == taken->next);
  taken->next += count;
  const float *y = bytes;
  for (uint64_t i = 0; i < count; i++) CHECK(y[i] == (float)(uint32_t)(start + i)); /* x is zero */
  return taken->next > taken->stop_at;
}

static void generate(mr_device *device) {
  enum { ROWS = 50000 };
  const scale_job job = {.by = 1, .class_ = 0};
  const scale_data data = {.x = {NULL, 8 * (1 << 20)}};
  const uint64_t start = 1000000;
  float *y = malloc(ROWS * sizeof *y);
  CHECK(y != NULL);
  CHECK(scale_generate(device, &job, &data, start, ROWS, 4, y, NULL) == MR_OK);
  for (int i = 0; i < ROWS; i++) CHECK(y[i] == (float)(start + (uint64_t)i));
  free(y);
  struct Taken taken = {start, &job, UINT64_MAX};
  mr_task *task;
  const mr_task_options options = {.user = &taken, .max_indices = 1000};
  CHECK(scale_generate_each(device, &job, &data, start, ROWS, 4, take, &options, &task) == MR_OK);
  CHECK(mr_task_wait(task) == MR_OK && taken.next == start + ROWS);
  mr_task_close(task);
  taken = (struct Taken){start, &job, start + 5000};
  CHECK(scale_generate_each(device, &job, &data, start, ROWS, 4, take, &options, &task) == MR_OK);
  CHECK(mr_task_wait(task) == MR_CANCELLED && taken.next < start + ROWS);
  mr_task_close(task);
}

static void *in_thread(void *given) {
  const probe_job job = {.salt = 77, .limit = 1u << 24};
  for (int i = 0; i < 3; i++) {
    const probe_data data = {.words = {words, sizeof words}};
    probe_hit hits[4096];
    size_t found = 0;
    CHECK(probe_search(given, &job, &data, 5, 100000, NULL, hits, 4096, &found) == MR_OK);
    probe_hit own[4096];
    CHECK(found == expected_hits(5, 100000, &job, words, own, 4096));
    for (size_t k = 0; k < found; k++) CHECK(same_hit(&hits[k], &own[k]));
  }
  return NULL;
}

int main(int count, char **arguments) {
  const char *name = count > 1 ? arguments[1] : "cpu";
  mr_device *device;
  CHECK(mr_open(name, &device) == MR_OK);
  fill_words(words);

  /* A few hits, many hits, all hit; ranges across 2^32 and at the end of the space. */
  const probe_job few = {.salt = 12345, .limit = 1u << 22}, many = {.salt = 1, .limit = 1u << 30};
  search(device, &few, 0, COUNT, NULL);
  search(device, &many, 7, COUNT, NULL);
  search(device, &many, 4294967296ull - 1000, 5000, NULL);
  search(device, &few, UINT64_MAX - 9999, 10000, NULL);
  search(device, &few, 3, 0, NULL);
  search(device, &few, 3, 1, NULL);
  const probe_job all = {.salt = 3, .limit = 0xffffffff};
  const mr_task_options tiny = {.ring_hits = 3};
  search(device, &all, 1, 500, &tiny); /* a ring of three: ranges are split; one index has two hits */
  const mr_task_options single = {.ring_hits = 1, .max_indices = 100};
  search(device, &all, 1, 200, &single); /* one index has more hits than the ring: the ring grows */

  /* Too small an array: the first hits, and the number of all. */
  const probe_data data = {.words = {words, sizeof words}};
  probe_hit some[10];
  size_t found = 0;
  CHECK(probe_search(device, &many, &data, 0, COUNT, NULL, some, 10, &found) == MR_ERROR_CAPACITY);
  CHECK(found == expected_hits(0, COUNT, &many, words, right, 2 * COUNT));
  for (int i = 0; i < 10; i++) CHECK(same_hit(&some[i], &right[i]));

  /* Progress, and a task that is stopped by its caller or by its own function. */
  uint64_t seen = 0;
  const mr_task_options watched = {.progress = stop_after, .user = &seen, .max_indices = 20000};
  search(device, &few, 0, COUNT, &watched);
  CHECK(seen == COUNT);
  const mr_task_options refused = {.progress = refuse, .max_indices = 1000};
  CHECK(probe_search(device, &few, &data, 0, COUNT, &refused, some, 10, &found) == MR_CANCELLED);
  CHECK(strlen(mr_error(NULL)) > 0);
  mr_task *task;
  uint64_t done, total;
  const mr_task_options small = {.max_indices = 64};
  CHECK(probe_search_start(device, &few, &data, 0, UINT64_MAX, &small, &task) == MR_OK);
  CHECK(mr_task_is_done(task) == 0);
  CHECK(probe_search_hits(task, some, 10, &found) == MR_ERROR_ARGUMENT);
  CHECK(mr_task_cancel(task) == MR_OK);
  CHECK(mr_task_wait(task) == MR_CANCELLED);
  CHECK(mr_task_progress(task, &done, &total) == MR_OK && done < total && total == UINT64_MAX);
  mr_task_close(task);

  transform(device);
  generate(device);

  pthread_t threads[3];
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, in_thread, device) == 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);

  /* Closing a device stops its tasks. */
  CHECK(probe_search_start(device, &few, &data, 0, UINT64_MAX, NULL, &task) == MR_OK);
  mr_close(device);
  CHECK(mr_task_wait(task) == MR_ERROR_ARGUMENT);
  puts("ok");
  return 0;
}
