/* Every error, with its code and its text. */
#include "check.h"

static void says(const char *part) {
  const char *text = wg_get_error(NULL);
  CHECK(text != NULL && strstr(text, part) != NULL);
}

int main(void) {
  char memory[64];
  wg_batch_device_t batch;
  uint64_t index;
  const int ids[] = {1, 1};
  const unsigned char ab[] = "ab";
  int dummy = 0;

  CHECK(wg_create(NULL, wg_get_device_count()) == NULL); says("device");
  CHECK(wg_create(NULL, -1) == NULL); says("device -1");
  if (wg_cuda_available() == 0) CHECK(wg_create(&dummy, 0) == NULL); /* a context, and no driver that it could be of */

  /* -1: not a generator. */
  CHECK(wg_set_charset(NULL, 1, ab, 2) == WG_ERROR_INVALID_HANDLE); says("not a generator");
  CHECK(wg_set_mask(NULL, ids, 2) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_set_format(NULL, 0) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_set_output_format(NULL, 0) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_keyspace_size(NULL) == 0 && wg_calculate_buffer_size(NULL, 1) == 0);
  CHECK(wg_generate_batch_host(NULL, 0, 1, memory, 64) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_generate_batch_device(NULL, 0, 1, &batch) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_generate_batch_stream(NULL, NULL, 0, 1, &batch) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_word_to_index(NULL, ab, 2, &index) == WG_ERROR_INVALID_HANDLE);
  wg_free_batch_device(NULL, &batch);

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
  CHECK(wg_set_mask(words, ids, 257) == WG_ERROR_INVALID_PARAM);
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
  CHECK(wg_generate_batch_host(words, 4, 0, memory, 64) == 0); /* an empty range at the end is valid */
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

  /* -1: destroyed, and of the other kind. */
  wg_handle_t gone = words;
  wg_destroy(words);
  wg_destroy(gone);
  CHECK(wg_set_format(gone, 0) == WG_ERROR_INVALID_HANDLE); says("destroyed");
  CHECK(wg_keyspace_size(gone) == 0 && wg_generate_batch_host(gone, 0, 1, memory, 64) == WG_ERROR_INVALID_HANDLE);
  wg_multigpu_handle_t several = wg_multigpu_create();
  CHECK(several != NULL && wg_set_format((wg_handle_t)(void *)several, 0) == WG_ERROR_INVALID_HANDLE);
  wg_multigpu_destroy(several);
  CHECK(wg_multigpu_set_format(several, 0) == WG_ERROR_INVALID_HANDLE);

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
  CHECK(wg_multigpu_set_charset(NULL, 1, ab, 2) == WG_ERROR_INVALID_HANDLE && wg_multigpu_set_mask(NULL, ids, 2) == WG_ERROR_INVALID_HANDLE);
  CHECK(wg_multigpu_set_format(NULL, 0) == WG_ERROR_INVALID_HANDLE && wg_multigpu_get_device_count(NULL) == -1);
  CHECK(wg_multigpu_generate(NULL, 0, 1, memory, 64) == WG_ERROR_INVALID_HANDLE);
  wg_multigpu_destroy(NULL);
  puts("ok");
  return 0;
}
