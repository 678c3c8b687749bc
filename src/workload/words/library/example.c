/* Usage: example [DEVICE], as in example cuda:0 */
#define _POSIX_C_SOURCE 200112L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "wordlist_generator.h"

static int failed(const char *what, struct wg_WordlistGenerator *words) {
  const char *text = wg_get_error(words);
  fprintf(stderr, "%s: %s\n", what, text == NULL ? "failed" : text);
  wg_destroy(words);
  return 1;
}

int main(int count, char **arguments) {
  if (count > 1) setenv("MILLRACE_DEVICE", arguments[1], 1);
  char name[256];
  int32_t major, minor;
  uint64_t memory;
  if (wg_get_device_info(0, name, &major, &minor, &memory) != wg_WG_SUCCESS) return failed("wg_get_device_info", NULL);
  struct wg_WordlistGenerator *words = wg_create(NULL, 0);
  if (words == NULL) return failed("wg_create", NULL);

  /* Two letters, two digits. */
  const int32_t mask[] = {1, 1, 2, 2};
  if (wg_set_charset(words, 1, "abcdefghijklmnopqrstuvwxyz", 26) != wg_WG_SUCCESS ||
      wg_set_charset(words, 2, "0123456789", 10) != wg_WG_SUCCESS || wg_set_mask(words, mask, 4) != wg_WG_SUCCESS)
    return failed("wg_set_mask", words);
  const uint64_t all = wg_keyspace_size(words);
  printf("%s: %" PRIu64 " words, of which 99 to 101 are\n", name, all);
  char text[3 * 5];
  const intptr_t bytes = wg_generate_batch_host(words, 99, 3, text, sizeof text);
  if (bytes < 0) return failed("wg_generate_batch_host", words);
  fwrite(text, 1, (size_t)bytes, stdout);

  /* All of them, in memory of the device. */
  struct wg_BatchDevice batch;
  if (wg_generate_batch_device(words, 0, all, &batch) != wg_WG_SUCCESS) return failed("wg_generate_batch_device", words);
  printf("%" PRIu64 " words of %zu bytes are on the device\n", batch.count, (size_t)batch.stride);
  wg_destroy(words);
  return 0;
}
