/* Several devices: parts joined in order give the same bytes as one device, for any count. */
#include <pthread.h>

#include "check.h"

static void configure(wg_handle_t one, wg_multigpu_handle_t several, int format) {
  const int ids[] = {1, 1, 1, 1, 2, 2};
  CHECK(wg_set_charset(one, 1, LOWER, 26) == 0 && wg_set_charset(one, 2, DIGITS, 10) == 0);
  CHECK(wg_set_mask(one, ids, 6) == 0 && wg_set_format(one, format) == 0);
  CHECK(wg_multigpu_set_charset(several, 1, LOWER, 26) == 0 && wg_multigpu_set_charset(several, 2, DIGITS, 10) == 0);
  CHECK(wg_multigpu_set_mask(several, ids, 6) == 0 && wg_multigpu_set_format(several, format) == 0);
}

/* Generators of different threads, and their errors, are independent. */
static void *alone(void *given) {
  const int ids[] = {1};
  char byte[2];
  (void)given;
  for (int k = 0; k < 200; k++) {
    wg_handle_t words = wg_create(NULL, 0);
    CHECK(wg_generate_batch_host(words, 0, 1, byte, 2) == WG_ERROR_NOT_CONFIGURED && wg_get_error(words) != NULL);
    CHECK(wg_set_charset(words, 1, LOWER, 26) == 0 && wg_set_mask(words, ids, 1) == 0);
    CHECK(wg_generate_batch_host(words, (uint64_t)k % 26, 1, byte, 2) == 2 && byte[0] == 'a' + k % 26);
    CHECK(wg_get_error(words) == NULL);
    wg_destroy(words);
  }
  return NULL;
}

int main(void) {
  wg_handle_t one = wg_create(NULL, 0);
  wg_multigpu_handle_t several = wg_multigpu_create();
  const int first[] = {0};
  wg_multigpu_handle_t single = wg_multigpu_create_with_devices(first, 1);
  CHECK(several != NULL && single != NULL);
  CHECK(wg_multigpu_get_device_count(several) >= 1 && wg_multigpu_get_device_count(single) == 1);
  char byte[8];
  CHECK(wg_multigpu_generate(several, 0, 1, byte, 8) == WG_ERROR_NOT_CONFIGURED);
  CHECK(wg_multigpu_generate(several, 0, 1, NULL, 8) == WG_ERROR_INVALID_PARAM);

  const size_t room = 7000001;
  unsigned char *expected = malloc(room), *got = malloc(room);
  const uint64_t counts[] = {0, 1, 2, 3, 1000, 1001, 1000000};
  for (int format = 0; format < 3; format++) {
    configure(one, several, format);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
      const int64_t bytes = wg_generate_batch_host(one, 77, counts[k], expected, room);
      memset(got, 0xee, room);
      CHECK(bytes >= 0 && wg_multigpu_generate(several, 77, counts[k], got, (size_t)bytes) == bytes);
      CHECK(memcmp(expected, got, (size_t)bytes) == 0 && got[bytes] == 0xee);
    }
  }
  /* The seed's figure: a million words of four letters and two digits, packed. */
  CHECK(wg_multigpu_generate(several, 0, 1000000, got, room) == 6000000);
  CHECK(wg_multigpu_generate(several, 0, 1000000, got, 5999999) == WG_ERROR_BUFFER_TOO_SMALL);
  CHECK(wg_multigpu_generate(several, 45697600, 1, got, room) == WG_ERROR_KEYSPACE_OVERFLOW);

  pthread_t threads[8];
  for (int k = 0; k < 8; k++) CHECK(pthread_create(&threads[k], NULL, alone, NULL) == 0);
  for (int k = 0; k < 8; k++) pthread_join(threads[k], NULL);
  free(expected);
  free(got);
  wg_multigpu_destroy(several);
  wg_multigpu_destroy(single);
  wg_destroy(one);
  puts("ok");
  return 0;
}
