#define _GNU_SOURCE
#include "qdp_stage.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PIECE ((uint64_t)1 << 20)
#define PIECES 4
/* Starting a thread takes 20 µs, in which one copies 150 KB. */
#define SHARE ((uint64_t)2 << 20)
#define MAX_THREADS 16

/* The page-locked pieces of one thread, used in turns. */
typedef struct Ring {
  char *memory;
  mr_event *sent[PIECES];
  bool is_sent[PIECES];
  uint32_t next;
} Ring;

struct qdp_stage {
  mr_device *device;
  uint64_t threads;
  Ring rings[MAX_THREADS];
};

/* The work of one thread: bytes [begin, end) of all parts. */
typedef struct Share {
  qdp_stage *stage;
  Ring *ring;
  mr_stream *stream;
  mr_buffer *buffer;
  const uint64_t *addresses, *sizes;
  uint64_t begin, end;
  int status;
} Share;

int qdp_stage_open(mr_device *device, int threads, qdp_stage **made) {
  *made = calloc(1, sizeof **made);
  if (*made == NULL) return MR_ERROR_MEMORY;
  (*made)->device = device;
  (*made)->threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : (uint64_t)threads;
  return MR_OK;
}

void qdp_stage_close(qdp_stage *stage) { free(stage); }

static int open_ring(qdp_stage *stage, Ring *ring) {
  void *memory = NULL;
  int status = mr_host_alloc(stage->device, PIECES * PIECE, &memory);
  for (int i = 0; i < PIECES && status == MR_OK; i++) status = mr_event_open(stage->device, &ring->sent[i]);
  if (status == MR_OK) ring->memory = memory;
  return status;
}

static void *copy_share(void *given) {
  Share *share = given;
  Ring *ring = share->ring;
  share->status = ring->memory == NULL ? open_ring(share->stage, ring) : MR_OK;
  uint64_t part = 0, first = 0; /* the part that holds the next byte, and its first byte */
  for (uint64_t at = share->begin; at < share->end && share->status == MR_OK;) {
    const uint32_t which = ring->next;
    ring->next = (which + 1) % PIECES;
    if (ring->is_sent[which]) share->status = mr_event_wait(ring->sent[which]);
    if (share->status != MR_OK) break;
    char *piece = ring->memory + which * PIECE;
    const uint64_t size = share->end - at < PIECE ? share->end - at : PIECE;
    for (uint64_t filled = 0; filled < size;) {
      while (at + filled >= first + share->sizes[part]) first += share->sizes[part++];
      const uint64_t offset = at + filled - first, left = share->sizes[part] - offset;
      const uint64_t bytes = left < size - filled ? left : size - filled;
      memcpy(piece + filled, (const char *)(uintptr_t)share->addresses[part] + offset, bytes);
      filled += bytes;
    }
    share->status = mr_write(share->stream, share->buffer, at, piece, size);
    if (share->status == MR_OK) share->status = mr_event_record(ring->sent[which], share->stream);
    ring->is_sent[which] = share->status == MR_OK;
    at += size;
  }
  return NULL;
}

int qdp_stage_write(qdp_stage *stage, mr_stream *stream, mr_buffer *buffer, const uint64_t *addresses,
                    const uint64_t *sizes, uint64_t count) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; i++) total += sizes[i];
  uint64_t threads = total / SHARE;
  if (threads < 1) threads = 1;
  if (threads > stage->threads) threads = stage->threads;
  const uint64_t each = (total / threads + PIECE - 1) / PIECE * PIECE;
  Share shares[MAX_THREADS];
  pthread_t handles[MAX_THREADS];
  bool is_started[MAX_THREADS] = {false};
  for (uint64_t i = 0; i < threads; i++) {
    const uint64_t begin = i * each < total ? i * each : total;
    const uint64_t end = i + 1 == threads || begin + each > total ? total : begin + each;
    shares[i] = (Share){stage, &stage->rings[i], stream, buffer, addresses, sizes, begin, end, MR_OK};
    /* The caller does the first share, and those for which there is no thread. */
    if (i > 0) is_started[i] = pthread_create(&handles[i], NULL, copy_share, &shares[i]) == 0;
  }
  for (uint64_t i = 0; i < threads; i++)
    if (!is_started[i]) copy_share(&shares[i]);
  int status = MR_OK;
  for (uint64_t i = 0; i < threads; i++) {
    if (is_started[i]) pthread_join(handles[i], NULL);
    if (shares[i].status != MR_OK) status = shares[i].status;
  }
  return status;
}
