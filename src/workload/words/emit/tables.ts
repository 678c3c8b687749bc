/**
 * plan.ts in C: the tables of a mask, and the parameters of a launch. kernel.ts defines near, middle and far.
 */
export const tables = `/* A divisor: size, magic, shift. n / size = (2n * magic) >> 32 >> shift for n below 2^31. */
typedef struct { uint32_t w[3]; } divisor_t;

typedef struct {
  uint32_t stride, align, phases, step, row_bytes;
  uint32_t period, block, rows; /* words, words, rows */
  int near_count, middle_count; /* positions, from the last to the first */
  divisor_t block_by, period_by, phases_by, rows_by;
  unsigned char *near, *middle;
} plan_t;

static uint32_t gcd(uint32_t a, uint32_t b) { return b == 0 ? a : gcd(b, a % b); }

static divisor_t divisor(uint32_t size) {
  uint32_t shift = 0;
  while ((1u << shift) < size) shift++;
  uint64_t magic = (((uint64_t)1 << (31 + shift)) + size - 1) / size;
  return (divisor_t){{size, (uint32_t)magic, shift}};
}

/* Combinations of count positions, the one at first changing fastest and the others before it; stride bytes each. */
static void write_texts(const mask_t *mask, int first, int count, uint64_t from, uint32_t words, uint32_t stride,
                        unsigned char *into) {
  uint32_t digits[MOST_POSITIONS];
  for (int k = 0; k < count; k++) {
    const uint32_t size = mask->at[first - k]->size;
    digits[k] = (uint32_t)(from % size);
    from /= size;
  }
  for (uint32_t word = 0; word < words; word++) {
    for (int k = 0; k < count; k++) into[(size_t)word * stride + first - k] = mask->at[first - k]->bytes[digits[k]];
    for (int k = 0; k < count && ++digits[k] == mask->at[first - k]->size; k++) digits[k] = 0;
  }
}

/* A row: one quad for each place in a word where a quad may begin. */
static int write_rows(const mask_t *mask, const plan_t *plan, int first, int count, uint64_t from, uint32_t rows,
                      unsigned char *into) {
  const uint32_t stride = plan->stride, step = gcd(16, stride);
  unsigned char *texts = calloc(rows, stride);
  if (texts == NULL) return WG_OUT_OF_MEMORY;
  write_texts(mask, first, count, from, rows, stride, texts);
  for (uint32_t row = 0; row < rows; row++) {
    for (uint32_t phase = 0; phase < plan->phases; phase++) {
      uint32_t column = phase * step;
      for (int k = 0; k < 16; k++) {
        *into++ = texts[(size_t)row * stride + column];
        column = column + 1 == stride ? 0 : column + 1;
      }
    }
  }
  free(texts);
  return WG_OK;
}

static uint64_t block_bytes(uint32_t words, uint32_t stride) {
  const uint64_t bytes = (uint64_t)words * stride;
  return bytes * (16 / gcd(16, (uint32_t)(bytes % 16 == 0 ? 16 : bytes % 16)));
}

static void free_plan(plan_t *plan) {
  free(plan->near);
  free(plan->middle);
  memset(plan, 0, sizeof *plan);
}

static int make_plan(const mask_t *mask, int format, plan_t *plan) {
  const uint32_t length = (uint32_t)mask->length;
  const uint32_t stride = length + (format != WG_FORMAT_PACKED);
  const int last = mask->length - 1;
  plan->stride = stride;
  plan->align = 16 / gcd(16, stride);
  plan->phases = stride / gcd(16, stride);
  plan->step = plan->align % plan->phases;
  plan->row_bytes = plan->phases * 16;
  uint32_t words = mask->at[last]->size;
  int near = 1;
  while (near < mask->length && ((uint64_t)words * stride < 16 ||
                                 block_bytes(words * mask->at[last - near]->size, stride) <= 32768))
    words *= mask->at[last - near++]->size;
  uint32_t rows = 1;
  int end = near;
  while (end < mask->length && (uint64_t)words * rows < 262144 &&
         (uint64_t)rows * mask->at[last - end]->size * plan->row_bytes <= 2097152)
    rows *= mask->at[last - end++]->size;
  plan->period = words;
  plan->block = (uint32_t)(block_bytes(words, stride) / stride);
  plan->rows = rows;
  plan->near_count = near;
  plan->middle_count = end - near;
  const size_t bytes = (size_t)plan->block * stride;
  unsigned char *block = calloc(plan->block, stride);
  plan->near = malloc(bytes * plan->align);
  plan->middle = malloc((size_t)rows * plan->row_bytes);
  if (block == NULL || plan->near == NULL || plan->middle == NULL) {
    free(block);
    free_plan(plan);
    return WG_OUT_OF_MEMORY;
  }
  write_texts(mask, last, near, 0, plan->block, stride, block);
  if (format == WG_FORMAT_NEWLINES)
    for (uint32_t word = 0; word < plan->block; word++) block[(size_t)word * stride + length] = '\\n';
  for (uint32_t word = 0; word < plan->align; word++) {
    const size_t from = (size_t)word * stride;
    memcpy(plan->near + word * bytes, block + from, bytes - from);
    memcpy(plan->near + (word + 1) * bytes - from, block, from);
  }
  free(block);
  plan->block_by = divisor((uint32_t)(bytes / 16));
  plan->period_by = divisor(plan->period * stride);
  plan->phases_by = divisor(plan->phases);
  plan->rows_by = divisor(rows);
  const int status = write_rows(mask, plan, last - near, plan->middle_count, 0, rows, plan->middle);
  if (status != WG_OK) free_plan(plan);
  return status;
}
`;
