/* Batches of samples under way: one call copies the samples, launches the kernels and reads what is checked, another one
   waits and checks. A call from Python costs as much as a launch, so the steps of a batch are not calls of their own. */
#ifndef QDP_BATCH_H
#define QDP_BATCH_H

#include "qdp_stage.h"
#include "qdp_tensor.h"

/* The buffers of a batch. */
enum { QDP_X, QDP_STATES, QDP_VALUES, QDP_SUMS, QDP_TOTALS, QDP_NORMS, QDP_INDEX, QDP_FLAGS, QDP_BUFFERS };

#define QDP_MAX_STEPS 8
#define QDP_MAX_STEP_BUFFERS 4

/* One launch of a plan. */
typedef struct qdp_step {
  mr_job *job;
  uint64_t items; /* for each sample */
  uint32_t buffer_count;
  uint32_t buffers[QDP_MAX_STEP_BUFFERS]; /* in the kernel's order */
} qdp_step;

/* How the states of one shape are made. */
typedef struct qdp_plan {
  uint64_t sample_bytes, state_bytes;
  uint64_t max_samples;                /* of one launch */
  uint64_t scratch_bytes[QDP_BUFFERS]; /* for each sample; 0: not used */
  double min_norm;                     /* sums of squares below it are errors */
  uint32_t checked;                    /* QDP_NORMS or QDP_FLAGS */
  uint32_t step_count;
  qdp_step steps[QDP_MAX_STEPS];
} qdp_plan;

/* Where the samples of a batch are: one or several pieces of memory, one after the other. */
typedef struct qdp_samples {
  const uint64_t *addresses, *sizes; /* of each part; whole samples */
  uint64_t parts;
  uint64_t count;       /* samples */
  uint32_t is_in_place; /* 1: kernels can read them where they are */
  uint32_t is_locked;   /* 1: page-locked host memory */
  mr_stream *writer;    /* that writes them, or null if they are complete */
} qdp_samples;

typedef struct qdp_engine qdp_engine;
typedef struct qdp_batch qdp_batch;

typedef struct qdp_started {
  qdp_batch *batch;
  qdp_block *block;      /* of the states */
  uint64_t needed_bytes; /* if there is not enough memory */
} qdp_started;

/* `threads` copy plain memory; see qdp_stage_open(). The pool has the same device. */
int qdp_engine_open(mr_device *device, qdp_pool *pool, int threads, qdp_engine **engine);
/* Batches that were started may still be finished. Call before qdp_pool_close(). */
void qdp_engine_close(qdp_engine *engine);
/* Waits for all that was started. */
int qdp_engine_wait(qdp_engine *engine);

/* Returned by qdp_submit() if the device has not enough memory. Nothing was started. */
#define QDP_NO_MEMORY 1

/* Starts a batch. Samples in plain memory may change when it returns; others when the batch has ended. One call at a
   time. */
int qdp_submit(qdp_engine *engine, const qdp_plan *plan, const qdp_samples *samples, qdp_started *started);

/* Waits for a batch and checks its samples. Returns 0 if all are good: the batch is gone, and the block is the caller's.
   Otherwise 1 + the number of the first bad sample, or a negative mr_status; then the caller looks at the batch and calls
   qdp_abandon(). If it is the last batch, asks for up to spin_us microseconds before it sleeps: waking up takes about as
   long as a small batch, and nothing is queued behind it. */
int64_t qdp_finish(qdp_batch *batch, double spin_us);
/* The same without sleeping: QDP_RUNNING if the batch has not ended after spin_us microseconds. */
#define QDP_RUNNING INT64_MAX
int64_t qdp_finish_soon(qdp_batch *batch, double spin_us);
/* 1 if qdp_finish() returns at once, 0 if not, or a negative mr_status. */
int qdp_is_done(qdp_batch *batch);
/* Waits for a batch and frees it with its states. */
void qdp_abandon(qdp_batch *batch);
/* The sums of squares, or the flags, of the samples of a batch that has ended. */
const void *qdp_batch_checks(const qdp_batch *batch);
/* The buffer of the samples, and where in it a sample begins. */
mr_buffer *qdp_batch_source(const qdp_batch *batch, uint64_t sample, uint64_t *offset);

#endif
