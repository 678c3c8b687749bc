/* Shared by these programs: a check that prints its line, and a naive generator to compare with. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wordlist_generator.h"

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      const char *text = wg_get_error(NULL);                                \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, text ? text : "no error"); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

#define LOWER (const unsigned char *)"abcdefghijklmnopqrstuvwxyz"
#define DIGITS (const unsigned char *)"0123456789"

/* Computes one word by dividing its index. sets: charsets by position. */
static inline void naive(const char *const *sets, int length, uint64_t index, char *word) {
  for (int k = length - 1; k >= 0; k--) {
    const uint64_t size = strlen(sets[k]);
    word[k] = sets[k][index % size];
    index /= size;
  }
}

#endif
