/* Batches in the generator's memory, device queries, and many generators. */
#include "device-memory.h"

#ifndef GENERATORS
#define GENERATORS 200
#endif

int main(void) {
  const int ids[] = {1, 1, 1};
  const char *const sets[] = {"xyz", "xyz", "xyz"};
  wg_handle_t words = wg_create(NULL, 0);
  CHECK(wg_set_charset(words, 1, (const unsigned char *)"xyz", 3) == 0 && wg_set_mask(words, ids, 3) == 0);

  wg_batch_device_t first, second, third;
  CHECK(wg_generate_batch_device(words, 0, 27, &first) == 0);
  CHECK(first.count == 27 && first.word_length == 3 && first.stride == 4 && first.total_bytes == 108);
  CHECK(first.format == WG_FORMAT_NEWLINES && first.data != 0);
  /* Two batches at a time: the first stays valid. */
  CHECK(wg_set_output_format(words, WG_FORMAT_PACKED) == 0);
  CHECK(wg_generate_batch_stream(words, NULL, 9, 9, &second) == 0);
  CHECK(second.stride == 3 && second.total_bytes == 27 && second.data != first.data);
  char expected[4] = "";
  unsigned char *of_first = read_batch(&first), *of_second = read_batch(&second);
  for (uint64_t k = 0; k < 27; k++) {
    naive(sets, 3, k, expected);
    CHECK(memcmp(of_first + k * first.stride, expected, 3) == 0);
    if (k < 9 || k >= 18) continue;
    CHECK(memcmp(of_second + (k - 9) * second.stride, expected, 3) == 0);
  }
  free(of_first);
  free(of_second);
  wg_free_batch_device(words, &second);
  CHECK(second.data == 0 && second.count == 0 && second.total_bytes == 0);
  wg_free_batch_device(words, &second); /* twice is allowed */
  wg_free_batch_device(words, NULL);
  for (int k = 0; k < 1000; k++) CHECK(wg_generate_batch_device(words, 0, 27, &third) == 0 && third.data != 0);
  /* On a queue of the caller, who releases it before the generator. */
  if (device_is("opencl")) {
    void *queue = opencl_queue(third.data);
    unsigned char *bytes = malloc(81);
    CHECK(wg_generate_batch_stream(words, (CUstream)queue, 0, 27, &third) == 0 && third.total_bytes == 81);
    read_opencl(queue, third.data, bytes, 81);
    for (uint64_t k = 0; k < 27; k++) {
      naive(sets, 3, k, expected);
      CHECK(memcmp(bytes + 3 * k, expected, 3) == 0);
    }
    free(bytes);
  }
  wg_destroy(words); /* with a batch that was not freed */

  char name[256];
  int major = 7, minor = 7;
  uint64_t bytes = 0;
  wg_device_properties_t properties;
  CHECK(strlen(wg_get_version()) > 0 && wg_get_device_count() >= 1);
  CHECK(wg_cuda_available() == 1 || !device_is("cuda"));
  CHECK(wg_get_device_info(0, name, &major, &minor, &bytes) == 0 && strlen(name) > 0 && bytes > 0);
  CHECK(device_is("cuda") ? major > 0 : major == 0 && minor == 0);
  CHECK(wg_get_device_properties(0, &properties) == 0 && properties.units >= 1);
  CHECK(strcmp(properties.name, name) == 0 && properties.total_bytes == bytes);

  /* Many generators at the same time. */
  static wg_handle_t many[GENERATORS];
  for (int k = 0; k < GENERATORS; k++) {
    CHECK((many[k] = wg_create(NULL, 0)) != NULL);
    CHECK(wg_set_charset(many[k], 1, LOWER, 1 + (size_t)k % 26) == 0 && wg_set_mask(many[k], ids, 3) == 0);
  }
  for (int k = 0; k < GENERATORS; k++) {
    const uint64_t size = 1 + (uint64_t)k % 26;
    char last[4];
    CHECK(wg_keyspace_size(many[k]) == size * size * size);
    CHECK(wg_generate_batch_host(many[k], size * size * size - 1, 1, last, 4) == 4);
    CHECK(last[0] == 'a' + k % 26 && last[2] == last[0] && last[3] == '\n');
    wg_destroy(many[k]);
  }
  puts("ok");
  return 0;
}
