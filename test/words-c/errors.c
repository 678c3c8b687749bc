/* Every error, with its code and its text. */
#define _GNU_SOURCE
#include "check.h"

static void says(const char *part) {
  const char *text = wg_get_error(NULL);
  CHECK(text != NULL && strstr(text, part) != NULL);
}

static const unsigned char ab[] = "ab";
static const int ids[] = {1, 1};

/* Every function refuses the handle and leaves the results as they are. */
static void refuses(wg_handle_t bad) {
  char memory[64] = "x";
  uint64_t index = 7;
  wg_batch_device_t batch = {.data = 9};
  CHECK(wg_set_charset(bad, 1, ab, 2) == WG_ERROR_INVALID_HANDLE && wg_get_error(bad) != NULL);
  CHECK(wg_set_mask(bad, ids, 2) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_set_format(bad, 0) == WG_ERROR_INVALID_HANDLE && wg_set_output_format(bad, 0) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_keyspace_size(bad) == 0 && wg_calculate_buffer_size(bad, 1) == 0);
  CHECK(wg_generate_batch_host(bad, 0, 1, memory, 64) == WG_ERROR_INVALID_HANDLE && memory[0] == 'x');
  CHECK(wg_generate_batch_device(bad, 0, 1, &batch) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_generate_batch_stream(bad, NULL, 0, 1, &batch) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_word_to_index(bad, ab, 2, &index) == WG_ERROR_INVALID_HANDLE && index == 7);
  wg_free_batch_device(bad, &batch);
  CHECK(batch.data == 9);
}

static void refuses_several(wg_multigpu_handle_t bad) {
  char memory[64] = "x";
  CHECK(wg_multigpu_set_charset(bad, 1, ab, 2) == WG_ERROR_INVALID_HANDLE && wg_get_error(NULL) != NULL);
  CHECK(wg_multigpu_set_mask(bad, ids, 2) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_multigpu_set_format(bad, 0) == WG_ERROR_INVALID_HANDLE && wg_multigpu_get_device_count(bad) == -1);
  CHECK(wg_multigpu_generate(bad, 0, 1, memory, 64) == WG_ERROR_INVALID_HANDLE && memory[0] == 'x');
}

int main(void) {
  char memory[64];
  wg_batch_device_t batch;
  uint64_t index;
  int dummy = 0;

  CHECK(wg_create(NULL, wg_get_device_count()) == NULL); says("device");
  CHECK(wg_create(NULL, -1) == NULL); says("device -1");
  CHECK(wg_create(NULL, INT32_MAX) == NULL && wg_create(NULL, INT32_MIN) == NULL);
  if (wg_cuda_available() == 0) CHECK(wg_create(&dummy, 0) == NULL); /* a context, and no driver that it could be of */

  /* -1: not a generator. */
  refuses(NULL); says("not a generator");
  refuses_several(NULL); says("not a generator");
  refuses((wg_handle_t)(void *)memory);
  wg_destroy(NULL);
  wg_multigpu_destroy(NULL);

  wg_handle_t words = wg_create(NULL, 0);
  CHECK(words != NULL && wg_get_error(words) == NULL);

  /* -5: no mask yet. -2 comes before it, -6 and -7 after. */
  CHECK(wg_generate_batch_host(words, 0, 1, NULL, 64) == WG_ERROR_INVALID_PARAM); says("buffer");
  CHECK(wg_generate_batch_host(words, 0, 1, memory, 64) == WG_ERROR_NOT_CONFIGURED); says("mask");
  CHECK(wg_generate_batch_device(words, 0, 1, &batch) == WG_ERROR_NOT_CONFIGURED);
  CHECK(wg_word_to_index(words, ab, 2, &index) == WG_ERROR_NOT_CONFIGURED);

  /* -2: charsets, masks, formats, output pointers. */
  CHECK(wg_set_charset(words, 0, ab, 2) == WG_ERROR_INVALID_PARAM && wg_set_charset(words, 256, ab, 2) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_set_charset(words, 1, NULL, 2) == WG_ERROR_INVALID_PARAM && wg_set_charset(words, 1, ab, 0) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_set_mask(words, ids, 2) == WG_ERROR_INVALID_PARAM); says("not defined");
  CHECK(wg_set_charset(words, 1, ab, 2) == WG_SUCCESS && wg_get_error(words) == NULL); /* success clears the text */
  CHECK(wg_set_mask(words, NULL, 2) == WG_ERROR_INVALID_PARAM && wg_set_mask(words, ids, 0) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_set_mask(words, ids, 257) == WG_ERROR_INVALID_PARAM && wg_set_mask(words, ids, -1) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_set_mask(words, ids, INT32_MAX) == WG_ERROR_INVALID_PARAM && wg_set_mask(words, ids, INT32_MIN) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_set_charset(words, INT32_MAX, ab, 2) == WG_ERROR_INVALID_PARAM && wg_set_charset(words, -1, ab, 2) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_set_mask(words, ids, 2) == WG_SUCCESS);
  CHECK(wg_set_format(words, 3) == WG_ERROR_INVALID_PARAM && wg_set_format(words, -1) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_generate_batch_device(words, 0, 1, NULL) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_word_to_index(words, NULL, 2, &index) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_word_to_index(words, ab, 2, NULL) == WG_ERROR_INVALID_PARAM);

  /* -6 and -7. */
  CHECK(wg_generate_batch_host(words, 0, 4, memory, 11) == WG_ERROR_BUFFER_TOO_SMALL); says("too small");
  CHECK(wg_generate_batch_host(words, 0, UINT64_MAX / 2, memory, 64) == WG_ERROR_BUFFER_TOO_SMALL);
  CHECK(wg_generate_batch_host(words, 1, 4, memory, 64) == WG_ERROR_KEYSPACE_OVERFLOW); says("outside");
  CHECK(wg_generate_batch_host(words, UINT64_MAX, 2, memory, 64) == WG_ERROR_KEYSPACE_OVERFLOW);
  CHECK(wg_generate_batch_device(words, 4, 1, &batch) == WG_ERROR_KEYSPACE_OVERFLOW);
  CHECK(wg_generate_batch_device(words, 0, UINT64_MAX, &batch) == WG_ERROR_KEYSPACE_OVERFLOW);
  CHECK(wg_generate_batch_stream(words, NULL, UINT64_MAX, 1, &batch) == WG_ERROR_KEYSPACE_OVERFLOW);
  CHECK(wg_generate_batch_host(words, 4, 0, memory, 64) == 0); /* an empty range at the end is valid */
  CHECK(wg_generate_batch_host(words, 0, 0, memory, 0) == 0 && wg_generate_batch_host(words, 0, 1, memory, 0) == WG_ERROR_BUFFER_TOO_SMALL);
  CHECK(wg_generate_batch_device(words, 0, 0, &batch) == WG_SUCCESS && batch.count == 0 && batch.total_bytes == 0);
  CHECK(wg_calculate_buffer_size(words, UINT64_MAX) == UINTPTR_MAX && wg_calculate_buffer_size(words, 0) == 0);
  CHECK(wg_word_to_index(words, (const unsigned char *)"ac", 2, &index) == WG_ERROR_KEYSPACE_OVERFLOW);
  CHECK(wg_word_to_index(words, ab, 1, &index) == WG_ERROR_KEYSPACE_OVERFLOW);
  CHECK(wg_word_to_index(words, ab, 2, &index) == WG_SUCCESS && index == 1);

  /* -4: more memory than available. */
  int long_mask[60];
  for (int k = 0; k < 60; k++) long_mask[k] = 1;
  CHECK(wg_set_mask(words, long_mask, 60) == WG_SUCCESS && wg_keyspace_size(words) == (uint64_t)1 << 60);
  CHECK(wg_generate_batch_device(words, 0, (uint64_t)1 << 58, &batch) == WG_ERROR_OUT_OF_MEMORY); says("memory");
  CHECK(wg_generate_batch_device(words, 0, 1000, &batch) == WG_SUCCESS && batch.data != 0); /* it still works */
  CHECK(wg_generate_batch_host(words, 0, 1, memory, 64) == 61);

  /* A batch of another generator is not freed. */
  wg_handle_t second = wg_create(NULL, 0);
  wg_batch_device_t copy = batch;
  wg_free_batch_device(second, &copy);
  CHECK(copy.data == 0 && wg_generate_batch_device(words, 0, 1000, &copy) == WG_SUCCESS && copy.data != batch.data);
  wg_destroy(second);

  /* -1: destroyed, or of the other kind. */
  wg_multigpu_handle_t several = wg_multigpu_create();
  CHECK(several != NULL);
  refuses((wg_handle_t)(void *)several);
  refuses_several((wg_multigpu_handle_t)(void *)words);
  wg_destroy((wg_handle_t)(void *)several);
  wg_multigpu_destroy((wg_multigpu_handle_t)(void *)words);
  CHECK(wg_multigpu_get_device_count(several) >= 1 && wg_keyspace_size(words) > 0); /* both are still there */
  wg_destroy(words);
  wg_destroy(words);
  refuses(words); says("destroyed");
  wg_multigpu_destroy(several);
  wg_multigpu_destroy(several);
  refuses_several(several);

  /* Device queries, and several devices. */
  char name[256];
  int major, minor;
  wg_device_properties_t properties;
  CHECK(wg_get_device_info(wg_get_device_count(), name, &major, &minor, &index) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_get_device_info(0, NULL, &major, &minor, &index) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_get_device_info(0, name, NULL, &minor, &index) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_get_device_info(0, name, &major, NULL, &index) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_get_device_info(0, name, &major, &minor, NULL) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_get_device_properties(0, NULL) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_get_device_properties(-1, &properties) == WG_ERROR_INVALID_PARAM);
  const int twice[] = {0, 0}, beyond[] = {100000};
  CHECK(wg_multigpu_create_with_devices(NULL, 1) == NULL && wg_multigpu_create_with_devices(twice, 2) == NULL);
  CHECK(wg_multigpu_create_with_devices(twice, 0) == NULL && wg_multigpu_create_with_devices(beyond, 1) == NULL);
  CHECK(wg_multigpu_create_with_devices(twice, INT32_MIN) == NULL);
  CHECK((several = wg_multigpu_create()) != NULL);
  CHECK(wg_multigpu_generate(several, 0, 1, memory, 64) == WG_ERROR_NOT_CONFIGURED);
  CHECK(wg_multigpu_set_charset(several, 0, ab, 2) == WG_ERROR_INVALID_PARAM && wg_multigpu_set_charset(several, 1, NULL, 2) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_multigpu_set_mask(several, ids, 2) == WG_ERROR_INVALID_PARAM && wg_multigpu_set_mask(several, NULL, 2) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_multigpu_set_format(several, 3) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_multigpu_set_charset(several, 1, ab, 2) == WG_SUCCESS && wg_multigpu_set_mask(several, ids, 2) == WG_SUCCESS);
  CHECK(wg_multigpu_generate(several, 0, 1, NULL, 64) == WG_ERROR_INVALID_PARAM);
  CHECK(wg_multigpu_generate(several, 0, 4, memory, 11) == WG_ERROR_BUFFER_TOO_SMALL);
  CHECK(wg_multigpu_generate(several, 1, 4, memory, 64) == WG_ERROR_KEYSPACE_OVERFLOW);
  CHECK(wg_multigpu_generate(several, 0, UINT64_MAX, memory, UINTPTR_MAX) == WG_ERROR_BUFFER_TOO_SMALL);
  CHECK(wg_multigpu_generate(several, 4, 0, memory, 0) == 0);
  wg_multigpu_destroy(several);

  /* A device that cannot be opened is left out, with a warning; -3 if none is left. */
  CHECK(setenv("MILLRACE_DEVICE", "cpu:1,cuda:99", 1) == 0 && wg_get_device_count() == 2);
  CHECK((several = wg_multigpu_create()) != NULL); says("cuda:99 is left out");
  CHECK(wg_multigpu_get_device_count(several) == 1 && wg_get_error(NULL) == NULL);
  CHECK(wg_multigpu_set_charset(several, 1, ab, 2) == WG_SUCCESS && wg_multigpu_set_mask(several, ids, 2) == WG_SUCCESS);
  CHECK(wg_multigpu_generate(several, 0, 4, memory, 64) == 12 && memcmp(memory, "aa\nab\nba\nbb\n", 12) == 0);
  wg_multigpu_destroy(several);
  CHECK(wg_create(NULL, 1) == NULL); says("cuda");
  const int32_t last[] = {1};
  CHECK(wg_multigpu_create_with_devices(last, 1) == NULL); says("cuda:99");
  CHECK(setenv("MILLRACE_DEVICE", "cuda", 1) == 0);
  if (wg_cuda_available() == 0) {
    CHECK(wg_create(NULL, 0) == NULL && wg_get_device_count() == -1);
    says("driver"); /* the reason, not only the number */
  }
  CHECK(setenv("MILLRACE_DEVICE", "tpu", 1) == 0 && wg_create(NULL, 0) == NULL); says("tpu");
  puts("ok");
  return 0;
}
