/* Streams, events, buffers and raw launches; bad arguments to every function. */
#include "check.h"

static uint32_t words[WORDS];

static void bad_arguments(mr_device *device, mr_stream *stream, mr_buffer *buffer) {
  mr_info info;
  mr_device *other;
  mr_buffer *made;
  mr_stream *opened;
  mr_event *event;
  mr_job *job;
  mr_task *task;
  void *memory;
  uint32_t word;
  static const char *const names[] = {"gpu", "cuda:x", "cpu:0", "cpu:99999", "cpu,,cpu", "opencl:9999999", "cpu:-1", ","};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    CHECK(mr_open(names[i], &other) < 0 && other == NULL);
    CHECK(strlen(mr_error(NULL)) > 0);
  }
  CHECK(mr_open("cpu", NULL) == MR_ERROR_ARGUMENT);
  CHECK(mr_open_cuda(NULL, 99, &other) < 0 && mr_open_cuda(NULL, 0, NULL) == MR_ERROR_ARGUMENT);
  CHECK(mr_probe(NULL, &info) == MR_ERROR_ARGUMENT && mr_probe("cpu", NULL) == MR_ERROR_ARGUMENT);
  CHECK(mr_probe("cpu", &info) == MR_OK && info.units > 0);
  CHECK(mr_device_info(device, NULL) == MR_ERROR_ARGUMENT && mr_device_info(NULL, &info) == MR_ERROR_ARGUMENT);
  CHECK(mr_member_count(NULL) == 0 && mr_member(NULL, 0) == NULL && mr_member(device, 1) == NULL);
  CHECK(mr_member(device, 0) == device && mr_member_count(device) == 1);

  CHECK(mr_buffer_alloc(device, UINT64_MAX, &made) == MR_ERROR_MEMORY && made == NULL);
  CHECK(mr_buffer_alloc(device, (uint64_t)1 << 60, &made) == MR_ERROR_MEMORY);
  CHECK(mr_buffer_alloc(device, 4, NULL) == MR_ERROR_ARGUMENT);
  CHECK(mr_buffer_alloc(NULL, 4, &made) == MR_ERROR_ARGUMENT);
  CHECK(mr_buffer_alloc((mr_device *)stream, 4, &made) == MR_ERROR_ARGUMENT);
  CHECK(mr_buffer_alloc((mr_device *)&info, 4, &made) == MR_ERROR_ARGUMENT);
  CHECK(mr_buffer_adopt(device, 0, 4, &made) == MR_ERROR_ARGUMENT);
  CHECK(mr_buffer_bytes(NULL) == 0 && mr_buffer_address(NULL) == 0);
  CHECK(mr_buffer_alloc(device, 16, &made) == MR_OK);
  mr_buffer_free(made);
  mr_buffer_free(made);
  CHECK(mr_buffer_bytes(made) == 0);
  CHECK(mr_read(stream, made, 0, &word, 4) == MR_ERROR_ARGUMENT);
  CHECK(mr_host_alloc(device, UINT64_MAX, &memory) == MR_ERROR_MEMORY && memory == NULL);
  CHECK(mr_host_alloc(device, 4, NULL) == MR_ERROR_ARGUMENT && mr_host_alloc(NULL, 4, &memory) == MR_ERROR_ARGUMENT);
  mr_host_free(device, words); /* not from mr_host_alloc: an error text, nothing else */
  CHECK(strlen(mr_error(device)) > 0);

  CHECK(mr_write(NULL, buffer, 0, words, 4) == MR_ERROR_ARGUMENT);
  CHECK(mr_write(stream, NULL, 0, words, 4) == MR_ERROR_ARGUMENT);
  CHECK(mr_write(stream, buffer, 0, NULL, 4) == MR_ERROR_ARGUMENT);
  CHECK(mr_write(stream, buffer, sizeof words - 3, words, 4) == MR_ERROR_ARGUMENT);
  CHECK(mr_write(stream, buffer, UINT64_MAX, words, 4) == MR_ERROR_ARGUMENT);
  CHECK(mr_write(stream, buffer, 4, words, UINT64_MAX) == MR_ERROR_ARGUMENT);
  CHECK(mr_read(stream, buffer, 0, NULL, 4) == MR_ERROR_ARGUMENT);
  CHECK(mr_fill(stream, buffer, 0, 2, 4) == MR_ERROR_ARGUMENT && mr_fill(stream, buffer, 0, 0, 3) == MR_ERROR_ARGUMENT);
  CHECK(mr_copy(stream, buffer, 0, buffer, 4, 8) == MR_ERROR_ARGUMENT);
  CHECK(mr_write(stream, buffer, 0, NULL, 0) == MR_OK);
  CHECK(mr_wait(NULL) == MR_ERROR_ARGUMENT && mr_is_idle(NULL) < 0 && mr_cancel(NULL) == MR_ERROR_ARGUMENT);
  CHECK(mr_stream_open(NULL, &opened) == MR_ERROR_ARGUMENT && mr_stream_open(device, NULL) == MR_ERROR_ARGUMENT);
  CHECK(mr_stream_native(NULL) == NULL);
  mr_stream_close((mr_stream *)device);
  CHECK(mr_event_open(NULL, &event) == MR_ERROR_ARGUMENT && mr_event_open(device, NULL) == MR_ERROR_ARGUMENT);
  CHECK(mr_event_wait(NULL) == MR_ERROR_ARGUMENT && mr_event_record(NULL, stream) == MR_ERROR_ARGUMENT);
  CHECK(mr_stream_follow(stream, NULL) == MR_ERROR_ARGUMENT);

  mr_kernel old = probe_kernel;
  const probe_job values = {1, 1};
  old.abi++;
  CHECK(mr_job_open(device, &old, &values, &job) == MR_ERROR_ABI && job == NULL);
  CHECK(strstr(mr_error(device), "ABI") != NULL);
  old = probe_kernel;
  old.variant_count = 0;
  CHECK(mr_job_open(device, &old, &values, &job) == MR_ERROR_ABSENT);
  CHECK(probe_params_from_job(device, NULL, &job) == MR_ERROR_ARGUMENT);
  CHECK(mr_job_open(device, NULL, &values, &job) == MR_ERROR_ARGUMENT);
  CHECK(probe_params_from_job(device, &values, NULL) == MR_ERROR_ARGUMENT);
  CHECK(mr_job_variant(NULL) == NULL);

  CHECK(probe_search_start(NULL, &values, NULL, 0, 1, NULL, &task) == MR_ERROR_ARGUMENT);
  CHECK(probe_search_start(device, NULL, NULL, 0, 1, NULL, &task) == MR_ERROR_ARGUMENT);
  CHECK(probe_search_start(device, &values, NULL, 0, 1, NULL, &task) == MR_ERROR_ARGUMENT && task == NULL);
  const probe_data data = {.words = {words, sizeof words}};
  CHECK(probe_search_start(device, &values, &data, 5, UINT64_MAX, NULL, &task) == MR_ERROR_ARGUMENT);
  CHECK(probe_search_start(device, &values, &data, 0, 1, NULL, NULL) == MR_ERROR_ARGUMENT);
  size_t found;
  probe_hit hit;
  CHECK(probe_search(device, &values, &data, 0, 1000, NULL, NULL, 1, &found) == MR_ERROR_ARGUMENT);
  CHECK(probe_search(device, &values, &data, 0, 1000, NULL, &hit, 1, NULL) == MR_ERROR_ARGUMENT);
  CHECK(mr_search_start(device, &scale_kernel, &values, NULL, 0, 1, NULL, &task) == MR_ERROR_ARGUMENT);
  CHECK(mr_task_wait(NULL) == MR_ERROR_ARGUMENT && mr_task_cancel(NULL) == MR_ERROR_ARGUMENT);
  CHECK(mr_task_is_done(NULL) < 0 && mr_task_progress(NULL, NULL, NULL) == MR_ERROR_ARGUMENT);
  const scale_job scaled = {1, 1};
  float x[2] = {0}, y[1];
  CHECK(scale_transform(device, &scaled, x, 0, y, 4, 1, NULL) == MR_ERROR_ARGUMENT);
  CHECK(scale_transform(device, &scaled, x, 8, y, 4, UINT64_MAX, NULL) == MR_ERROR_ARGUMENT);
  CHECK(scale_transform(device, NULL, x, 8, y, 4, 1, NULL) == MR_ERROR_ARGUMENT);
  CHECK(scale_generate(device, &scaled, NULL, 0, 1, 4, y, NULL) == MR_ERROR_ARGUMENT);
  const scale_data zeros = {.x = {NULL, 64}};
  CHECK(scale_generate(device, &scaled, &zeros, 0, 1, 4, NULL, NULL) == MR_ERROR_ARGUMENT);
  CHECK(scale_generate(device, &scaled, &zeros, 0, 0, 4, NULL, NULL) == MR_OK);
  mr_task_close(NULL);
  mr_job_close(NULL);
  mr_event_close(NULL);
  mr_stream_close(NULL);
  mr_buffer_free(NULL);
  mr_host_free(device, NULL);
  mr_close(NULL);
}

int main(int count, char **arguments) {
  mr_device *device;
  mr_stream *stream, *second;
  mr_buffer *buffer, *ring, *copy;
  mr_event *event;
  mr_job *params;
  CHECK(mr_open(count > 1 ? arguments[1] : "cpu", &device) == MR_OK);
  CHECK(mr_stream_open(device, &stream) == MR_OK && mr_stream_open(device, &second) == MR_OK);
  CHECK(mr_event_open(device, &event) == MR_OK);
  fill_words(words);
  uint32_t *locked;
  enum { HITS = 1000, RING = MR_RING_HEADER + HITS * 6 };
  CHECK(mr_host_alloc(device, RING * 4, (void **)&locked) == MR_OK);
  CHECK(((uintptr_t)locked & 15) == 0);
  CHECK(mr_buffer_alloc(device, sizeof words, &buffer) == MR_OK);
  CHECK(mr_buffer_alloc(device, sizeof words, &copy) == MR_OK);
  CHECK(mr_buffer_alloc(device, RING * 4, &ring) == MR_OK);
  CHECK(mr_buffer_bytes(ring) == RING * 4 && mr_buffer_address(ring) != 0);

  /* Memory is zeroed; fill, copy and parts of buffers. */
  CHECK(mr_read(stream, ring, 0, locked, RING * 4) == MR_OK && mr_wait(stream) == MR_OK);
  for (int i = 0; i < RING; i++) CHECK(locked[i] == 0);
  CHECK(mr_fill(stream, copy, 7, 8, 12) == MR_OK);
  CHECK(mr_copy(stream, copy, 0, buffer, 4, 32) == MR_OK);
  CHECK(mr_read(stream, buffer, 0, locked, 64) == MR_OK && mr_wait(stream) == MR_OK);
  for (uint32_t i = 0; i < 16; i++) CHECK(locked[i] == (i >= 3 && i < 6 ? 7u : 0u));
  CHECK(mr_is_idle(stream) == 1);

  /* One stream writes, another launches after an event. */
  const probe_job job = {.salt = 99, .limit = 1u << 23};
  CHECK(probe_params_from_job(device, &job, &params) == MR_OK && mr_job_variant(params) != NULL);
  memcpy(locked, words, sizeof words);
  CHECK(mr_write(second, buffer, 0, locked, sizeof words) == MR_OK);
  CHECK(mr_event_record(event, second) == MR_OK && mr_stream_follow(stream, event) == MR_OK);
  CHECK(mr_event_wait(event) == MR_OK);
  const probe_buffers buffers = {.words = buffer};
  const uint64_t base = ((uint64_t)5 << 32) + 12345;
  CHECK(mr_fill(stream, ring, 0, 0, 16) == MR_OK);
  CHECK(probe_launch(stream, params, &buffers, ring, base, 100000) == MR_OK);
  CHECK(mr_read(stream, ring, 0, locked, RING * 4) == MR_OK && mr_wait(stream) == MR_OK);
  static probe_hit right[HITS];
  const size_t found = expected_hits(base, 100000, &job, words, right, HITS);
  CHECK(locked[0] == found && found > 100 && found <= HITS);
  for (size_t i = 0; i < found; i++) {
    const uint32_t *record = locked + MR_RING_HEADER + i * 6;
    size_t k = 0;
    while (k < found && (right[k].index != base + record[0] || right[k].value != record[1])) k++;
    CHECK(k < found && right[k].wide == ((uint64_t)record[3] << 32 | record[2]));
  }

  /* Launches that cannot be. */
  const probe_buffers none = {NULL};
  CHECK(probe_launch(stream, params, &none, ring, 0, 1) == MR_ERROR_ARGUMENT);
  CHECK(probe_launch(stream, params, NULL, ring, 0, 1) == MR_ERROR_ARGUMENT);
  CHECK(probe_launch(stream, params, &buffers, NULL, 0, 1) == MR_ERROR_ARGUMENT);
  CHECK(probe_launch(stream, NULL, &buffers, ring, 0, 1) == MR_ERROR_ARGUMENT);
  CHECK(probe_launch(NULL, params, &buffers, ring, 0, 1) == MR_ERROR_ARGUMENT);
  CHECK(probe_launch(stream, params, &buffers, ring, 0xffffffff, 2) == MR_ERROR_ARGUMENT);
  CHECK(probe_launch(stream, params, &buffers, ring, 0, UINT64_MAX) == MR_ERROR_ARGUMENT);
  CHECK(probe_launch(stream, params, &buffers, ring, 0, 0) == MR_OK);
  CHECK(mr_launch_job(stream, params, NULL) == MR_ERROR_ARGUMENT);

  /* Cancel: the launches queued so far stop, later ones do not. */
  for (int i = 0; i < 4; i++) CHECK(probe_launch(stream, params, &buffers, ring, 0, (uint64_t)1 << 32) == MR_OK);
  CHECK(mr_is_idle(stream) == 0);
  CHECK(mr_cancel(stream) == MR_OK);
  CHECK(mr_wait(stream) == MR_CANCELLED);
  CHECK(mr_fill(stream, ring, 0, 0, 16) == MR_OK);
  CHECK(probe_launch(stream, params, &buffers, ring, base, 1000) == MR_OK && mr_wait(stream) == MR_OK);

  bad_arguments(device, stream, buffer);
  mr_device *other;
  CHECK(mr_open("cpu:1", &other) == MR_OK);
  mr_stream *foreign;
  CHECK(mr_stream_open(other, &foreign) == MR_OK);
  CHECK(mr_write(foreign, buffer, 0, words, 4) == MR_ERROR_ARGUMENT);
  CHECK(probe_launch(foreign, params, &buffers, ring, 0, 1) == MR_ERROR_ARGUMENT);
  CHECK(mr_event_record(event, foreign) == MR_ERROR_ARGUMENT);
  mr_close(other);
  CHECK(mr_wait(foreign) == MR_ERROR_ARGUMENT);

  mr_job_close(params);
  mr_buffer_free(copy);
  mr_stream_close(second);
  mr_close(device); /* frees the rest */
  CHECK(mr_wait(stream) == MR_ERROR_ARGUMENT && mr_buffer_bytes(buffer) == 0);
  mr_close(device);
  CHECK(strlen(mr_error(device)) > 0);
  puts("ok");
  return 0;
}
