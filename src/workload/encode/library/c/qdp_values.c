#define _GNU_SOURCE
#include "qdp_values.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define MAX_THREADS 16
/* Starting a thread takes 20 µs, in which one copies 150 KB. */
#define MIN_SHARE ((uint64_t)2 << 20)

/* The rows of one thread. */
typedef struct Share {
  const qdp_ramp *ramp;
  char *to;
  uint64_t first, rows;
} Share;

static void *write_share(void *given) {
  const Share *share = given;
  const uint64_t length = share->ramp->length, value_bytes = share->ramp->value_bytes, row_bytes = length * value_bytes;
  for (uint64_t row = 0; row < share->rows; row++) {
    const uint64_t shift = (share->first + row) % length;
    memcpy(share->to + row * row_bytes, (const char *)share->ramp->values + shift * value_bytes, row_bytes);
  }
  return NULL;
}

void qdp_write_rotations(const qdp_ramp *ramp, void *to, uint64_t first, uint64_t rows, int threads) {
  const uint64_t row_bytes = ramp->length * ramp->value_bytes;
  uint64_t count = rows * row_bytes / MIN_SHARE;
  if (count > MAX_THREADS) count = MAX_THREADS;
  if (threads >= 0 && count > (uint64_t)threads) count = (uint64_t)threads;
  if (count < 1) count = 1;
  Share shares[MAX_THREADS];
  pthread_t handles[MAX_THREADS];
  bool is_started[MAX_THREADS] = {false};
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t begin = rows * i / count, end = rows * (i + 1) / count;
    shares[i] = (Share){ramp, (char *)to + begin * row_bytes, first + begin, end - begin};
    /* The caller does the first share, and those for which there is no thread. */
    if (i > 0) is_started[i] = pthread_create(&handles[i], NULL, write_share, &shares[i]) == 0;
  }
  for (uint64_t i = 0; i < count; i++)
    if (!is_started[i]) write_share(&shares[i]);
  for (uint64_t i = 0; i < count; i++)
    if (is_started[i]) pthread_join(handles[i], NULL);
}

uint64_t qdp_narrow(const double *values, float *to, uint64_t count) {
  uint64_t lost = 0;
  for (uint64_t i = 0; i < count; i++) {
    to[i] = (float)values[i];
    lost += isinf(to[i]) && !isinf(values[i]);
  }
  return lost;
}

int64_t qdp_first_above(const double *values, uint64_t count, double limit) {
  for (uint64_t i = 0; i < count; i++)
    if (values[i] > limit) return (int64_t)i;
  return -1;
}
