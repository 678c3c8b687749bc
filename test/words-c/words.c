/* Words into the caller's memory: layouts, windows, sizes. */
#include "check.h"

#ifndef ROUNDS
#define ROUNDS 400
#endif
/* More than fit in one launch. */
#ifndef MANY
#define MANY 8000000
#endif

static const char lower[] = "abcdefghijklmnopqrstuvwxyz", digits[] = "0123456789";

/* Compares a window of any mask, in any layout, at any address with the definition. Bytes around it must not change. */
static void window(wg_handle_t words, const char *const *sets, int length, int format, uint64_t start, uint64_t count,
                   size_t at) {
  CHECK(wg_set_format(words, format) == 0);
  const size_t stride = (size_t)length + (format != WG_FORMAT_PACKED);
  const size_t bytes = count * stride;
  unsigned char *memory = malloc(bytes + 64);
  memset(memory, 0xee, bytes + 64);
  CHECK(wg_calculate_buffer_size(words, count) == bytes);
  CHECK(wg_generate_batch_host(words, start, count, memory + at, bytes) == (int64_t)bytes);
  for (size_t k = 0; k < at; k++) CHECK(memory[k] == 0xee);
  for (size_t k = at + bytes; k < bytes + 64; k++) CHECK(memory[k] == 0xee);
  char expected[257];
  for (uint64_t k = 0; k < count; k++) {
    naive(sets, length, start + k, expected);
    if (format != WG_FORMAT_PACKED) expected[length] = format == WG_FORMAT_NEWLINES ? '\n' : 0;
    CHECK(memcmp(memory + at + k * stride, expected, stride) == 0);
  }
  free(memory);
}

int main(void) {
  wg_handle_t words = wg_create(NULL, 0);
  CHECK(words != NULL);
  CHECK(wg_keyspace_size(words) == 0 && wg_calculate_buffer_size(words, 5) == 0);

  /* abc, 123: nine words. */
  CHECK(wg_set_charset(words, 1, (const unsigned char *)"abc", 3) == 0);
  CHECK(wg_set_charset(words, 2, (const unsigned char *)"123", 3) == 0);
  const int two[] = {1, 2};
  CHECK(wg_set_mask(words, two, 2) == 0);
  CHECK(wg_keyspace_size(words) == 9);
  char text[64] = "";
  CHECK(wg_generate_batch_host(words, 0, 9, text, sizeof text) == 27);
  CHECK(strncmp(text, "a1\na2\na3\nb1\nb2\nb3\nc1\nc2\nc3\n", 27) == 0);

  /* Duplicate characters count once; redefining a charset changes the keyspace. */
  CHECK(wg_set_charset(words, 2, (const unsigned char *)"xxyx", 4) == 0);
  CHECK(wg_keyspace_size(words) == 6);

  /* Masks of many lengths, windows at many offsets, layouts, addresses. */
  uint32_t state = 1;
  for (int round = 0; round < ROUNDS; round++) {
    const char *sets[24];
    int ids[24];
    state = state * 1664525u + 1013904223u;
    const int length = 1 + (int)((state >> 8) % 24);
    CHECK(wg_set_charset(words, 1, LOWER, 26) == 0 && wg_set_charset(words, 2, DIGITS, 10) == 0);
    CHECK(wg_set_charset(words, 3, (const unsigned char *)"-", 1) == 0);
    for (int k = 0; k < length; k++) {
      state = state * 1664525u + 1013904223u;
      ids[k] = 1 + (int)((state >> 9) % 3);
      sets[k] = ids[k] == 1 ? lower : ids[k] == 2 ? digits : "-";
    }
    CHECK(wg_set_mask(words, ids, length) == 0);
    const uint64_t size = wg_keyspace_size(words);
    state = state * 1664525u + 1013904223u;
    const uint64_t start = (size / 3 * ((state >> 8) % 3)) % size;
    const uint64_t most = size - start < 3000 ? size - start : 3000;
    window(words, sets, length, round % 3, start, 1 + (state >> 8) % most, round % 5 == 0 ? state % 17 : 0);
    window(words, sets, length, round % 3, size - 1, 1, 16);
  }

  /* Far into a keyspace that needs 64 bits, and one that needs more. */
  const char *sets[14];
  int ids[14];
  for (int k = 0; k < 14; k++) sets[k] = lower, ids[k] = 1;
  CHECK(wg_set_mask(words, ids, 13) == 0 && wg_keyspace_size(words) == 2481152873203736576u);
  window(words, sets, 13, WG_FORMAT_PACKED, 2481152873203736576u - 1000, 1000, 0);
  CHECK(wg_set_mask(words, ids, 14) == 0 && wg_keyspace_size(words) == UINT64_MAX);
  CHECK(wg_get_error(words) != NULL); /* saturated, and reported */
  window(words, sets, 14, WG_FORMAT_NEWLINES, UINT64_MAX - 1000, 1000, 3);

  /* More than one launch. */
  CHECK(wg_set_mask(words, ids, 9) == 0);
  window(words, sets, 9, WG_FORMAT_NEWLINES, 12345, MANY, 0);
  wg_destroy(words);
  wg_destroy(NULL);
  puts("ok");
  return 0;
}
