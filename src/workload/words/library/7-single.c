/* The functions for one device, and about the machine. */
#include "internal.h"

typedef struct Single {
  Object object;
  Maker maker;
} Single;

struct wg_WordlistGenerator *wg_create(void *ctx, int32_t device) {
  DeviceList list;
  int32_t code = ctx == NULL ? find_device(device, &list) : wg_WG_SUCCESS;
  Single *single = code == wg_WG_SUCCESS ? allocate(1, sizeof *single) : NULL;
  if (single == NULL) return NULL;
  code = open_maker(&single->maker, ctx == NULL ? list.names[device] : NULL, ctx, device);
  if (code != wg_WG_SUCCESS) {
    free(single);
    return NULL;
  }
  succeed();
  return add_object(&single->object, SINGLE);
}

void wg_destroy(struct wg_WordlistGenerator *generator) {
  Single *single = generator == NULL ? NULL : remove_object(generator, SINGLE);
  if (single == NULL) return;
  close_maker(&single->maker);
  drop_plan(&single->object.config);
  free(single);
}

uint64_t wg_keyspace_size(const struct wg_WordlistGenerator *generator) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return 0;
  bool above;
  const uint64_t size = keyspace_of(&single->object.config, &above);
  if (above) fail(wg_WG_ERROR_KEYSPACE_OVERFLOW, "the keyspace has 2^64 words or more");
  else succeed();
  release(single);
  return size;
}

uintptr_t wg_calculate_buffer_size(const struct wg_WordlistGenerator *generator, uint64_t count) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return 0;
  const uint64_t bytes = single->object.config.length == 0 ? 0 : bytes_of(&single->object.config, count);
  succeed();
  release(single);
  return bytes > UINTPTR_MAX ? UINTPTR_MAX : (uintptr_t)bytes;
}

const char *wg_get_error(const struct wg_WordlistGenerator *generator) {
  (void)generator;
  return error_text[0] == 0 ? NULL : error_text;
}

intptr_t wg_generate_batch_host(struct wg_WordlistGenerator *generator, uint64_t start, uint64_t count, void *buffer,
                                uintptr_t capacity) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  Config *config = &single->object.config;
  int32_t code = check_host(config, start, count, buffer, capacity);
  if (code == wg_WG_SUCCESS) code = make_plan(config);
  if (code == wg_WG_SUCCESS) code = write_words(&single->maker, config, start, count, buffer);
  const intptr_t bytes = code == wg_WG_SUCCESS ? (intptr_t)bytes_of(config, count) : code;
  if (code == wg_WG_SUCCESS) succeed();
  release(single);
  return bytes;
}

int32_t wg_generate_batch_stream(struct wg_WordlistGenerator *generator, CUstream stream, uint64_t start, uint64_t count,
                                 struct wg_BatchDevice *batch) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  Config *config = &single->object.config;
  int32_t code = batch == NULL ? fail(wg_WG_ERROR_INVALID_PARAM, "there is no batch to fill in") : wg_WG_SUCCESS;
  if (code == wg_WG_SUCCESS) code = check_configured(config);
  if (code == wg_WG_SUCCESS) code = check_range(config, start, count);
  if (code == wg_WG_SUCCESS) code = make_plan(config);
  if (code == wg_WG_SUCCESS) code = make_batch(&single->maker, config, stream, start, count, batch);
  release(single);
  return code;
}

int32_t wg_generate_batch_device(struct wg_WordlistGenerator *generator, uint64_t start, uint64_t count,
                                 struct wg_BatchDevice *batch) {
  return wg_generate_batch_stream(generator, NULL, start, count, batch);
}

void wg_free_batch_device(struct wg_WordlistGenerator *generator, struct wg_BatchDevice *batch) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return;
  if (batch != NULL) free_batch(&single->maker, batch);
  succeed();
  release(single);
}

int32_t wg_word_to_index(const struct wg_WordlistGenerator *generator, const void *word, uintptr_t length,
                         uint64_t *index) {
  Single *single = acquire(generator, SINGLE);
  if (single == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  const Config *config = &single->object.config;
  const unsigned char *bytes = word;
  uint64_t sum = 0;
  int32_t code = word == NULL || index == NULL
                     ? fail(wg_WG_ERROR_INVALID_PARAM, "a word and a place for its index are needed")
                     : check_configured(config);
  bool is_missing = length != (uintptr_t)config->length;
  for (int k = 0; code == wg_WG_SUCCESS && !is_missing && k < config->length; k++) {
    const Charset *set = charset_at(config, k);
    const unsigned char *found = memchr(set->bytes, bytes[k], set->size);
    is_missing = found == NULL || __builtin_mul_overflow(sum, (uint64_t)set->size, &sum) ||
                 __builtin_add_overflow(sum, (uint64_t)(found - set->bytes), &sum);
  }
  if (code == wg_WG_SUCCESS && is_missing)
    code = fail(wg_WG_ERROR_KEYSPACE_OVERFLOW, "the word is not in the keyspace, or its index has more than 64 bits");
  if (code == wg_WG_SUCCESS) {
    *index = sum;
    succeed();
  }
  release(single);
  return code;
}

/* ---- the machine ---- */

const char *wg_get_version(void) { return WG_VERSION; }

int32_t wg_cuda_available(void) {
  succeed();
  return mr_device_count(MR_CUDA) > 0 ? 1 : 0;
}

int32_t wg_get_device_count(void) {
  DeviceList list;
  if (list_devices(&list) != wg_WG_SUCCESS) return -1;
  succeed();
  return list.count;
}

int32_t wg_get_device_properties(int32_t device, wg_device_properties_t *properties) {
  if (properties == NULL) return fail(wg_WG_ERROR_INVALID_PARAM, "there is no place for the properties");
  DeviceList list;
  mr_info info;
  const int32_t code = find_device(device, &list);
  if (code != wg_WG_SUCCESS) return code;
  const int status = mr_probe(list.names[device], &info);
  if (status != MR_OK) return fail_runtime(status);
  memset(properties, 0, sizeof *properties);
  memcpy(properties->name, info.name, sizeof properties->name);
  properties->major = info.major;
  properties->minor = info.minor;
  properties->total_bytes = info.memory_bytes;
  properties->units = (int32_t)info.units;
  return succeed();
}

int32_t wg_get_device_info(int32_t device, char *name, int32_t *major, int32_t *minor, uint64_t *total_bytes) {
  if (name == NULL || major == NULL || minor == NULL || total_bytes == NULL)
    return fail(wg_WG_ERROR_INVALID_PARAM, "name, major, minor and total_bytes need places");
  wg_device_properties_t properties;
  const int32_t code = wg_get_device_properties(device, &properties);
  if (code != wg_WG_SUCCESS) return code;
  memcpy(name, properties.name, sizeof properties.name);
  *major = properties.major;
  *minor = properties.minor;
  *total_bytes = properties.total_bytes;
  return code;
}
