/* Makes words from tables in files: words DEVICE FOLDER STRIDE COUNT writes COUNT words of one launch to FOLDER/out.
   words DEVICE FOLDER STRIDE COUNT REPEATS measures instead: the same launch again and again, to page-locked memory and on
   the device alone. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "words.h"

static mr_device *device;

static void check(int status, const char *what) {
  if (status == MR_OK) return;
  fprintf(stderr, "%s: %d: %s\n", what, status, mr_error(device));
  exit(1);
}

static mr_data load(const char *folder, const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) exit(fprintf(stderr, "no %s\n", path));
  fseek(file, 0, SEEK_END);
  const size_t bytes = (size_t)ftell(file);
  rewind(file);
  char *data = malloc(bytes + 1);
  if (data == NULL || fread(data, 1, bytes, file) != bytes) exit(2);
  fclose(file);
  return (mr_data){data, bytes};
}

typedef struct Place {
  mr_data chunk, far;
} Place;

static int64_t fill(void *user, uint64_t start, uint64_t count, void *values, void *data) {
  const Place *place = user;
  (void)start;
  (void)count;
  memcpy(values, place->chunk.bytes, place->chunk.size);
  memcpy(data, place->far.bytes, place->far.size);
  return (int64_t)place->far.size;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Launches on device memory alone, which is how a kernel that follows would take the words. */
static void measure_device(const words_job *job, const Place *place, const words_data *data, uint64_t bytes,
                           int repeats) {
  mr_job *params;
  mr_stream *stream;
  words_buffers buffers;
  check(words_params_from_job(device, job, &params), "params");
  const uint64_t items = bytes / mr_job_variant(params)->item_bytes;
  check(mr_stream_open(device, &stream), "stream");
  check(mr_buffer_alloc(device, data->near.size, &buffers.near), "near");
  check(mr_buffer_alloc(device, data->middle.size, &buffers.middle), "middle");
  check(mr_buffer_alloc(device, place->far.size, &buffers.far), "far");
  check(mr_buffer_alloc(device, bytes + 256, &buffers.out), "out");
  check(mr_write(stream, buffers.near, 0, data->near.bytes, data->near.size), "write");
  check(mr_write(stream, buffers.middle, 0, data->middle.bytes, data->middle.size), "write");
  check(mr_write(stream, buffers.far, 0, place->far.bytes, place->far.size), "write");
  const words_chunk *chunk = place->chunk.bytes;
  check(words_launch(stream, params, chunk, &buffers, 0, items), "launch");
  check(mr_wait(stream), "wait");
  for (int run = 0; run < 3; run++) {
    const double began = now();
    for (int i = 0; i < repeats; i++) check(words_launch(stream, params, chunk, &buffers, 0, items), "launch");
    check(mr_wait(stream), "wait");
    printf("device %.1f GB/s\n", (double)(items * mr_job_variant(params)->item_bytes) * repeats / (now() - began) / 1e9);
  }
}

int main(int count, char **arguments) {
  if (count < 5) return 64;
  const char *folder = arguments[2];
  const uint64_t stride = strtoull(arguments[3], NULL, 10), words = strtoull(arguments[4], NULL, 10);
  const int repeats = count > 5 ? atoi(arguments[5]) : 0;
  if (mr_open(arguments[1], &device) != MR_OK) return fprintf(stderr, "%s\n", mr_error(NULL)), 1;
  Place place = {load(folder, "chunk"), load(folder, "far")};
  const mr_data job = load(folder, "job");
  const words_data data = {.near = load(folder, "near"), .middle = load(folder, "middle")};
  if (job.size != sizeof(words_job) || place.chunk.size != sizeof(words_chunk)) return 3;
  const mr_task_options options = {.chunk = fill, .user = &place, .max_indices = words, .min_indices = words,
                                   .launch_bytes = place.far.size, .launch_buffer = WORDS_FAR};
  const uint64_t all = words * (uint64_t)(repeats > 0 ? repeats : 1);
  void *out;
  check(mr_host_alloc(device, all * stride, &out), "memory");
  for (int run = 0; run < (repeats > 0 ? 5 : 1); run++) {
    const double began = now();
    check(words_generate(device, job.bytes, &data, 0, all, stride, out, &options), "generate");
    if (repeats > 0) printf("host %.2f GB/s\n", (double)(all * stride) / (now() - began) / 1e9);
  }
  if (repeats > 0) measure_device(job.bytes, &place, &data, words * stride, repeats);
  else {
    char path[1024];
    snprintf(path, sizeof path, "%s/out", folder);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(out, 1, all * stride, file) != all * stride || fclose(file) != 0) return 4;
  }
  mr_close(device);
  return 0;
}
