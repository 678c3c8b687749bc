/** The functions of the C library, over the tables and the kernel. */
export const library = `/* Words of one launch: whole items, so that the next launch begins with one. */
#define LAUNCH_BYTES ((uint64_t)1 << 26)
#define ITEM_BYTES ((uint64_t)16 * QUADS)

/* Makes words from start on. out is written in whole items; its last one may be longer than the words. */
static int launch(const mask_t *mask, const plan_t *plan, uint64_t start, uint64_t items, unsigned char *out) {
  const uint64_t quads = items * QUADS;
  const uint32_t within = (uint32_t)(start % plan->block);
  const uint64_t periods = (start - within) / plan->period;
  const uint32_t row = (uint32_t)(periods % plan->rows);
  const uint32_t head = within % plan->align;
  place_t place = {.quad = (within - head) * plan->stride / 16,
                   .shift = head * plan->stride,
                   .block = head * (plan->block * plan->stride / 16),
                   .row = row};
  const uint64_t passed = row + ((place.quad + quads) * 16 + place.shift) / ((uint64_t)plan->period * plan->stride) + 1;
  const uint32_t rows = (uint32_t)(passed / plan->rows) + 1;
  unsigned char *far = malloc((size_t)rows * plan->row_bytes);
  if (far == NULL) return WG_OUT_OF_MEMORY;
  const int gone = plan->near_count + plan->middle_count;
  const int status = write_rows(mask, plan, mask->length - 1 - gone, mask->length - gone, periods / plan->rows, rows, far);
  if (status == WG_OK) {
    uint32_t params[PARAMETERS];
    parameters(plan, &place, params);
    uint32_t control = 0;
    const uint64_t words[] = {(uintptr_t)params,       (uintptr_t)&control, 0, (uintptr_t)plan->near, 0,
                              (uintptr_t)plan->middle, 0, (uintptr_t)far, 0, (uintptr_t)out, 0, 0};
    millrace_run(words, 0, items);
  }
  free(far);
  return status;
}

/* All of them, into memory of any alignment and of no more bytes than they have. */
static int write_words(const mask_t *mask, const plan_t *plan, uint64_t start, uint64_t count, unsigned char *into) {
  /* 512 words are whole items, whatever their length. */
  const uint64_t most = LAUNCH_BYTES / plan->stride / 512 * 512;
  for (uint64_t done = 0; done < count;) {
    const uint64_t words = count - done < most ? count - done : most;
    const uint64_t bytes = words * plan->stride;
    unsigned char *out = into + done * plan->stride;
    const uint64_t whole = ((uintptr_t)out & 15) == 0 ? bytes / ITEM_BYTES : 0;
    int status = whole == 0 ? WG_OK : launch(mask, plan, start + done, whole, out);
    const uint64_t left = bytes - whole * ITEM_BYTES;
    if (status == WG_OK && left > 0) {
      /* A partial item is generated elsewhere, from the last word that begins before it, and copied. */
      const uint64_t skipped = whole * ITEM_BYTES / plan->stride;
      const uint64_t before = whole * ITEM_BYTES - skipped * plan->stride;
      const uint64_t items = (before + left + ITEM_BYTES - 1) / ITEM_BYTES;
      unsigned char *spare = aligned_alloc(16, items * ITEM_BYTES);
      if (spare == NULL) return WG_OUT_OF_MEMORY;
      status = launch(mask, plan, start + done + skipped, items, spare);
      if (status == WG_OK) memcpy(out + whole * ITEM_BYTES, spare + before, left);
      free(spare);
    }
    if (status != WG_OK) return status;
    done += words;
  }
  return WG_OK;
}

struct wg_generator {
  uint32_t mark;
  charset_t sets[256];
  mask_t mask;
  int format;
  plan_t plan; /* stride 0 while there is none */
  unsigned char *ring[2];
  int next;
};

#define MARK 0x77676731u

static _Thread_local char error_text[160];

static int fail(int status, const char *what) {
  snprintf(error_text, sizeof error_text, "%s", what);
  return status;
}

static int succeed(void) {
  error_text[0] = 0;
  return WG_OK;
}

static int known(const struct wg_generator *generator) { return generator != NULL && generator->mark == MARK; }

static int bad_handle(void) { return fail(WG_BAD_HANDLE, "not a generator"); }

/* Saturated; whether it was is told apart. */
static uint64_t keyspace(const mask_t *mask, int *above) {
  uint64_t size = mask->length == 0 ? 0 : 1;
  *above = 0;
  for (int k = 0; k < mask->length; k++) {
    if (__builtin_mul_overflow(size, (uint64_t)mask->at[k]->size, &size)) {
      *above = 1;
      return UINT64_MAX;
    }
  }
  return size;
}

static int ready(struct wg_generator *generator, uint64_t start, uint64_t count) {
  int above;
  const uint64_t size = keyspace(&generator->mask, &above);
  uint64_t end;
  if (__builtin_add_overflow(start, count, &end) || (!above && end > size))
    return fail(WG_OUT_OF_RANGE, "these indices are outside the keyspace");
  if (generator->plan.stride != 0) return WG_OK;
  const int status = make_plan(&generator->mask, generator->format, &generator->plan);
  return status == WG_OK ? status : fail(status, "there is no memory for the mask's tables");
}

static int write_checked(struct wg_generator *generator, uint64_t start, uint64_t count, unsigned char *into) {
  const int status = write_words(&generator->mask, &generator->plan, start, count, into);
  return status == WG_OK ? succeed() : fail(status, "there is no memory for the words");
}

wg_handle_t wg_create(void *context, int device) {
  if (context != NULL || device != 0) {
    fail(WG_BAD_PARAMETER, context != NULL ? "a CPU has no context to adopt" : "there is one device, the CPU: 0");
    return NULL;
  }
  struct wg_generator *generator = calloc(1, sizeof *generator);
  if (generator == NULL) {
    fail(WG_OUT_OF_MEMORY, "there is no memory for a generator");
    return NULL;
  }
  generator->mark = MARK;
  succeed();
  return generator;
}

void wg_destroy(wg_handle_t generator) {
  if (!known(generator)) return;
  free_plan(&generator->plan);
  free(generator->ring[0]);
  free(generator->ring[1]);
  generator->mark = 0;
  free(generator);
}

int wg_set_charset(wg_handle_t generator, int id, const unsigned char *bytes, size_t length) {
  if (!known(generator)) return bad_handle();
  if (id < 1 || id > 255) return fail(WG_BAD_PARAMETER, "a charset has a number from 1 to 255");
  if (bytes == NULL || length == 0) return fail(WG_BAD_PARAMETER, "a charset has at least one byte");
  charset_t *set = &generator->sets[id];
  unsigned char seen[256] = {0};
  set->size = 0;
  for (size_t k = 0; k < length; k++) {
    if (seen[bytes[k]]) continue;
    seen[bytes[k]] = 1;
    set->bytes[set->size++] = bytes[k];
  }
  free_plan(&generator->plan);
  return succeed();
}

int wg_set_mask(wg_handle_t generator, const int *ids, int length) {
  if (!known(generator)) return bad_handle();
  if (ids == NULL || length < 1 || length > MOST_POSITIONS)
    return fail(WG_BAD_PARAMETER, "a mask has 1 to 256 positions");
  for (int k = 0; k < length; k++)
    if (ids[k] < 1 || ids[k] > 255 || generator->sets[ids[k]].size == 0)
      return fail(WG_BAD_PARAMETER, "a charset of the mask is not defined");
  for (int k = 0; k < length; k++) generator->mask.at[k] = &generator->sets[ids[k]];
  generator->mask.length = length;
  free_plan(&generator->plan);
  return succeed();
}

int wg_set_format(wg_handle_t generator, int format) {
  if (!known(generator)) return bad_handle();
  if (format < WG_FORMAT_NEWLINES || format > WG_FORMAT_PACKED) return fail(WG_BAD_PARAMETER, "a format is 0, 1 or 2");
  generator->format = format;
  free_plan(&generator->plan);
  return succeed();
}

int wg_set_output_format(wg_handle_t generator, int format) { return wg_set_format(generator, format); }

uint64_t wg_keyspace_size(wg_handle_t generator) {
  if (!known(generator)) return bad_handle(), 0;
  int above;
  const uint64_t size = keyspace(&generator->mask, &above);
  if (above) fail(WG_OUT_OF_RANGE, "the keyspace has 2^64 words or more");
  else succeed();
  return size;
}

static uint32_t stride_of(const struct wg_generator *generator) {
  return (uint32_t)generator->mask.length + (generator->format != WG_FORMAT_PACKED);
}

uint64_t wg_calculate_buffer_size(wg_handle_t generator, uint64_t count) {
  if (!known(generator)) return bad_handle(), 0;
  succeed();
  if (generator->mask.length == 0) return 0;
  uint64_t bytes;
  return __builtin_mul_overflow(count, (uint64_t)stride_of(generator), &bytes) ? UINT64_MAX : bytes;
}

const char *wg_get_error(wg_handle_t generator) {
  (void)generator;
  return error_text[0] == 0 ? NULL : error_text;
}

int64_t wg_generate_batch_host(wg_handle_t generator, uint64_t start, uint64_t count, void *buffer, size_t capacity) {
  if (!known(generator)) return bad_handle();
  if (buffer == NULL) return fail(WG_BAD_PARAMETER, "there is no buffer");
  if (generator->mask.length == 0) return fail(WG_NOT_CONFIGURED, "there is no mask");
  uint64_t bytes;
  if (__builtin_mul_overflow(count, (uint64_t)stride_of(generator), &bytes) || bytes > capacity)
    return fail(WG_BUFFER_TOO_SMALL, "the buffer is too small");
  int status = ready(generator, start, count);
  if (status == WG_OK) status = write_checked(generator, start, count, buffer);
  return status == WG_OK ? (int64_t)bytes : status;
}

int wg_generate_batch_device(wg_handle_t generator, uint64_t start, uint64_t count, wg_batch_device_t *batch) {
  if (!known(generator)) return bad_handle();
  if (batch == NULL) return fail(WG_BAD_PARAMETER, "there is no batch to fill in");
  if (generator->mask.length == 0) return fail(WG_NOT_CONFIGURED, "there is no mask");
  int status = ready(generator, start, count);
  if (status != WG_OK) return status;
  uint64_t bytes;
  if (__builtin_mul_overflow(count, (uint64_t)stride_of(generator), &bytes) || bytes > SIZE_MAX - ITEM_BYTES)
    return fail(WG_OUT_OF_MEMORY, "there is no memory for the words");
  unsigned char **place = &generator->ring[generator->next];
  free(*place);
  *place = aligned_alloc(16, (bytes + ITEM_BYTES) / ITEM_BYTES * ITEM_BYTES);
  if (*place == NULL) return fail(WG_OUT_OF_MEMORY, "there is no memory for the words");
  generator->next ^= 1;
  status = write_checked(generator, start, count, *place);
  if (status != WG_OK) return status;
  *batch = (wg_batch_device_t){.address = (uintptr_t)*place,
                               .word_count = count,
                               .word_length = (uint32_t)generator->mask.length,
                               .stride = stride_of(generator),
                               .total_bytes = bytes,
                               .format = generator->format};
  return WG_OK;
}

void wg_free_batch_device(wg_handle_t generator, wg_batch_device_t *batch) {
  if (!known(generator) || batch == NULL || batch->address == 0) return;
  for (int k = 0; k < 2; k++) {
    if ((uintptr_t)generator->ring[k] != batch->address) continue;
    free(generator->ring[k]);
    generator->ring[k] = NULL;
  }
  batch->address = 0;
  batch->word_count = 0;
  batch->total_bytes = 0;
}

int wg_generate_batch_stream(wg_handle_t generator, void *stream, uint64_t start, uint64_t count,
                             wg_batch_device_t *batch) {
  (void)stream;
  return wg_generate_batch_device(generator, start, count, batch);
}

const char *wg_get_version(void) { return VERSION; }

int wg_cuda_available(void) { return 0; }

static int processors(void) {
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : (int)count;
}

int wg_get_device_count(void) { return 1; }

int wg_get_device_properties(int device, wg_device_properties_t *properties) {
  if (properties == NULL) return fail(WG_BAD_PARAMETER, "there are no properties to fill in");
  if (device != 0) return fail(WG_BAD_PARAMETER, "there is one device, the CPU: 0");
  memset(properties, 0, sizeof *properties);
  snprintf(properties->name, sizeof properties->name, "CPU, %d threads", processors());
  properties->total_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE);
  properties->threads = processors();
  return succeed();
}

int wg_get_device_info(int device, char name[256], int *major, int *minor, uint64_t *total_bytes) {
  if (name == NULL || major == NULL || minor == NULL || total_bytes == NULL)
    return fail(WG_BAD_PARAMETER, "each of the four has a place to be written to");
  wg_device_properties_t properties;
  const int status = wg_get_device_properties(device, &properties);
  if (status != WG_OK) return status;
  memcpy(name, properties.name, 256);
  *major = properties.major;
  *minor = properties.minor;
  *total_bytes = properties.total_bytes;
  return WG_OK;
}

int wg_word_to_index(wg_handle_t generator, const unsigned char *word, size_t length, uint64_t *index) {
  if (!known(generator)) return bad_handle();
  if (word == NULL || index == NULL) return fail(WG_BAD_PARAMETER, "a word and a place for its index are needed");
  const mask_t *mask = &generator->mask;
  if (mask->length == 0) return fail(WG_NOT_CONFIGURED, "there is no mask");
  uint64_t sum = 0;
  int missing = length != (size_t)mask->length;
  for (int k = 0; !missing && k < mask->length; k++) {
    const charset_t *set = mask->at[k];
    const unsigned char *found = memchr(set->bytes, word[k], set->size);
    missing = found == NULL || __builtin_mul_overflow(sum, (uint64_t)set->size, &sum) ||
              __builtin_add_overflow(sum, (uint64_t)(found - set->bytes), &sum);
  }
  if (missing) return fail(WG_OUT_OF_RANGE, "this word is not in the keyspace, or its index has more than 64 bits");
  *index = sum;
  return succeed();
}

struct wg_several {
  uint32_t mark;
  int devices;
  struct wg_generator *generator;
};

#define SEVERAL_MARK 0x77676d31u

typedef struct {
  struct wg_generator *generator;
  uint64_t start, count;
  unsigned char *into;
  int status;
} part_t;

static void *make_part(void *given) {
  part_t *part = given;
  part->status = write_words(&part->generator->mask, &part->generator->plan, part->start, part->count, part->into);
  return NULL;
}

static int known_several(const struct wg_several *several) { return several != NULL && several->mark == SEVERAL_MARK; }

static wg_multigpu_handle_t several_of(int devices) {
  struct wg_several *several = calloc(1, sizeof *several);
  struct wg_generator *generator = wg_create(NULL, 0);
  if (several == NULL || generator == NULL) {
    free(several);
    wg_destroy(generator);
    fail(WG_OUT_OF_MEMORY, "there is no memory for a generator");
    return NULL;
  }
  *several = (struct wg_several){.mark = SEVERAL_MARK, .devices = devices, .generator = generator};
  return several;
}

wg_multigpu_handle_t wg_multigpu_create(void) { return several_of(processors()); }

wg_multigpu_handle_t wg_multigpu_create_with_devices(const int *devices, int count) {
  int wrong = devices == NULL || count < 1 || count > MOST_DEVICES;
  for (int k = 0; !wrong && k < count; k++) {
    wrong = devices[k] < 0 || devices[k] >= processors();
    for (int other = 0; !wrong && other < k; other++) wrong = devices[other] == devices[k];
  }
  if (!wrong) return several_of(count);
  fail(WG_BAD_PARAMETER, "devices are different numbers of processors, from 0");
  return NULL;
}

int wg_multigpu_set_charset(wg_multigpu_handle_t several, int id, const unsigned char *bytes, size_t length) {
  return known_several(several) ? wg_set_charset(several->generator, id, bytes, length) : bad_handle();
}

int wg_multigpu_set_mask(wg_multigpu_handle_t several, const int *ids, int length) {
  return known_several(several) ? wg_set_mask(several->generator, ids, length) : bad_handle();
}

int wg_multigpu_set_format(wg_multigpu_handle_t several, int format) {
  return known_several(several) ? wg_set_format(several->generator, format) : bad_handle();
}

int64_t wg_multigpu_generate(wg_multigpu_handle_t several, uint64_t start, uint64_t count, void *buffer,
                             size_t capacity) {
  if (!known_several(several)) return bad_handle();
  struct wg_generator *generator = several->generator;
  if (buffer == NULL) return fail(WG_BAD_PARAMETER, "there is no buffer");
  if (generator->mask.length == 0) return fail(WG_NOT_CONFIGURED, "there is no mask");
  uint64_t bytes;
  if (__builtin_mul_overflow(count, (uint64_t)stride_of(generator), &bytes) || bytes > capacity)
    return fail(WG_BUFFER_TOO_SMALL, "the buffer is too small");
  int status = ready(generator, start, count);
  if (status != WG_OK) return status;
  const uint64_t each = count / (uint64_t)several->devices;
  part_t parts[MOST_DEVICES];
  pthread_t threads[MOST_DEVICES];
  int started[MOST_DEVICES];
  uint64_t next = 0;
  for (int k = 0; k < several->devices; k++) {
    const uint64_t own = k == 0 ? each + count % (uint64_t)several->devices : each;
    parts[k] = (part_t){.generator = generator,
                        .start = start + next,
                        .count = own,
                        .into = (unsigned char *)buffer + next * stride_of(generator)};
    next += own;
    /* The first part is this thread's; one that cannot be started is made here, too. */
    started[k] = k > 0 && pthread_create(&threads[k], NULL, make_part, &parts[k]) == 0;
  }
  for (int k = 0; k < several->devices; k++) {
    if (!started[k]) make_part(&parts[k]);
    else pthread_join(threads[k], NULL);
    if (parts[k].status != WG_OK) status = parts[k].status;
  }
  if (status != WG_OK) return fail(status, "there is no memory for the words");
  succeed();
  return (int64_t)bytes;
}

int wg_multigpu_get_device_count(wg_multigpu_handle_t several) {
  return known_several(several) ? several->devices : fail(-1, "not a generator");
}

void wg_multigpu_destroy(wg_multigpu_handle_t several) {
  if (!known_several(several)) return;
  wg_destroy(several->generator);
  several->mark = 0;
  free(several);
}
`;
