#define _GNU_SOURCE
#include "qdp_batch.h"

#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* Parts of samples that are smaller are copied together: a launch of its own costs as much as copying 30 KB. */
#define SMALL_PART ((uint64_t)1 << 15)

struct qdp_batch {
  qdp_engine *engine;
  qdp_batch *next;
  /* Kept for the next batch: device memory, host memory for what is checked, events. */
  mr_buffer *buffers[QDP_BUFFERS];
  uint64_t bytes[QDP_BUFFERS];
  void *host;
  uint64_t host_bytes;
  mr_event *copied, *done;
  /* Of this batch alone. */
  const qdp_plan *plan;
  qdp_block *block;
  uint64_t count, number;
  const void *checks;
  mr_buffer **adopted; /* memory of others, and pieces of our own; samples that are in place come first */
  uint64_t adopted_count, adopted_capacity;
  uint64_t in_place; /* parts whose samples are read where they are */
};

struct qdp_engine {
  pthread_mutex_t lock;
  mr_device *device;
  mr_kind kind;
  qdp_pool *pool;
  qdp_stage *stage;
  mr_stream *copying, *computing;
  mr_event *written; /* the point of a writer's stream where samples are complete */
  qdp_batch *free_batches;
  _Atomic uint64_t submitted;
  uint64_t under_way;
  bool is_closed;
};

int qdp_engine_open(mr_device *device, qdp_pool *pool, int threads, qdp_engine **made) {
  *made = NULL;
  mr_info info;
  int status = mr_device_info(device, &info);
  if (status != MR_OK) return status;
  qdp_engine *engine = calloc(1, sizeof *engine);
  if (engine == NULL) return MR_ERROR_MEMORY;
  pthread_mutex_init(&engine->lock, NULL);
  engine->device = device;
  engine->kind = info.kind;
  engine->pool = pool;
  status = mr_stream_open(device, &engine->copying);
  if (status == MR_OK) status = mr_stream_open(device, &engine->computing);
  if (status == MR_OK) status = mr_event_open(device, &engine->written);
  if (status == MR_OK) status = qdp_stage_open(device, threads, &engine->stage);
  if (status != MR_OK) {
    pthread_mutex_destroy(&engine->lock);
    free(engine);
    return status;
  }
  *made = engine;
  return MR_OK;
}

/* Streams, events and memory of the device are freed with it. */
static void delete_engine(qdp_engine *engine) {
  while (engine->free_batches != NULL) {
    qdp_batch *next = engine->free_batches->next;
    free(engine->free_batches->adopted);
    free(engine->free_batches);
    engine->free_batches = next;
  }
  qdp_stage_close(engine->stage);
  pthread_mutex_destroy(&engine->lock);
  free(engine);
}

void qdp_engine_close(qdp_engine *engine) {
  if (engine == NULL) return;
  pthread_mutex_lock(&engine->lock);
  engine->is_closed = true;
  const bool is_last = engine->under_way == 0;
  pthread_mutex_unlock(&engine->lock);
  if (is_last) delete_engine(engine);
}

int qdp_engine_wait(qdp_engine *engine) {
  const int status = mr_wait(engine->copying);
  return status == MR_OK ? mr_wait(engine->computing) : status;
}

/* ---- memory ---- */

/* Checks that the device has so much memory, after freeing what is kept for the next results. */
static int check_memory(qdp_engine *engine, uint64_t bytes) {
  uint64_t available, total;
  int status = mr_memory(engine->device, &available, &total);
  if (status != MR_OK || bytes <= available) return status;
  qdp_pool_trim(engine->pool);
  status = mr_memory(engine->device, &available, &total);
  return status != MR_OK || bytes <= available ? status : QDP_NO_MEMORY;
}

/* Makes a buffer of the batch at least this large. */
static int need(qdp_batch *batch, int which, uint64_t bytes, qdp_started *started) {
  if (batch->bytes[which] >= bytes) return MR_OK;
  mr_buffer_free(batch->buffers[which]);
  batch->buffers[which] = NULL;
  batch->bytes[which] = 0;
  bytes = (bytes + 15) / 16 * 16;
  started->needed_bytes = bytes;
  int status = check_memory(batch->engine, bytes);
  if (status == MR_OK) status = mr_buffer_alloc(batch->engine->device, bytes, &batch->buffers[which]);
  if (status == MR_OK) batch->bytes[which] = bytes;
  return status;
}

static int need_host(qdp_batch *batch, uint64_t bytes) {
  if (batch->host_bytes >= bytes) return MR_OK;
  mr_host_free(batch->engine->device, batch->host);
  batch->host = NULL;
  batch->host_bytes = 0;
  if (bytes < 4096) bytes = 4096;
  const int status = mr_host_alloc(batch->engine->device, bytes, &batch->host);
  if (status == MR_OK) batch->host_bytes = bytes;
  return status;
}

/* A buffer of memory that is not the batch's own, forgotten when the batch has ended. */
static int adopt(qdp_batch *batch, uint64_t address, uint64_t bytes, mr_buffer **made) {
  if (batch->adopted_count == batch->adopted_capacity) {
    const uint64_t capacity = batch->adopted_capacity * 2 + 8;
    mr_buffer **grown = realloc(batch->adopted, capacity * sizeof *grown);
    if (grown == NULL) return MR_ERROR_MEMORY;
    batch->adopted = grown;
    batch->adopted_capacity = capacity;
  }
  const int status = mr_buffer_adopt(batch->engine->device, address, bytes, made);
  if (status == MR_OK) batch->adopted[batch->adopted_count++] = *made;
  return status;
}

/* ---- samples ---- */

static bool are_large(const qdp_samples *samples) {
  for (uint64_t i = 0; i < samples->parts; i++)
    if (samples->sizes[i] < SMALL_PART) return false;
  return true;
}

/* Kernels load 16 bytes at a time. */
static bool are_aligned(const qdp_samples *samples) {
  for (uint64_t i = 0; i < samples->parts; i++)
    if (samples->addresses[i] % 16 != 0) return false;
  return true;
}

static int write_samples(qdp_engine *engine, mr_buffer *buffer, const qdp_samples *samples, bool is_large) {
  const bool is_direct = engine->kind == MR_CUDA ? samples->is_locked && is_large : samples->parts == 1 || is_large;
  if (!is_direct)
    return qdp_stage_write(engine->stage, engine->copying, buffer, samples->addresses, samples->sizes, samples->parts);
  uint64_t offset = 0;
  for (uint64_t i = 0; i < samples->parts; i++) {
    const void *from = (const void *)(uintptr_t)samples->addresses[i];
    const int status = mr_write(engine->copying, buffer, offset, from, samples->sizes[i]);
    if (status != MR_OK) return status;
    offset += samples->sizes[i];
  }
  return MR_OK;
}

/* Brings the samples to the device, or finds them there. */
static int place_samples(qdp_batch *batch, const qdp_samples *samples, qdp_started *started) {
  qdp_engine *engine = batch->engine;
  const bool is_large = samples->parts == 1 || are_large(samples);
  int status = MR_OK;
  batch->in_place = 0;
  if (samples->is_in_place && (engine->kind != MR_CPU || (is_large && are_aligned(samples)))) {
    if (samples->writer != NULL) status = mr_event_record(engine->written, samples->writer);
    if (status == MR_OK && samples->writer != NULL) status = mr_stream_follow(engine->computing, engine->written);
    for (uint64_t i = 0; i < samples->parts && status == MR_OK; i++) {
      mr_buffer *made;
      status = adopt(batch, samples->addresses[i], samples->sizes[i], &made);
    }
    batch->in_place = samples->parts;
    return status;
  }
  status = need(batch, QDP_X, samples->count * batch->plan->sample_bytes, started);
  if (status == MR_OK) status = write_samples(engine, batch->buffers[QDP_X], samples, is_large);
  if (status == MR_OK) status = mr_event_record(batch->copied, engine->copying);
  return status == MR_OK ? mr_stream_follow(engine->computing, batch->copied) : status;
}

/* ---- launches ---- */

static int launch_steps(qdp_batch *batch, mr_buffer *const *buffers, uint64_t count) {
  const qdp_plan *plan = batch->plan;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const qdp_step *step = &plan->steps[i];
    mr_buffer *bound[QDP_MAX_STEP_BUFFERS];
    for (uint32_t k = 0; k < step->buffer_count; k++) bound[k] = buffers[step->buffers[k]];
    const mr_launch launch = {.count = step->items * count, .buffers = bound, .buffer_count = step->buffer_count};
    const int status = mr_launch_job(batch->engine->computing, step->job, &launch);
    if (status != MR_OK) return status;
  }
  return MR_OK;
}

/* The samples [first, first + count) of a batch, whose samples begin in `x` at sample x_first. */
static int launch_piece(qdp_batch *batch, mr_buffer *const *whole, mr_buffer *x, uint64_t x_first, uint64_t first,
                        uint64_t count) {
  const qdp_plan *plan = batch->plan;
  mr_buffer *buffers[QDP_BUFFERS] = {NULL};
  for (int i = 0; i < QDP_BUFFERS; i++) {
    const uint64_t size = i == QDP_X ? plan->sample_bytes : i == QDP_STATES ? plan->state_bytes : plan->scratch_bytes[i];
    mr_buffer *from = i == QDP_X ? x : whole[i];
    const uint64_t at = i == QDP_X ? first - x_first : first;
    if (size == 0) continue;
    if (i == QDP_X && at == 0) {
      buffers[i] = x;
      continue;
    }
    const int status = adopt(batch, mr_buffer_address(from) + at * size, count * size, &buffers[i]);
    if (status != MR_OK) return status;
  }
  return launch_steps(batch, buffers, count);
}

static int launch_all(qdp_batch *batch, mr_buffer **buffers) {
  const uint64_t parts = batch->in_place > 1 ? batch->in_place : 1, most = batch->plan->max_samples;
  if (batch->in_place > 0) buffers[QDP_X] = batch->adopted[0];
  if (parts == 1 && batch->count <= most) return launch_steps(batch, buffers, batch->count);
  uint64_t first = 0;
  for (uint64_t i = 0; i < parts; i++) {
    mr_buffer *x = batch->in_place > 0 ? batch->adopted[i] : buffers[QDP_X];
    const uint64_t begin = first;
    const uint64_t end = parts == 1 ? batch->count : first + mr_buffer_bytes(x) / batch->plan->sample_bytes;
    for (; first < end; first += first + most < end ? most : end - first) {
      const int status = launch_piece(batch, buffers, x, begin, first, first + most < end ? most : end - first);
      if (status != MR_OK) return status;
    }
  }
  return MR_OK;
}

static int run(qdp_batch *batch, qdp_started *started) {
  qdp_engine *engine = batch->engine;
  const qdp_plan *plan = batch->plan;
  mr_buffer *buffers[QDP_BUFFERS];
  int status = MR_OK;
  for (int i = QDP_VALUES; i < QDP_BUFFERS && status == MR_OK; i++)
    status = need(batch, i, batch->count * plan->scratch_bytes[i], started);
  for (int i = 0; i < QDP_BUFFERS; i++) buffers[i] = batch->buffers[i];
  buffers[QDP_STATES] = qdp_block_buffer(batch->block);
  if (status == MR_OK) status = launch_all(batch, buffers);
  if (status != MR_OK) return status;
  const uint64_t bytes = batch->count * plan->scratch_bytes[plan->checked];
  if (engine->kind == MR_CPU) batch->checks = (const void *)(uintptr_t)mr_buffer_address(buffers[plan->checked]);
  else {
    status = need_host(batch, bytes);
    if (status == MR_OK) status = mr_read(engine->computing, buffers[plan->checked], 0, batch->host, bytes);
    batch->checks = batch->host;
  }
  return status == MR_OK ? mr_event_record(batch->done, engine->computing) : status;
}

/* ---- batches ---- */

static int take_batch(qdp_engine *engine, qdp_batch **made) {
  pthread_mutex_lock(&engine->lock);
  qdp_batch *batch = engine->free_batches;
  if (batch != NULL) engine->free_batches = batch->next;
  engine->under_way++;
  pthread_mutex_unlock(&engine->lock);
  int status = MR_OK;
  if (batch == NULL) {
    batch = calloc(1, sizeof *batch);
    status = batch == NULL ? MR_ERROR_MEMORY : mr_event_open(engine->device, &batch->copied);
    if (status == MR_OK) status = mr_event_open(engine->device, &batch->done);
    if (status != MR_OK) {
      free(batch);
      pthread_mutex_lock(&engine->lock);
      engine->under_way--;
      pthread_mutex_unlock(&engine->lock);
      return status;
    }
    batch->engine = engine;
  }
  *made = batch;
  return status;
}

/* The device is done with the batch: its memory is for the next one. */
static void give_back(qdp_batch *batch) {
  qdp_engine *engine = batch->engine;
  for (uint64_t i = 0; i < batch->adopted_count; i++) mr_buffer_free(batch->adopted[i]);
  batch->adopted_count = 0;
  pthread_mutex_lock(&engine->lock);
  batch->next = engine->free_batches;
  engine->free_batches = batch;
  const bool is_last = --engine->under_way == 0 && engine->is_closed;
  pthread_mutex_unlock(&engine->lock);
  if (is_last) delete_engine(engine);
}

int qdp_submit(qdp_engine *engine, const qdp_plan *plan, const qdp_samples *samples, qdp_started *started) {
  qdp_batch *batch;
  int status = take_batch(engine, &batch);
  if (status != MR_OK) return status;
  batch->plan = plan;
  batch->count = samples->count;
  batch->block = NULL;
  const uint64_t bytes = started->needed_bytes = samples->count * plan->state_bytes;
  if (!qdp_block_is_free(engine->pool, bytes)) status = check_memory(engine, bytes);
  if (status == MR_OK) status = place_samples(batch, samples, started);
  if (status == MR_OK) status = qdp_block_take(engine->pool, bytes, engine->computing, &batch->block);
  if (status == MR_OK) status = run(batch, started);
  if (status != MR_OK) {
    if (batch->block != NULL || batch->in_place > 0) mr_wait(engine->computing);
    if (batch->block != NULL) qdp_block_return(batch->block);
    give_back(batch);
    return status;
  }
  batch->number = ++engine->submitted;
  started->batch = batch;
  started->block = batch->block;
  return MR_OK;
}

static int64_t first_bad_norm(const double *norms, uint64_t count, double min) {
  for (uint64_t i = 0; i < count; i++)
    if (!(norms[i] >= min && norms[i] <= DBL_MAX)) return (int64_t)i;
  return -1;
}

static int64_t first_flag(const uint32_t *flags, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    if (flags[i] != 0) return (int64_t)i;
  return -1;
}

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* 1 if the batch ends within so many microseconds, 0 if not, or a negative status. */
static int ends_within(qdp_batch *batch, double spin_us) {
  const double until = now_us() + spin_us;
  int is_done = mr_event_is_done(batch->done);
  while (is_done == 0 && now_us() < until) is_done = mr_event_is_done(batch->done);
  return is_done;
}

static int64_t checked(qdp_batch *batch) {
  const qdp_plan *plan = batch->plan;
  const int64_t bad = plan->checked == QDP_NORMS ? first_bad_norm(batch->checks, batch->count, plan->min_norm)
                                                 : first_flag(batch->checks, batch->count);
  if (bad >= 0) return bad + 1;
  give_back(batch);
  return 0;
}

int qdp_is_done(qdp_batch *batch) { return mr_event_is_done(batch->done); }

int64_t qdp_finish_soon(qdp_batch *batch, double spin_us) {
  const int is_done = ends_within(batch, spin_us);
  return is_done == 1 ? checked(batch) : is_done == 0 ? QDP_RUNNING : is_done;
}

int64_t qdp_finish(qdp_batch *batch, double spin_us) {
  const bool is_last = batch->number == batch->engine->submitted;
  int status = ends_within(batch, is_last ? spin_us : 0);
  if (status == 0) status = mr_event_wait(batch->done);
  return status < 0 ? status : checked(batch);
}

void qdp_abandon(qdp_batch *batch) {
  mr_event_wait(batch->done);
  qdp_block_return(batch->block);
  give_back(batch);
}

const void *qdp_batch_checks(const qdp_batch *batch) { return batch->checks; }

mr_buffer *qdp_batch_source(const qdp_batch *batch, uint64_t sample, uint64_t *offset) {
  const uint64_t size = batch->plan->sample_bytes;
  *offset = sample * size;
  if (batch->in_place == 0) return batch->buffers[QDP_X];
  for (uint64_t i = 0; i < batch->in_place; i++) {
    const uint64_t bytes = mr_buffer_bytes(batch->adopted[i]);
    if (*offset < bytes) return batch->adopted[i];
    *offset -= bytes;
  }
  return NULL;
}
