/* Reads lines "FORMAT START COUNT WAY LENGTH HEX…", a charset in hexadecimal for each position, and writes the words. WAY is
   host, device or several. */
#include "device-memory.h"

static uintptr_t from_hex(const char *text, unsigned char *bytes) {
  uintptr_t count = 0;
  for (unsigned value; sscanf(text + 2 * count, "%2x", &value) == 1; count++) bytes[count] = (unsigned char)value;
  return count;
}

int main(void) {
  wg_handle_t one = wg_create(NULL, 0);
  wg_multigpu_handle_t all = wg_multigpu_create();
  CHECK(one != NULL && all != NULL);
  char way[16], hex[600];
  int format, length;
  unsigned long long start, count;
  while (scanf("%d %llu %llu %15s %d", &format, &start, &count, way, &length) == 5) {
    const int is_several = strcmp(way, "several") == 0;
    int32_t ids[256];
    for (int k = 0; k < length; k++) {
      unsigned char bytes[256];
      CHECK(scanf("%599s", hex) == 1);
      const uintptr_t size = from_hex(hex, bytes);
      /* A number for each position, while there are enough: many charsets at a time. */
      ids[k] = 1 + k % 255;
      CHECK((is_several ? wg_multigpu_set_charset(all, ids[k], bytes, size) : wg_set_charset(one, ids[k], bytes, size)) == 0);
    }
    CHECK((is_several ? wg_multigpu_set_mask(all, ids, length) : wg_set_mask(one, ids, length)) == 0);
    CHECK((is_several ? wg_multigpu_set_format(all, format) : wg_set_format(one, format)) == 0);
    const size_t bytes = (size_t)count * ((size_t)length + (format != WG_FORMAT_PACKED));
    unsigned char *words;
    if (strcmp(way, "device") == 0) {
      wg_batch_device_t batch;
      CHECK(wg_generate_batch_device(one, start, count, &batch) == 0 && batch.total_bytes == bytes);
      words = read_batch(&batch);
    } else {
      words = malloc(bytes + 1);
      CHECK((is_several ? wg_multigpu_generate(all, start, count, words, bytes)
                        : wg_generate_batch_host(one, start, count, words, bytes)) == (intptr_t)bytes);
    }
    CHECK(fwrite(words, 1, bytes, stdout) == bytes);
    free(words);
  }
  wg_multigpu_destroy(all);
  wg_destroy(one);
  return 0;
}
