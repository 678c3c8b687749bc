/* What makes words on one device: its memory, tables and launches. */
#include "internal.h"

#define FAR_WINDOW_BYTES 65536
#define MAX_WINDOW_ROWS ((uint64_t)1 << 29)   /* the kernel counts rows of the middle in 31 bits */
#define WORD_GROUP 512                        /* words that fill whole items, whatever their length */

/* Waits until nothing runs that was queued by this maker. */
static void await_maker(Maker *maker) {
  if (maker->stream != NULL) (void)mr_wait(maker->stream);
  for (int k = 0; k < SLOTS; k++)
    if (maker->slots[k].stream != NULL) (void)mr_wait(maker->slots[k].stream);
  for (int k = 0; k < RING; k++) {
    if (maker->ring[k].is_pending) (void)mr_event_wait(maker->ring[k].ready);
    maker->ring[k].is_pending = false;
  }
}

static void close_slot(Maker *maker, Slot *slot) {
  mr_buffer_free(slot->out);
  mr_buffer_free(slot->far);
  mr_host_free(maker->device, slot->far_host);
  mr_host_free(maker->device, slot->host);
  mr_event_close(slot->ready);
  mr_stream_close(slot->stream);
  memset(slot, 0, sizeof *slot);
}

static void drop_tables(Maker *maker) {
  mr_job_close(maker->job);
  mr_buffer_free(maker->near);
  mr_buffer_free(maker->middle);
  maker->job = NULL;
  maker->near = maker->middle = NULL;
  maker->version = 0;
}

static void close_maker(Maker *maker) {
  if (maker->device == NULL) return;
  await_maker(maker);
  for (int k = 0; k < maker->adopted_count; k++) mr_stream_close(maker->adopted[k].stream);
  for (int k = 0; k < SLOTS; k++) close_slot(maker, &maker->slots[k]);
  for (int k = 0; k < RING; k++) close_slot(maker, &maker->ring[k]);
  drop_tables(maker);
  mr_stream_close(maker->stream);
  close_copier(&maker->copier);
  close_shared(maker->shared);
  memset(maker, 0, sizeof *maker);
}

static int32_t open_maker(Maker *maker, const char *name, void *context, int32_t ordinal) {
  const int32_t code = open_shared(name, context, ordinal, &maker->shared);
  if (code != wg_WG_SUCCESS) return code;
  maker->device = maker->shared->device;
  int status = mr_device_info(maker->device, &maker->info);
  if (status == MR_OK) status = mr_stream_open(maker->device, &maker->stream);
  if (status == MR_OK) return wg_WG_SUCCESS;
  const int32_t failed = fail_runtime(status);
  close_maker(maker);
  return failed;
}

/* ---- tables ---- */

static int send_table(Maker *maker, const unsigned char *bytes, uint64_t size, mr_buffer **buffer) {
  void *staging = NULL;
  int status = mr_buffer_alloc(maker->device, size, buffer);
  if (status == MR_OK) status = mr_host_alloc(maker->device, size, &staging);
  if (status != MR_OK) return status;
  memcpy(staging, bytes, (size_t)size);
  status = mr_write(maker->stream, *buffer, 0, staging, size);
  const int waited = mr_wait(maker->stream);
  /* After a failed wait the copy may still run: the memory is freed with the device. */
  if (waited == MR_OK) mr_host_free(maker->device, staging);
  return status == MR_OK ? waited : status;
}

/* Copies the plan's tables to the device, unless they are there. */
static int32_t prepare(Maker *maker, const Config *config) {
  if (maker->version == config->version && maker->version != 0) return wg_WG_SUCCESS;
  await_maker(maker);
  drop_tables(maker);
  const Plan *plan = &config->plan;
  int status = words_params_from_job(maker->device, &plan->job, &maker->job);
  if (status == MR_OK) status = send_table(maker, plan->near, plan->near_bytes, &maker->near);
  if (status == MR_OK) status = send_table(maker, plan->middle, plan->middle_bytes, &maker->middle);
  if (status == MR_OK) {
    maker->item_bytes = mr_job_variant(maker->job)->item_bytes;
    maker->version = config->version;
    return wg_WG_SUCCESS;
  }
  const int32_t code = fail_runtime(status);
  drop_tables(maker);
  return code;
}

/* ---- launches ---- */

/* Writes the far rows that a launch reads, unless they are on the device. If the launch follows the slot's last one, more
   than needed are written, so that the next launches find theirs. */
static int32_t send_far(Maker *maker, const Config *config, Slot *slot, mr_stream *stream, Place *place) {
  const Plan *plan = &config->plan;
  const bool is_known = slot->far_version == config->version && slot->far_count >= place->far_count &&
                        place->far_first - slot->far_first <= slot->far_count - place->far_count;
  if (!is_known) {
    const bool follows = slot->far_version == config->version && slot->far_count > 0 &&
                         place->far_first - slot->far_first <= 2 * RING * slot->far_count;
    uint64_t count = follows ? FAR_WINDOW_BYTES / plan->row_bytes : 0;
    if (count > MAX_WINDOW_ROWS / plan->rows) count = MAX_WINDOW_ROWS / plan->rows;
    if (count < place->far_count) count = place->far_count;
    const uint64_t bytes = count * plan->row_bytes;
    slot->far_count = 0;
    /* The previous copy from this memory must have ended. */
    int status = slot->is_pending ? mr_event_wait(slot->ready) : MR_OK;
    if (status != MR_OK) return fail_runtime(status);
    slot->is_pending = false;
    if (slot->far_bytes < bytes) {
      mr_buffer_free(slot->far);
      mr_host_free(maker->device, slot->far_host);
      slot->far = NULL;
      slot->far_host = NULL;
      slot->far_bytes = 0;
      void *host = NULL;
      status = mr_buffer_alloc(maker->device, bytes, &slot->far);
      if (status == MR_OK) status = mr_host_alloc(maker->device, bytes, &host);
      if (status != MR_OK) return fail_runtime(status);
      slot->far_host = host;
      slot->far_bytes = bytes;
    }
    const int passed = plan->near_count + plan->middle_count;
    const int32_t code = write_rows(config, config->length - 1 - passed, config->length - passed, place->far_first,
                                    (uint32_t)count, slot->far_host);
    if (code != wg_WG_SUCCESS) return code;
    status = mr_write(stream, slot->far, 0, slot->far_host, bytes);
    if (status != MR_OK) return fail_runtime(status);
    slot->far_first = place->far_first;
    slot->far_count = count;
    slot->far_version = config->version;
  }
  place->chunk.row += (uint32_t)(place->far_first - slot->far_first) * plan->rows;
  return wg_WG_SUCCESS;
}

/* Queues words from `start` on, `items` items of them, into a buffer of whole items. */
static int32_t launch(Maker *maker, const Config *config, Slot *slot, mr_stream *stream, mr_buffer *out, uint64_t start,
                      uint64_t items) {
  Place place = place_of(&config->plan, start, items * (maker->item_bytes / 16));
  const int32_t code = send_far(maker, config, slot, stream, &place);
  if (code != wg_WG_SUCCESS) return code;
  const words_buffers buffers = {.near = maker->near, .middle = maker->middle, .far = slot->far, .out = out};
  return checked(words_launch(stream, maker->job, &place.chunk, &buffers, 0, items));
}

static uint64_t items_of(const Maker *maker, uint64_t bytes) {
  return (bytes + maker->item_bytes - 1) / maker->item_bytes;
}

/* Words of a chunk: whole items, at most this many bytes unless that is less than one group. */
static uint64_t words_of(const Config *config, uint64_t bytes) {
  const uint64_t words = bytes / config->plan.stride / WORD_GROUP * WORD_GROUP;
  return words < WORD_GROUP ? WORD_GROUP : words;
}

/* Makes the slot's buffer large enough for the words' items. */
static int need_out(Maker *maker, Slot *slot, uint64_t bytes) {
  const uint64_t size = items_of(maker, bytes == 0 ? 1 : bytes) * maker->item_bytes;
  if (slot->out_bytes >= size) return MR_OK;
  mr_buffer_free(slot->out);
  slot->out = NULL;
  slot->out_bytes = 0;
  const int status = mr_buffer_alloc(maker->device, size, &slot->out);
  if (status == MR_OK) slot->out_bytes = size;
  return status;
}
