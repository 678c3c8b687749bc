/* A caller written to the published names alone: all 24 functions, as C and as C++, with and without the CUDA toolkit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wordlist_generator.h"

#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      const char *text = wg_get_error(NULL);                              \
      fprintf(stderr, "%d: %s (%s)\n", __LINE__, #condition, text ? text : "no error"); \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

int main(void) {
  char name[256];
  int32_t major, minor;
  uint64_t memory;
  EXPECT(wg_get_version() != NULL && (wg_cuda_available() == 0 || wg_cuda_available() == 1));
  EXPECT(wg_get_device_count() >= 1);
  EXPECT(wg_get_device_info(0, name, &major, &minor, &memory) == wg_WG_SUCCESS);

  struct wg_WordlistGenerator *generator = wg_create(NULL, 0);
  EXPECT(generator != NULL);
  EXPECT(wg_set_charset(generator, 1, "abcdefghijklmnopqrstuvwxyz", 26) == wg_WG_SUCCESS);
  EXPECT(wg_set_charset(generator, 2, "0123456789", 10) == WG_SUCCESS);
  const int32_t mask[] = {1, 1, 1, 1, 2, 2};
  EXPECT(wg_set_mask(generator, mask, 6) == wg_WG_SUCCESS);
  EXPECT(wg_set_format(generator, wg_WG_FORMAT_PACKED) == wg_WG_SUCCESS);
  EXPECT(wg_keyspace_size(generator) == 45697600);
  const uintptr_t size = wg_calculate_buffer_size(generator, 1000000);
  EXPECT(size == 6000000);
  uint8_t *buffer = (uint8_t *)malloc(size);
  EXPECT(wg_generate_batch_host(generator, 0, 1000000, buffer, size) == 6000000);
  EXPECT(memcmp(buffer, "aaaa00aaaa01", 12) == 0 && memcmp(buffer + size - 6, "aoup99", 6) == 0);

  struct wg_BatchDevice batch;
  EXPECT(wg_generate_batch_device(generator, 0, 1000, &batch) == wg_WG_SUCCESS);
  EXPECT(batch.data != 0 && batch.count == 1000 && batch.word_length == 6 && batch.stride == 6);
  EXPECT(batch.total_bytes == 6000 && batch.format == wg_WG_FORMAT_PACKED);
  wg_free_batch_device(generator, &batch);
  EXPECT(batch.data == 0 && batch.count == 0 && batch.total_bytes == 0);
  CUstream stream = NULL;
  wg_batch_device_t other;
  EXPECT(wg_generate_batch_stream(generator, stream, 7, 10, &other) == wg_WG_SUCCESS && other.count == 10);

  EXPECT(wg_set_charset(NULL, 1, "a", 1) == wg_WG_ERROR_INVALID_HANDLE);
  EXPECT(wg_set_format(generator, 3) == wg_WG_ERROR_INVALID_PARAM && wg_get_error(generator) != NULL);
  EXPECT(wg_generate_batch_host(generator, 0, 10, buffer, 59) == wg_WG_ERROR_BUFFER_TOO_SMALL);
  EXPECT(wg_generate_batch_host(generator, 45697600, 1, buffer, size) == wg_WG_ERROR_KEYSPACE_OVERFLOW);
  EXPECT(wg_WG_ERROR_CUDA == -3 && wg_WG_ERROR_OUT_OF_MEMORY == -4 && wg_WG_ERROR_NOT_CONFIGURED == -5);
  EXPECT(wg_WG_FORMAT_NEWLINES == 0 && WG_FORMAT_FIXED_WIDTH == 1);
  wg_handle_t older = generator;
  wg_destroy(older);

  struct wg_MultiGpuGenerator *several = wg_multigpu_create();
  EXPECT(several != NULL && wg_multigpu_get_device_count(several) >= 1);
  wg_multigpu_destroy(several);
  const int32_t first[] = {0};
  wg_multigpu_handle_t one = wg_multigpu_create_with_devices(first, 1);
  EXPECT(one != NULL && wg_multigpu_generate(one, 0, 1, buffer, size) == wg_WG_ERROR_NOT_CONFIGURED);
  EXPECT(wg_multigpu_set_charset(one, 9, "xyz", 3) == wg_WG_SUCCESS);
  const int32_t three[] = {9, 9, 9};
  EXPECT(wg_multigpu_set_mask(one, three, 3) == wg_WG_SUCCESS);
  EXPECT(wg_multigpu_set_format(one, wg_WG_FORMAT_NEWLINES) == wg_WG_SUCCESS);
  EXPECT(wg_multigpu_generate(one, 0, 27, buffer, size) == 108 && memcmp(buffer + 104, "zzz\n", 4) == 0);
  wg_multigpu_destroy(one);
  free(buffer);
  puts("ok");
  return 0;
}
