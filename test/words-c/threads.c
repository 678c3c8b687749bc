/* Threads with several handles each; handles that threads share, and destroy while others use them. */
#include <pthread.h>

#include "check.h"

#ifndef TURNS
#define TURNS 20
#endif
#define THREADS 4

static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
static wg_handle_t shared;

static void compare(wg_handle_t words, int length, uint64_t start, uint64_t count, unsigned char *memory) {
  const char *sets[16];
  char expected[17];
  for (int k = 0; k < length; k++) sets[k] = lower;
  CHECK(wg_generate_batch_host(words, start, count, memory, 17 * 20000) == (intptr_t)(count * ((uint64_t)length + 1)));
  for (uint64_t k = 0; k < count; k += k + 7 < count ? 7 : 1) {
    naive(sets, length, start + k, expected);
    CHECK(memcmp(memory + k * ((uint64_t)length + 1), expected, (size_t)length) == 0);
  }
}

static void *work(void *given) {
  const int number = *(const int *)given;
  unsigned char *memory = malloc(17 * 20000);
  int32_t ids[16];
  for (int k = 0; k < 16; k++) ids[k] = 1;
  for (int turn = 0; turn < TURNS; turn++) {
    wg_handle_t words[2];
    wg_batch_device_t batch;
    for (int k = 0; k < 2; k++) {
      CHECK((words[k] = wg_create(NULL, 0)) != NULL);
      CHECK(wg_set_charset(words[k], 1, lower, 26) == 0 && wg_set_mask(words[k], ids, 6 + number + k) == 0);
    }
    for (int k = 0; k < 2; k++) compare(words[k], 6 + number + k, 1000003u * (uint64_t)turn, 20000, memory);
    for (int k = 0; k < 2; k++) CHECK(wg_generate_batch_device(words[k], 5, 20000, &batch) == 0 && batch.count == 20000);
    /* One handle for all threads: calls run one after the other. */
    const intptr_t bytes = wg_generate_batch_host(shared, 12345, 100, memory, 800);
    if (bytes == 600) CHECK(memcmp(memory, "aasgv\n", 6) == 0);
    else CHECK(bytes == WG_ERROR_INVALID_HANDLE);
    if (turn == TURNS / 2 && number == 0) wg_destroy(shared);
    for (int k = 0; k < 2; k++) wg_destroy(words[k]);
    CHECK(wg_generate_batch_host(words[0], 0, 1, memory, 100) == WG_ERROR_INVALID_HANDLE);
  }
  free(memory);
  return NULL;
}

int main(void) {
  const int32_t ids[] = {1, 1, 1, 1, 1};
  CHECK((shared = wg_create(NULL, 0)) != NULL);
  CHECK(wg_set_charset(shared, 1, lower, 26) == 0 && wg_set_mask(shared, ids, 5) == 0);
  pthread_t threads[THREADS];
  int numbers[THREADS];
  for (int k = 0; k < THREADS; k++) {
    numbers[k] = k;
    CHECK(pthread_create(&threads[k], NULL, work, &numbers[k]) == 0);
  }
  for (int k = 0; k < THREADS; k++) CHECK(pthread_join(threads[k], NULL) == 0);
  puts("ok");
  return 0;
}
