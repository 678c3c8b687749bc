/* Shared by these programs: a check that prints its line and the runtime's error. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "scale.h"

#define CHECK(condition)                                                                      \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, mr_error(NULL));    \
      exit(1);                                                                                \
    }                                                                                         \
  } while (0)

/* The kernels of kernels.ts, a second time. probe: an index hits once for each of its lowest bits that is set, if a hash
   of it is small. */
#define WORDS 256

static inline uint32_t mixed(uint32_t index, uint32_t salt, const uint32_t *words) {
  uint32_t x = index * salt ^ words[index & (WORDS - 1)];
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  return x ^ x >> 12;
}

static inline int is_probe_hit(uint64_t index, const probe_job *job, const uint32_t *words) {
  return mixed((uint32_t)index, job->salt, words) < job->limit;
}

static inline void fill_words(uint32_t *words) {
  for (uint32_t i = 0; i < WORDS; i++) words[i] = i * 0x9e3779b9u;
}

/* Hits of a range in order: each hitting index once, and again with value 1 if the index is odd. */
static inline size_t expected_hits(uint64_t start, uint64_t count, const probe_job *job, const uint32_t *words,
                                   probe_hit *hits, size_t capacity) {
  size_t found = 0;
  for (uint64_t at = 0; at < count; at++) {
    const uint64_t i = start + at;
    if (!is_probe_hit(i, job, words)) continue;
    for (uint32_t k = 0; k <= (i & 1); k++, found++)
      if (found < capacity) {
        hits[found].index = i;
        hits[found].value = k;
        hits[found].wide = i * 0x100000001ull;
        hits[found].half[0] = (float)(uint32_t)i;
        hits[found].half[1] = -0.5f;
      }
  }
  return found;
}

static inline int same_hit(const probe_hit *a, const probe_hit *b) {
  return a->index == b->index && a->value == b->value && a->wide == b->wide && a->half[0] == b->half[0] &&
         a->half[1] == b->half[1];
}

#endif
