/* Values of samples on the host: synthetic ones, and ones of another precision. */
#ifndef QDP_VALUES_H
#define QDP_VALUES_H

#include <stdint.h>

/* A row that stands twice in memory, so that every rotation of it is one piece. */
typedef struct qdp_ramp {
  const void *values;
  uint64_t length; /* values of the row */
  uint64_t value_bytes;
} qdp_ramp;

/* Writes `rows` rows to `to`: row r begins at value (first + r) % length of the ramp. Up to `threads` threads copy. */
void qdp_write_rotations(const qdp_ramp *ramp, void *to, uint64_t first, uint64_t rows, int threads);

/* Rounds values to float. Returns how many finite ones became infinite. */
uint64_t qdp_narrow(const double *values, float *to, uint64_t count);
/* The first value above the limit; -1 if there is none. */
int64_t qdp_first_above(const double *values, uint64_t count, double limit);

#endif
