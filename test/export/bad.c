/* Bad arguments to every function: nothing, zero, too much, a handle that was closed or is of another type, another device.
   Each gives a status and a text, and what was there before still works. */
#include "check.h"

#define REFUSED(call)                                                          \
  do {                                                                         \
    CHECK((call) == MR_ERROR_ARGUMENT);                                        \
    CHECK(strlen(mr_error(NULL)) > 0);                                         \
  } while (0)

static uint32_t words[WORDS];
static const probe_job values = {1, 1};

/* Objects that are open, closed, and of another device. */
typedef struct Set {
  mr_device *device;
  mr_stream *stream;
  mr_buffer *buffer, *ring;
  mr_event *event;
  mr_job *job;
} Set;

static Set open_set(const char *name) {
  Set set;
  CHECK(mr_open(name, &set.device) == MR_OK);
  CHECK(mr_stream_open(set.device, &set.stream) == MR_OK && mr_event_open(set.device, &set.event) == MR_OK);
  CHECK(mr_buffer_alloc(set.device, sizeof words, &set.buffer) == MR_OK);
  CHECK(mr_buffer_alloc(set.device, 4096, &set.ring) == MR_OK);
  CHECK(probe_params_from_job(set.device, &values, &set.job) == MR_OK);
  return set;
}

static void devices(const Set *set, const Set *gone) {
  mr_info info;
  mr_device *made = (mr_device *)&info;
  static const char *const names[] = {"gpu", "cuda:x", "cpu:0", "cpu:99999", "cpu,,cpu", "opencl:9999999", "cpu:-1", ",", "cpu:"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    CHECK(mr_open(names[i], &made) < 0 && made == NULL && strlen(mr_error(NULL)) > 0);
    CHECK(mr_probe(names[i], &info) < 0 || strcmp(names[i], "cpu:99999") == 0);
  }
  char list[1024] = "cpu:1";
  for (int i = 0; i < 70; i++) strcat(list, ",cpu:1");
  REFUSED(mr_open(list, &made)); /* more than 64 devices */
  REFUSED(mr_open("cpu", NULL));
  REFUSED(mr_open_cuda(NULL, 0, NULL));
  CHECK(mr_open_cuda(NULL, 99, &made) < 0 && made == NULL && mr_open_cuda(NULL, -1, &made) < 0);
  REFUSED(mr_probe(NULL, &info));
  REFUSED(mr_probe("cpu", NULL));
  CHECK(mr_device_count((mr_kind)77) == 0 && mr_device_count((mr_kind)-1) == 0 && mr_device_count(MR_CPU) == 1);
  REFUSED(mr_device_info(set->device, NULL));
  REFUSED(mr_device_info(NULL, &info));
  REFUSED(mr_device_info(gone->device, &info));
  REFUSED(mr_device_info((mr_device *)set->stream, &info));
  REFUSED(mr_device_info((mr_device *)&info, &info)); /* an address */
  CHECK(mr_member_count(NULL) == 0 && mr_member_count(gone->device) == 0 && mr_member_count(set->device) == 1);
  CHECK(mr_member(NULL, 0) == NULL && mr_member(gone->device, 0) == NULL && mr_member(set->device, 1) == NULL);
  CHECK(mr_member(set->device, SIZE_MAX) == NULL && mr_member(set->device, 0) == set->device);
  CHECK(mr_error(gone->device) != NULL);
  mr_close(NULL);
  mr_close(gone->device);
  mr_close((mr_device *)set->buffer);
}

static void memory(const Set *set, const Set *gone, const Set *other) {
  mr_buffer *made = NULL;
  void *host = NULL;
  CHECK(mr_buffer_alloc(set->device, UINT64_MAX, &made) == MR_ERROR_MEMORY && made == NULL);
  CHECK(mr_buffer_alloc(set->device, (uint64_t)1 << 60, &made) == MR_ERROR_MEMORY && strlen(mr_error(NULL)) > 0);
  REFUSED(mr_buffer_alloc(set->device, 4, NULL));
  REFUSED(mr_buffer_alloc(NULL, 4, &made));
  REFUSED(mr_buffer_alloc(gone->device, 4, &made));
  REFUSED(mr_buffer_alloc((mr_device *)set->stream, 4, &made));
  CHECK(mr_buffer_alloc(set->device, 0, &made) == MR_OK && mr_buffer_bytes(made) == 0); /* empty is allowed */
  mr_buffer_free(made);
  mr_buffer_free(made);
  CHECK(mr_buffer_bytes(made) == 0 && mr_buffer_address(made) == 0);
  mr_buffer_free(NULL);
  mr_buffer_free((mr_buffer *)set->stream);
  REFUSED(mr_buffer_adopt(set->device, 0, 4, &made));
  REFUSED(mr_buffer_adopt(set->device, mr_buffer_address(set->buffer), 4, NULL));
  REFUSED(mr_buffer_adopt(NULL, mr_buffer_address(set->buffer), 4, &made));
  REFUSED(mr_buffer_adopt(gone->device, mr_buffer_address(set->buffer), 4, &made));
  CHECK(mr_buffer_bytes(NULL) == 0 && mr_buffer_address(NULL) == 0 && mr_buffer_bytes(gone->buffer) == 0);

  CHECK(mr_host_alloc(set->device, UINT64_MAX, &host) == MR_ERROR_MEMORY && host == NULL);
  CHECK(mr_host_alloc(set->device, (uint64_t)1 << 62, &host) == MR_ERROR_MEMORY);
  REFUSED(mr_host_alloc(set->device, 4, NULL));
  REFUSED(mr_host_alloc(NULL, 4, &host));
  REFUSED(mr_host_alloc(gone->device, 4, &host));
  CHECK(mr_host_alloc(set->device, 64, &host) == MR_OK && mr_host_is_locked(set->device, host, 64) == 1);
  CHECK(mr_host_is_locked(set->device, (char *)host + 60, UINT64_MAX - 8) == 0);
  CHECK(mr_host_is_locked(set->device, host, UINT64_MAX) == 0 && mr_host_is_locked(set->device, NULL, 4) == 0);
  CHECK(mr_host_is_locked(set->device, host, 0) == 0 && mr_host_is_locked(set->device, words, 4) == 0);
  CHECK(mr_host_is_locked(NULL, host, 64) < 0 && mr_host_is_locked(gone->device, host, 64) < 0);
  mr_host_free(set->device, words);                  /* not from mr_host_alloc() */
  CHECK(strlen(mr_error(set->device)) > 0);
  if (other->device != set->device) mr_host_free(other->device, host); /* of another device: it stays */
  mr_host_free(NULL, host);
  mr_host_free(gone->device, host);
  CHECK(mr_host_is_locked(set->device, host, 64) == 1);
  mr_host_free(set->device, host);
  mr_host_free(set->device, host);
  mr_host_free(set->device, NULL);
}

static void streams(const Set *set, const Set *gone, const Set *other) {
  mr_stream *made;
  mr_event *event;
  REFUSED(mr_stream_open(NULL, &made));
  REFUSED(mr_stream_open(gone->device, &made));
  REFUSED(mr_stream_open(set->device, NULL));
  REFUSED(mr_stream_adopt(NULL, words, &made));
  REFUSED(mr_stream_adopt(gone->device, words, &made));
  REFUSED(mr_stream_adopt(set->device, words, NULL));
  REFUSED(mr_stream_adopt(other->device, words, &made)); /* a CPU has no streams of others */
  REFUSED(mr_stream_detach(NULL));
  REFUSED(mr_stream_detach(gone->stream));
  REFUSED(mr_stream_detach(set->stream)); /* not adopted */
  REFUSED(mr_stream_attach(NULL));
  REFUSED(mr_stream_attach(gone->stream));
  CHECK(mr_stream_native(NULL) == NULL && mr_stream_native(gone->stream) == NULL);
  mr_stream_close(NULL);
  mr_stream_close(gone->stream);
  mr_stream_close((mr_stream *)set->device);

  mr_stream *const bad[] = {NULL, gone->stream, (mr_stream *)set->buffer, (mr_stream *)words};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    REFUSED(mr_write(bad[i], set->buffer, 0, words, 4));
    REFUSED(mr_read(bad[i], set->buffer, 0, words, 4));
    REFUSED(mr_copy(bad[i], set->buffer, 0, set->buffer, 8, 4));
    REFUSED(mr_fill(bad[i], set->buffer, 0, 0, 4));
    REFUSED(mr_wait(bad[i]));
    CHECK(mr_is_idle(bad[i]) < 0);
    REFUSED(mr_cancel(bad[i]));
    REFUSED(mr_event_record(set->event, bad[i]));
    REFUSED(mr_stream_follow(bad[i], set->event));
  }
  mr_buffer *const none[] = {NULL, gone->buffer, other->buffer, (mr_buffer *)set->stream};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    REFUSED(mr_write(set->stream, none[i], 0, words, 4));
    REFUSED(mr_read(set->stream, none[i], 0, words, 4));
    REFUSED(mr_copy(set->stream, none[i], 0, set->buffer, 0, 4));
    REFUSED(mr_copy(set->stream, set->buffer, 0, none[i], 0, 4));
    REFUSED(mr_fill(set->stream, none[i], 0, 0, 4));
  }
  const uint64_t outside[][2] = {{sizeof words - 3, 4}, {UINT64_MAX, 4}, {4, UINT64_MAX}, {sizeof words + 1, 0}};
  for (int i = 0; i < 4; i++) {
    REFUSED(mr_write(set->stream, set->buffer, outside[i][0], words, outside[i][1]));
    REFUSED(mr_read(set->stream, set->buffer, outside[i][0], words, outside[i][1]));
    REFUSED(mr_copy(set->stream, set->buffer, outside[i][0], set->ring, 0, outside[i][1]));
    REFUSED(mr_copy(set->stream, set->ring, 0, set->buffer, outside[i][0], outside[i][1]));
    REFUSED(mr_fill(set->stream, set->buffer, 0, outside[i][0], outside[i][1]));
  }
  REFUSED(mr_write(set->stream, set->buffer, 0, NULL, 4));
  REFUSED(mr_read(set->stream, set->buffer, 0, NULL, 4));
  REFUSED(mr_fill(set->stream, set->buffer, 0, 2, 4));
  REFUSED(mr_fill(set->stream, set->buffer, 0, 0, 3));
  REFUSED(mr_copy(set->stream, set->buffer, 0, set->buffer, 4, 8)); /* the ranges overlap */
  CHECK(mr_write(set->stream, set->buffer, 0, NULL, 0) == MR_OK && mr_read(set->stream, set->buffer, 0, NULL, 0) == MR_OK);
  CHECK(mr_copy(set->stream, set->buffer, 0, set->buffer, 0, 0) == MR_OK && mr_fill(set->stream, set->buffer, 0, 0, 0) == MR_OK);

  REFUSED(mr_event_open(NULL, &event));
  REFUSED(mr_event_open(gone->device, &event));
  REFUSED(mr_event_open(set->device, NULL));
  mr_event *const past[] = {NULL, gone->event, (mr_event *)set->stream};
  for (int i = 0; i < 3; i++) {
    REFUSED(mr_event_wait(past[i]));
    CHECK(mr_event_is_done(past[i]) < 0);
    REFUSED(mr_event_record(past[i], set->stream));
    REFUSED(mr_stream_follow(set->stream, past[i]));
  }
  REFUSED(mr_event_record(other->event, set->stream));
  REFUSED(mr_stream_follow(set->stream, other->event));
  CHECK(mr_event_wait(set->event) == MR_OK && mr_event_is_done(set->event) == 1); /* never recorded: nothing to wait for */
  mr_event_close(NULL);
  mr_event_close(gone->event);
}

static void launches(const Set *set, const Set *gone, const Set *other) {
  mr_job *job;
  mr_kernel kernel = probe_kernel;
  kernel.abi++;
  CHECK(mr_job_open(set->device, &kernel, &values, &job) == MR_ERROR_ABI && job == NULL);
  CHECK(strstr(mr_error(set->device), "ABI") != NULL);
  kernel = probe_kernel;
  kernel.variant_count = 0;
  CHECK(mr_job_open(set->device, &kernel, &values, &job) == MR_ERROR_ABSENT);
  kernel = probe_kernel;
  kernel.buffer_count = 1000;
  REFUSED(mr_job_open(set->device, &kernel, &values, &job));
  REFUSED(mr_job_open(set->device, NULL, &values, &job));
  REFUSED(mr_job_open(NULL, &probe_kernel, &values, &job));
  REFUSED(mr_job_open(gone->device, &probe_kernel, &values, &job));
  REFUSED(probe_params_from_job(set->device, NULL, &job));
  REFUSED(probe_params_from_job(set->device, &values, NULL));
  CHECK(mr_job_variant(NULL) == NULL && mr_job_variant(gone->job) == NULL);
  mr_job_close(NULL);
  mr_job_close(gone->job);

  const probe_buffers good = {.words = set->buffer}, none = {NULL}, past = {gone->buffer}, foreign = {other->buffer};
  REFUSED(probe_launch(set->stream, set->job, &none, set->ring, 0, 1));
  REFUSED(probe_launch(set->stream, set->job, &past, set->ring, 0, 1));
  REFUSED(probe_launch(set->stream, set->job, &foreign, set->ring, 0, 1));
  REFUSED(probe_launch(set->stream, set->job, NULL, set->ring, 0, 1));
  REFUSED(probe_launch(set->stream, set->job, &good, NULL, 0, 1));
  REFUSED(probe_launch(set->stream, set->job, &good, gone->ring, 0, 1));
  REFUSED(probe_launch(set->stream, set->job, &good, other->ring, 0, 1));
  REFUSED(probe_launch(set->stream, NULL, &good, set->ring, 0, 1));
  REFUSED(probe_launch(set->stream, gone->job, &good, set->ring, 0, 1));
  REFUSED(probe_launch(set->stream, other->job, &good, set->ring, 0, 1));
  REFUSED(probe_launch(NULL, set->job, &good, set->ring, 0, 1));
  REFUSED(probe_launch(gone->stream, set->job, &good, set->ring, 0, 1));
  REFUSED(probe_launch(other->stream, set->job, &good, set->ring, 0, 1));
  REFUSED(probe_launch(set->stream, set->job, &good, set->ring, 0xffffffff, 2));
  REFUSED(probe_launch(set->stream, set->job, &good, set->ring, 0, UINT64_MAX));
  REFUSED(probe_launch(set->stream, set->job, &good, set->ring, UINT64_MAX, UINT64_MAX));
  CHECK(probe_launch(set->stream, set->job, &good, set->ring, 0, 0) == MR_OK);
  mr_buffer *small;
  CHECK(mr_buffer_alloc(set->device, 8, &small) == MR_OK);
  REFUSED(probe_launch(set->stream, set->job, &good, small, 0, 1)); /* no room for the ring's header */
  mr_buffer_free(small);
  REFUSED(mr_launch_job(set->stream, set->job, NULL));
  mr_launch launch = {.count = 1, .buffers = (mr_buffer *const[]){set->buffer}, .buffer_count = 0, .ring = set->ring};
  REFUSED(mr_launch_job(set->stream, set->job, &launch));
  launch.buffer_count = 2;
  REFUSED(mr_launch_job(set->stream, set->job, &launch));
  launch.buffer_count = 1;
  launch.count_buffer = gone->buffer;
  REFUSED(mr_launch_job(set->stream, set->job, &launch));
  launch.count_buffer = set->buffer;
  const uint64_t outside[] = {WORDS, UINT64_MAX, UINT64_MAX / 4, (uint64_t)1 << 62};
  for (int i = 0; i < 4; i++) {
    launch.count_word = outside[i];
    REFUSED(mr_launch_job(set->stream, set->job, &launch));
  }
}

static int take(void *user, uint64_t start, uint64_t count, const void *bytes) {
  (void)user, (void)start, (void)count, (void)bytes;
  return 0;
}

static void tasks(const Set *set, const Set *gone) {
  mr_device *device = set->device;
  mr_task *task;
  size_t found;
  probe_hit hit;
  const probe_data data = {.words = {words, sizeof words}};
  REFUSED(probe_search_start(NULL, &values, &data, 0, 1, NULL, &task));
  REFUSED(probe_search_start(gone->device, &values, &data, 0, 1, NULL, &task));
  REFUSED(probe_search_start(device, NULL, &data, 0, 1, NULL, &task));
  REFUSED(probe_search_start(device, &values, NULL, 0, 1, NULL, &task));
  REFUSED(probe_search_start(device, &values, &data, 5, UINT64_MAX, NULL, &task));
  REFUSED(probe_search_start(device, &values, &data, 0, 1, NULL, NULL));
  REFUSED(mr_search_start(device, NULL, &values, NULL, 0, 1, NULL, &task));
  REFUSED(mr_search_start(device, &scale_kernel, &values, NULL, 0, 1, NULL, &task)); /* it has no hits */
  const mr_task_options huge = {.ring_hits = UINT64_MAX}, unasked = {.launch_bytes = 16};
  REFUSED(probe_search(device, &values, &data, 0, 1, &huge, &hit, 1, &found));
  REFUSED(probe_search(device, &values, &data, 0, 1, &unasked, &hit, 1, &found));
  REFUSED(probe_search(device, &values, &data, 0, 1000, NULL, NULL, 1, &found));
  REFUSED(probe_search(device, &values, &data, 0, 1000, NULL, &hit, 1, NULL));

  const scale_job scaled = {1, 1};
  const scale_data zeros = {.x = {NULL, 64}};
  float x[2] = {0}, y[1];
  REFUSED(scale_transform(device, &scaled, x, 0, y, 4, 1, NULL));
  REFUSED(scale_transform(device, &scaled, x, UINT64_MAX, y, 4, 1, NULL));
  REFUSED(scale_transform(device, &scaled, x, 8, y, 4, UINT64_MAX, NULL));
  REFUSED(scale_transform(device, NULL, x, 8, y, 4, 1, NULL));
  REFUSED(scale_transform(NULL, &scaled, x, 8, y, 4, 1, NULL));
  CHECK(scale_transform(device, &scaled, NULL, 8, NULL, 4, 0, NULL) == MR_OK); /* no rows */
  const mr_rows twice[] = {{.buffer = 0, .row_bytes = 4}, {.buffer = 0, .row_bytes = 4}}, beyond = {.buffer = 9, .row_bytes = 4};
  REFUSED(mr_transform_start(device, &scale_kernel, &scaled, NULL, NULL, 1, 1, NULL, &task));
  REFUSED(mr_transform_start(device, &scale_kernel, &scaled, NULL, twice, 0, 1, NULL, &task));
  REFUSED(mr_transform_start(device, &scale_kernel, &scaled, NULL, twice, SIZE_MAX, 1, NULL, &task));
  REFUSED(mr_transform_start(device, &scale_kernel, &scaled, NULL, twice, 2, 1, NULL, &task));
  REFUSED(mr_transform_start(device, &scale_kernel, &scaled, NULL, &beyond, 1, 1, NULL, &task));
  REFUSED(scale_generate(device, &scaled, NULL, 0, 1, 4, y, NULL));
  REFUSED(scale_generate(device, &scaled, &zeros, 0, 1, 4, NULL, NULL));
  REFUSED(scale_generate(device, &scaled, &zeros, 0, 1, 0, y, NULL));
  REFUSED(scale_generate(device, &scaled, &zeros, 0, UINT64_MAX, 4, y, NULL));
  CHECK(scale_generate(device, &scaled, &zeros, 0, 0, 4, NULL, NULL) == MR_OK);
  REFUSED(scale_generate_each(device, &scaled, &zeros, 0, 1, 4, NULL, NULL, &task));
  REFUSED(scale_generate_each(device, &scaled, &zeros, 0, 1, 4, take, NULL, NULL));

  /* A task that was closed. */
  const uint32_t *records;
  CHECK(probe_search_start(device, &values, &data, 0, 1000, NULL, &task) == MR_OK && mr_task_wait(task) == MR_OK);
  REFUSED(mr_search_hits(task, NULL, &found));
  REFUSED(mr_search_hits(task, &records, NULL));
  REFUSED(probe_search_hits(task, NULL, 1, &found));
  CHECK(mr_task_progress(task, NULL, NULL) == MR_OK && mr_task_cancel(task) == MR_OK && mr_task_wait(task) == MR_OK);
  mr_task_close(task);
  mr_task *const past[] = {NULL, task, (mr_task *)set->stream};
  uint64_t done, total;
  for (int i = 0; i < 3; i++) {
    REFUSED(mr_task_wait(past[i]));
    REFUSED(mr_task_cancel(past[i]));
    REFUSED(mr_task_progress(past[i], &done, &total));
    REFUSED(mr_search_hits(past[i], &records, &found));
    CHECK(mr_task_is_done(past[i]) < 0);
    if (i < 2) mr_task_close(past[i]);
  }
}

/* A list of devices is not one device. */
static void lists(void) {
  mr_device *list;
  mr_stream *stream;
  mr_buffer *buffer;
  mr_event *event;
  mr_job *job;
  CHECK(mr_open("cpu:1,cpu:1", &list) == MR_OK && mr_member_count(list) == 2);
  REFUSED(mr_stream_open(list, &stream));
  REFUSED(mr_stream_adopt(list, words, &stream));
  REFUSED(mr_buffer_alloc(list, 4, &buffer));
  REFUSED(mr_buffer_adopt(list, (uintptr_t)words, 4, &buffer));
  REFUSED(mr_event_open(list, &event));
  REFUSED(probe_params_from_job(list, &values, &job));
  mr_close(mr_member(list, 0)); /* closed with the list, not alone */
  CHECK(mr_member(list, 0) != NULL && strlen(mr_error(list)) > 0);
  mr_close(list);
}

int main(int count, char **arguments) {
  const char *name = count > 1 ? arguments[1] : "cpu:2";
  fill_words(words);
  const Set set = open_set(name), other = open_set("cpu:1");
  Set gone = open_set(name), closed = open_set(name);
  /* One by one, and with their device. */
  mr_stream_close(gone.stream);
  mr_event_close(gone.event);
  mr_buffer_free(gone.buffer);
  mr_buffer_free(gone.ring);
  mr_job_close(gone.job);
  mr_close(gone.device);
  mr_close(closed.device);
  const Set *const past[] = {&gone, &closed};
  for (int i = 0; i < 2; i++) {
    devices(&set, past[i]);
    memory(&set, past[i], &other);
    streams(&set, past[i], &other);
    launches(&set, past[i], &other);
    tasks(&set, past[i]);
  }
  lists();
  /* What is open still works. */
  probe_hit hit;
  size_t found = 0;
  const probe_data data = {.words = {words, sizeof words}};
  CHECK(probe_search(set.device, &values, &data, 0, 1000, NULL, &hit, 1, &found) == MR_OK);
  CHECK(found == expected_hits(0, 1000, &values, words, &hit, 1));
  CHECK(mr_fill(set.stream, set.buffer, 7, 0, 4) == MR_OK && mr_wait(set.stream) == MR_OK);
  mr_close(set.device);
  mr_close(other.device);
  puts("ok");
  return 0;
}
