/* Streams, events, buffers and raw launches. */
#include "check.h"

static uint32_t words[WORDS];

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
  CHECK(mr_event_wait(event) == MR_OK && mr_event_is_done(event) == 1);
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

  /* Cancel: the launches queued so far stop, later ones do not. */
  for (int i = 0; i < 4; i++) CHECK(probe_launch(stream, params, &buffers, ring, 0, (uint64_t)1 << 32) == MR_OK);
  CHECK(mr_event_record(event, stream) == MR_OK);
  CHECK(mr_is_idle(stream) == 0 && mr_event_is_done(event) == 0);
  CHECK(mr_cancel(stream) == MR_OK);
  CHECK(mr_wait(stream) == MR_CANCELLED);
  CHECK(mr_event_is_done(event) == 1);
  CHECK(mr_fill(stream, ring, 0, 0, 16) == MR_OK);
  CHECK(probe_launch(stream, params, &buffers, ring, base, 1000) == MR_OK && mr_wait(stream) == MR_OK);

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
