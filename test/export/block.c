/* Reads lines of a header's 76 bytes in hex, a target in hex, a start and a count; prints the nonces of each line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"

static uint32_t word_at(const char *hex) {
  char digits[9] = {0};
  memcpy(digits, hex, 8);
  return (uint32_t)strtoul(digits, NULL, 16);
}

int main(int count, char **arguments) {
  mr_device *device;
  char header[160], target[80];
  unsigned long long start, length;
  if (mr_open(count > 1 ? arguments[1] : NULL, &device) != MR_OK) return fprintf(stderr, "%s\n", mr_error(NULL)), 1;
  while (scanf("%152s %64s %llu %llu", header, target, &start, &length) == 4) {
    block_job job;
    for (int i = 0; i < 19; i++) job.header[i] = word_at(header + 8 * i);
    for (int i = 0; i < 8; i++) job.target[i] = word_at(target + 8 * i);
    block_hit hits[1024];
    size_t found = 0;
    if (block_search(device, &job, start, length, NULL, hits, 1024, &found) != MR_OK)
      return fprintf(stderr, "%s\n", mr_error(device)), 1;
    for (size_t i = 0; i < found; i++) printf("%s%u", i == 0 ? "" : " ", hits[i].nonce);
    putchar('\n');
  }
  mr_close(device);
  return 0;
}
