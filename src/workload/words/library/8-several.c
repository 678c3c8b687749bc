/* The functions for several devices: a thread for each, which takes ranges of words until none are left. */
#include "internal.h"

typedef struct Several Several;

typedef struct Range {
  uint64_t start, count; /* start: from the batch's first word */
} Range;

typedef struct Member {
  Several *several;
  Maker maker;
  pthread_t thread;
  double rate; /* words per second: the average, in which the newest range has a weight of 0.2 */
  bool has_failed;
  char error[400];
} Member;

struct Several {
  Object object;
  Member *members;
  int count;
  pthread_mutex_t work; /* of what follows */
  pthread_cond_t changed;
  bool is_ending;
  /* The batch. */
  unsigned char *into;
  uint64_t start, words, next;
  Range returned[MAX_DEVICES]; /* ranges that a device has failed to make */
  int returned_count, active;  /* devices that make a range */
  int32_t code;                /* of the last device that failed */
};

#define FIRST_BYTES ((uint64_t)32 << 20) /* of a device's first range */
#define MAX_RANGE_BYTES ((uint64_t)1 << 30)
#define MIN_RANGE_BYTES ((uint64_t)4 << 20)
#define RATE_WEIGHT 0.2

/* Takes the next range for a device: half of its share of what is left, so that all end at the same time. */
static bool take_range(Several *several, const Member *member, Range *range) {
  if (several->returned_count > 0) {
    *range = several->returned[--several->returned_count];
    return true;
  }
  const uint64_t left = several->words - several->next;
  if (left == 0) return false;
  double rates = 0;
  int working = 0;
  bool is_measured = true;
  for (int k = 0; k < several->count; k++) {
    const Member *other = &several->members[k];
    if (other->has_failed) continue;
    working++;
    rates += other->rate;
    is_measured = is_measured && other->rate > 0;
  }
  uint64_t words = left;
  if (working > 1) {
    const uint64_t stride = several->object.config.plan.stride;
    const uint64_t most = (is_measured ? MAX_RANGE_BYTES : FIRST_BYTES) / stride, least = MIN_RANGE_BYTES / stride;
    const double share = is_measured ? member->rate / rates / 2 : 0.5 / working;
    words = (uint64_t)((double)left * share);
    if (words < least) words = least;
    if (words > most) words = most;
    words = (words / WORD_GROUP + 1) * WORD_GROUP; /* the next range begins where an item does */
    if (words > left) words = left;
  }
  *range = (Range){several->next, words};
  several->next += words;
  return true;
}

/* A device's thread. */
static void *make_ranges(void *given) {
  Member *member = given;
  Several *several = member->several;
  pthread_mutex_lock(&several->work);
  for (;;) {
    Range range;
    while (!several->is_ending && (member->has_failed || !take_range(several, member, &range)))
      pthread_cond_wait(&several->changed, &several->work);
    if (several->is_ending) break;
    several->active++;
    pthread_mutex_unlock(&several->work);
    const double began = now();
    const int32_t code = write_words(&member->maker, &several->object.config, several->start + range.start, range.count,
                                     several->into + range.start * several->object.config.plan.stride);
    const double seconds = now() - began;
    pthread_mutex_lock(&several->work);
    several->active--;
    if (code == wg_WG_SUCCESS && seconds > 0) {
      const double rate = (double)range.count / seconds;
      member->rate = member->rate > 0 ? member->rate + RATE_WEIGHT * (rate - member->rate) : rate;
    } else if (code != wg_WG_SUCCESS) {
      member->has_failed = true;
      several->code = code;
      snprintf(member->error, sizeof member->error, "%.399s", error_text);
      several->returned[several->returned_count++] = range;
    }
    pthread_cond_broadcast(&several->changed);
  }
  pthread_mutex_unlock(&several->work);
  return NULL;
}

static int working_count(const Several *several) {
  int count = 0;
  for (int k = 0; k < several->count; k++) count += several->members[k].has_failed ? 0 : 1;
  return count;
}

/* Ends the threads of the first members and frees everything. */
static void close_several(Several *several) {
  pthread_mutex_lock(&several->work);
  several->is_ending = true;
  pthread_cond_broadcast(&several->changed);
  pthread_mutex_unlock(&several->work);
  for (int k = 0; k < several->count; k++) {
    pthread_join(several->members[k].thread, NULL);
    close_maker(&several->members[k].maker);
  }
  drop_plan(&several->object.config);
  pthread_cond_destroy(&several->changed);
  pthread_mutex_destroy(&several->work);
  free(several->members);
  free(several);
}

static struct wg_MultiGpuGenerator *open_several(const DeviceList *list) {
  Several *several = allocate(1, sizeof *several);
  Member *members = several == NULL ? NULL : allocate((size_t)list->count, sizeof *members);
  if (members == NULL) {
    free(several);
    return NULL;
  }
  several->members = members;
  pthread_mutex_init(&several->work, NULL);
  pthread_cond_init(&several->changed, NULL);
  char warning[sizeof error_text] = "";
  for (int k = 0; k < list->count; k++) {
    Member *member = &members[several->count];
    int32_t code = open_maker(&member->maker, list->names[k], NULL, 0);
    if (code == wg_WG_SUCCESS) {
      member->several = several;
      if (MR_FAULT("pthread_create") || pthread_create(&member->thread, NULL, make_ranges, member) != 0) {
        close_maker(&member->maker);
        code = fail(wg_WG_ERROR_OUT_OF_MEMORY, "cannot start a thread");
      }
    }
    if (code != wg_WG_SUCCESS) {
      char reason[400];
      snprintf(reason, sizeof reason, "%.399s", error_text);
      snprintf(warning, sizeof warning, "%s is left out: %s", list->names[k], reason);
    } else {
      pthread_mutex_lock(&several->work);
      several->count++;
      pthread_mutex_unlock(&several->work);
    }
  }
  const bool is_empty = several->count == 0;
  if (is_empty) close_several(several);
  memcpy(error_text, warning, sizeof warning);
  return is_empty ? NULL : add_object(&several->object, SEVERAL);
}

struct wg_MultiGpuGenerator *wg_multigpu_create(void) {
  DeviceList list;
  return list_devices(&list) == wg_WG_SUCCESS ? open_several(&list) : NULL;
}

struct wg_MultiGpuGenerator *wg_multigpu_create_with_devices(const int32_t *devices, int32_t count) {
  DeviceList list, chosen = {.count = 0};
  bool seen[MAX_DEVICES] = {false};
  if (devices == NULL || count < 1) {
    fail(wg_WG_ERROR_INVALID_PARAM, "there are no devices in the list");
    return NULL;
  }
  for (int32_t k = 0; k < count; k++) {
    if (find_device(devices[k], &list) != wg_WG_SUCCESS) return NULL;
    if (seen[devices[k]]) {
      fail(wg_WG_ERROR_INVALID_PARAM, "device %d is in the list twice", (int)devices[k]);
      return NULL;
    }
    seen[devices[k]] = true;
    add_device(&chosen, list.names[devices[k]], strlen(list.names[devices[k]]));
  }
  return open_several(&chosen);
}

/* Gives the batch to the threads and waits for its end. */
static int32_t make_all(Several *several, uint64_t start, uint64_t count, void *buffer) {
  pthread_mutex_lock(&several->work);
  const int working = working_count(several);
  several->into = buffer;
  several->start = start;
  several->words = count;
  several->next = 0;
  pthread_cond_broadcast(&several->changed);
  while (working_count(several) > 0 &&
         (several->active > 0 || several->returned_count > 0 || several->next < several->words))
    pthread_cond_wait(&several->changed, &several->work);
  const bool is_done = several->returned_count == 0 && several->next == several->words;
  several->words = several->next = 0;
  several->returned_count = 0;
  int32_t code = wg_WG_SUCCESS;
  succeed();
  for (int k = 0; k < several->count; k++)
    if (several->members[k].has_failed && (!is_done || working_count(several) < working))
      fail(wg_WG_ERROR_CUDA, "%s failed: %s", several->members[k].maker.info.id, several->members[k].error);
  if (!is_done) code = several->code;
  /* Devices that were out of memory may work again with other batches. */
  for (int k = 0; k < several->count && !is_done && code == wg_WG_ERROR_OUT_OF_MEMORY; k++)
    several->members[k].has_failed = false;
  pthread_mutex_unlock(&several->work);
  return code;
}

intptr_t wg_multigpu_generate(struct wg_MultiGpuGenerator *generator, uint64_t start, uint64_t count, void *buffer,
                              uintptr_t capacity) {
  Several *several = acquire(generator, SEVERAL);
  if (several == NULL) return wg_WG_ERROR_INVALID_HANDLE;
  Config *config = &several->object.config;
  int32_t code = check_host(config, start, count, buffer, capacity);
  if (code == wg_WG_SUCCESS) code = make_plan(config);
  if (code == wg_WG_SUCCESS) code = make_all(several, start, count, buffer);
  const intptr_t bytes = code == wg_WG_SUCCESS ? (intptr_t)bytes_of(config, count) : code;
  release(several);
  return bytes;
}

int32_t wg_multigpu_get_device_count(const struct wg_MultiGpuGenerator *generator) {
  Several *several = acquire(generator, SEVERAL);
  if (several == NULL) return -1;
  pthread_mutex_lock(&several->work);
  const int32_t count = working_count(several);
  pthread_mutex_unlock(&several->work);
  succeed();
  release(several);
  return count;
}

void wg_multigpu_destroy(struct wg_MultiGpuGenerator *generator) {
  Several *several = generator == NULL ? NULL : remove_object(generator, SEVERAL);
  if (several != NULL) close_several(several);
}
