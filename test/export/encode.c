/* encode DEVICE IN OUT ROWS: reads rows of doubles, writes their states. */
#include <stdio.h>
#include <stdlib.h>

#include "encode.h"

int main(int count, char **arguments) {
  mr_device *device;
  if (count < 5) return 64;
  const size_t rows = strtoull(arguments[4], NULL, 10);
  if (mr_open(arguments[1], &device) != MR_OK) return fprintf(stderr, "%s\n", mr_error(NULL)), 1;
  double *x = malloc(rows * IN_BYTES), *states = malloc(rows * OUT_BYTES);
  FILE *in = fopen(arguments[2], "rb"), *out = fopen(arguments[3], "wb");
  if (x == NULL || states == NULL || in == NULL || out == NULL) return 2;
  if (fread(x, IN_BYTES, rows, in) != rows) return 3;
#ifdef NORMS
  double *norms = malloc(rows * sizeof *norms);
  if (norms == NULL) return 2;
  const int status = encode_transform(device, x, norms, states, rows, NULL);
  free(norms);
#else
  const int status = encode_transform(device, x, states, rows, NULL);
#endif
  if (status != MR_OK) return fprintf(stderr, "%s\n", mr_error(device)), 1;
  if (fwrite(states, OUT_BYTES, rows, out) != rows || fclose(out) != 0) return 4;
  fclose(in);
  free(x);
  free(states);
  mr_close(device);
  return 0;
}
