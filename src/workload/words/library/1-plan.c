/* Errors, the clock, and the tables of a mask. */
#include "internal.h"

static _Thread_local char error_text[512];

__attribute__((format(printf, 2, 3))) static int32_t fail(int32_t code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error_text, sizeof error_text, format, list);
  va_end(list);
  return code;
}

static int32_t succeed(void) {
  error_text[0] = 0;
  return wg_WG_SUCCESS;
}

/* Turns a failed call of the runtime into a code, with its text. */
static int32_t fail_runtime(int status) {
  const int32_t code = status == MR_ERROR_MEMORY     ? wg_WG_ERROR_OUT_OF_MEMORY
                       : status == MR_ERROR_ARGUMENT ? wg_WG_ERROR_INVALID_PARAM
                                                     : wg_WG_ERROR_CUDA;
  return fail(code, "%s", mr_error(NULL));
}

static int32_t checked(int status) { return status == MR_OK ? wg_WG_SUCCESS : fail_runtime(status); }

static void *allocate(size_t count, size_t size) {
  void *memory = MR_FAULT("calloc") ? NULL : calloc(count, size);
  if (memory == NULL) fail(wg_WG_ERROR_OUT_OF_MEMORY, "no memory for %zu bytes on the host", count * size);
  return memory;
}

/* Seconds. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint32_t gcd(uint32_t a, uint32_t b) { return b == 0 ? a : gcd(b, a % b); }

/* The kernel divides by a multiplication: n / size = (2n * magic) >> 32 >> shift for n below 2^31. */
static void set_divisor(uint32_t divisor[3], uint32_t size) {
  uint32_t shift = 0;
  while ((1u << shift) < size) shift++;
  divisor[0] = size;
  divisor[1] = (uint32_t)((((uint64_t)1 << (31 + shift)) + size - 1) / size);
  divisor[2] = shift;
}

static const Charset *charset_at(const Config *config, int position) { return &config->sets[config->mask[position]]; }

/* Writes combinations of `count` positions, of which `first` changes fastest and the others are before it; stride bytes
   each. Wraps around after the last combination. */
static void write_texts(const Config *config, int first, int count, uint64_t from, uint32_t words, uint32_t stride,
                        unsigned char *into) {
  uint32_t digits[MAX_POSITIONS];
  for (int k = 0; k < count; k++) {
    const uint32_t size = charset_at(config, first - k)->size;
    digits[k] = (uint32_t)(from % size);
    from /= size;
  }
  for (uint32_t word = 0; word < words; word++, into += stride) {
    for (int k = 0; k < count; k++) into[first - k] = charset_at(config, first - k)->bytes[digits[k]];
    for (int k = 0; k < count && ++digits[k] == charset_at(config, first - k)->size; k++) digits[k] = 0;
  }
}

/* A row: one quad for each offset in a word at which a quad can begin. */
static int32_t write_rows(const Config *config, int first, int count, uint64_t from, uint32_t rows,
                          unsigned char *into) {
  const Plan *plan = &config->plan;
  const uint32_t stride = plan->stride, step = gcd(16, stride);
  unsigned char *texts = allocate(rows, stride);
  if (texts == NULL) return wg_WG_ERROR_OUT_OF_MEMORY;
  write_texts(config, first, count, from, rows, stride, texts);
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
  return wg_WG_SUCCESS;
}

/* The period repeated until it ends on a quad. */
static uint64_t block_bytes(uint32_t words, uint32_t stride) {
  const uint64_t bytes = (uint64_t)words * stride;
  return bytes * (16 / gcd(16, (uint32_t)(bytes % 16)));
}

static void drop_plan(Config *config) {
  free(config->plan.near);
  free(config->plan.middle);
  memset(&config->plan, 0, sizeof config->plan);
}

#define TARGET_BLOCK_BYTES 32768   /* fits into a core's L1 cache */
#define MIN_FAR_PERIOD 262144      /* words: the host can then write far rows fast enough */
#define MAX_MIDDLE_BYTES 2097152

/* Divides the positions into near, middle and far. */
static void split_positions(Config *config) {
  Plan *plan = &config->plan;
  const int last = config->length - 1;
  uint32_t words = charset_at(config, last)->size, rows = 1;
  int near = 1;
  /* A quad may contain the end of one period, not of two, so a period has at least 16 bytes. */
  while (near < config->length &&
         ((uint64_t)words * plan->stride < 16 ||
          block_bytes(words * charset_at(config, last - near)->size, plan->stride) <= TARGET_BLOCK_BYTES))
    words *= charset_at(config, last - near++)->size;
  int end = near;
  while (end < config->length && (uint64_t)words * rows < MIN_FAR_PERIOD &&
         (uint64_t)rows * charset_at(config, last - end)->size * plan->row_bytes <= MAX_MIDDLE_BYTES)
    rows *= charset_at(config, last - end++)->size;
  plan->period = words;
  plan->block = (uint32_t)(block_bytes(words, plan->stride) / plan->stride);
  plan->rows = rows;
  plan->near_count = near;
  plan->middle_count = end - near;
}

/* The block, rotated to begin at each of its first `align` words. */
static int32_t write_near(Config *config) {
  Plan *plan = &config->plan;
  const uint32_t stride = plan->stride;
  const size_t bytes = (size_t)plan->block * stride;
  unsigned char *block = allocate(plan->block, stride);
  if (block == NULL) return wg_WG_ERROR_OUT_OF_MEMORY;
  write_texts(config, config->length - 1, plan->near_count, 0, plan->block, stride, block);
  if (config->format == wg_WG_FORMAT_NEWLINES)
    for (size_t at = stride - 1; at < bytes; at += stride) block[at] = '\n';
  for (uint32_t word = 0; word < plan->align; word++) {
    const size_t from = (size_t)word * stride;
    memcpy(plan->near + word * bytes, block + from, bytes - from);
    memcpy(plan->near + (word + 1) * bytes - from, block, from);
  }
  free(block);
  return wg_WG_SUCCESS;
}

static uint32_t stride_of(const Config *config) {
  return (uint32_t)config->length + (config->format != wg_WG_FORMAT_PACKED);
}

/* Makes the tables if the mask, a charset or the format has changed. */
static int32_t make_plan(Config *config) {
  Plan *plan = &config->plan;
  if (plan->stride != 0) return wg_WG_SUCCESS;
  const uint32_t stride = stride_of(config);
  plan->stride = stride;
  plan->align = 16 / gcd(16, stride);
  plan->phases = stride / gcd(16, stride);
  plan->row_bytes = plan->phases * 16;
  split_positions(config);
  const uint64_t bytes = (uint64_t)plan->block * stride;
  plan->near_bytes = bytes * plan->align;
  plan->middle_bytes = (uint64_t)plan->rows * plan->row_bytes;
  plan->near = allocate(plan->align, (size_t)bytes);
  plan->middle = allocate(plan->rows, plan->row_bytes);
  int32_t code = plan->near == NULL || plan->middle == NULL ? wg_WG_ERROR_OUT_OF_MEMORY : write_near(config);
  if (code == wg_WG_SUCCESS)
    code = write_rows(config, config->length - 1 - plan->near_count, plan->middle_count, 0, plan->rows, plan->middle);
  if (code != wg_WG_SUCCESS) {
    drop_plan(config);
    return code;
  }
  set_divisor(plan->job.block, (uint32_t)(bytes / 16));
  set_divisor(plan->job.period, plan->period * stride);
  set_divisor(plan->job.phases, plan->phases);
  set_divisor(plan->job.rows, plan->rows);
  plan->job.periods = plan->block / plan->period;
  plan->job.step = plan->align % plan->phases;
  config->version++;
  return wg_WG_SUCCESS;
}

/* Where a launch of `quads` quads from word `start` on begins, and the far rows that it reads. */
typedef struct Place {
  words_chunk chunk;
  uint64_t far_first, far_count;
} Place;

static Place place_of(const Plan *plan, uint64_t start, uint64_t quads) {
  const uint32_t within = (uint32_t)(start % plan->block), head = within % plan->align;
  const uint64_t periods = (start - within) / plan->period;
  const Place place = {
      .chunk = {.quad = (within - head) * plan->stride / 16,
                .shift = head * plan->stride,
                .block = head * (plan->block * plan->stride / 16),
                .row = (uint32_t)(periods % plan->rows)},
      .far_first = periods / plan->rows,
  };
  /* A quad that ends with its period also reads the next period. */
  const uint64_t bytes = (place.chunk.quad + quads) * 16 + place.chunk.shift;
  const uint64_t passed = place.chunk.row + bytes / ((uint64_t)plan->period * plan->stride) + 1;
  Place whole = place;
  whole.far_count = passed / plan->rows + 1;
  return whole;
}

/* ---- settings ---- */

static int32_t set_charset(Config *config, int32_t id, const void *bytes, uintptr_t length) {
  if (id < 1 || id > 255) return fail(wg_WG_ERROR_INVALID_PARAM, "charset %d: numbers are 1 to 255", (int)id);
  if (bytes == NULL || length == 0)
    return fail(wg_WG_ERROR_INVALID_PARAM, "charset %d: there must be at least one byte", (int)id);
  const unsigned char *from = bytes;
  Charset set = {.size = 0};
  bool seen[256] = {false};
  for (uintptr_t k = 0; k < length; k++) {
    if (seen[from[k]]) continue;
    seen[from[k]] = true;
    set.bytes[set.size++] = from[k];
  }
  config->sets[id] = set;
  drop_plan(config);
  return succeed();
}

static int32_t set_mask(Config *config, const int32_t *ids, int32_t length) {
  if (ids == NULL || length < 1 || length > MAX_POSITIONS)
    return fail(wg_WG_ERROR_INVALID_PARAM, "a mask has 1 to %d positions", MAX_POSITIONS);
  for (int32_t k = 0; k < length; k++)
    if (ids[k] < 1 || ids[k] > 255 || config->sets[ids[k]].size == 0)
      return fail(wg_WG_ERROR_INVALID_PARAM, "position %d of the mask: charset %d is not defined", (int)k, (int)ids[k]);
  for (int32_t k = 0; k < length; k++) config->mask[k] = (uint8_t)ids[k];
  config->length = length;
  drop_plan(config);
  return succeed();
}

static int32_t set_format(Config *config, int32_t format) {
  if (format < wg_WG_FORMAT_NEWLINES || format > wg_WG_FORMAT_PACKED)
    return fail(wg_WG_ERROR_INVALID_PARAM, "format %d: formats are 0, 1 and 2", (int)format);
  if (format != config->format) drop_plan(config);
  config->format = format;
  return succeed();
}

/* The number of words; the largest number, and true in *above, if there are more. */
static uint64_t keyspace_of(const Config *config, bool *above) {
  uint64_t size = config->length == 0 ? 0 : 1;
  *above = false;
  for (int k = 0; k < config->length; k++) {
    if (!__builtin_mul_overflow(size, (uint64_t)charset_at(config, k)->size, &size)) continue;
    *above = true;
    return UINT64_MAX;
  }
  return size;
}

/* Bytes of `count` words; saturates. */
static uint64_t bytes_of(const Config *config, uint64_t count) {
  uint64_t bytes;
  return __builtin_mul_overflow(count, (uint64_t)stride_of(config), &bytes) ? UINT64_MAX : bytes;
}

static int32_t check_configured(const Config *config) {
  return config->length == 0 ? fail(wg_WG_ERROR_NOT_CONFIGURED, "no mask is set") : wg_WG_SUCCESS;
}

/* The words must be in the keyspace, and their last number below 2^64. */
static int32_t check_range(const Config *config, uint64_t start, uint64_t count) {
  bool above;
  const uint64_t size = keyspace_of(config, &above);
  if (above ? count == 0 || start <= UINT64_MAX - (count - 1) : start <= size && count <= size - start)
    return wg_WG_SUCCESS;
  return fail(wg_WG_ERROR_KEYSPACE_OVERFLOW, "%llu words from %llu on are outside the keyspace of %llu%s",
              (unsigned long long)count, (unsigned long long)start, (unsigned long long)size, above ? " and more" : "");
}

/* The checks of a call that writes to host memory. */
static int32_t check_host(const Config *config, uint64_t start, uint64_t count, const void *buffer, uintptr_t capacity) {
  if (buffer == NULL) return fail(wg_WG_ERROR_INVALID_PARAM, "there is no buffer to write to");
  const int32_t code = check_configured(config);
  if (code != wg_WG_SUCCESS) return code;
  const uint64_t bytes = bytes_of(config, count);
  if (bytes > capacity || bytes > INTPTR_MAX)
    return fail(wg_WG_ERROR_BUFFER_TOO_SMALL, "the buffer of %llu bytes is too small: the words have %llu",
                (unsigned long long)capacity, (unsigned long long)bytes);
  return check_range(config, start, count);
}
