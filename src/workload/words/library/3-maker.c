/* Words on one device: tables, launches, device batches, and batches in host memory. */
#include "internal.h"

#define MAX_LAUNCH_BYTES ((uint64_t)1 << 34)  /* the kernel counts quads in 31 bits */
#define DIRECT_BYTES ((uint64_t)64 << 20)     /* of a chunk that is copied to its place by the device */
#define STAGED_BYTES ((uint64_t)16 << 20)     /* of a chunk that is copied through page-locked memory */
#define CPU_BYTES ((uint64_t)256 << 20)
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

/* Writes the far rows that a launch reads, unless they are on the device. More than needed are written, so that the next
   launches of consecutive words find theirs. */
static int32_t send_far(Maker *maker, const Config *config, Slot *slot, mr_stream *stream, Place *place) {
  const Plan *plan = &config->plan;
  const bool is_known = slot->far_version == config->version && slot->far_count >= place->far_count &&
                        place->far_first - slot->far_first <= slot->far_count - place->far_count;
  if (!is_known) {
    uint64_t count = FAR_WINDOW_BYTES / plan->row_bytes;
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

/* ---- batches on the device ---- */

/* The runtime's stream for a stream of the caller. */
static int32_t adopt_stream(Maker *maker, CUstream native, mr_stream **stream) {
  int at = 0;
  while (at < maker->adopted_count && maker->adopted[at].native != native) at++;
  mr_stream *found = at < maker->adopted_count ? maker->adopted[at].stream : NULL;
  if (found == NULL) {
    const int status = mr_stream_adopt(maker->device, (void *)native, &found);
    if (status != MR_OK) return fail_runtime(status);
    if (maker->adopted_count == MAX_ADOPTED) mr_stream_close(maker->adopted[at = MAX_ADOPTED - 1].stream);
    else maker->adopted_count++;
  }
  for (; at > 0; at--) maker->adopted[at] = maker->adopted[at - 1];
  maker->adopted[0].native = native;
  maker->adopted[0].stream = found;
  *stream = found;
  return wg_WG_SUCCESS;
}

/* Takes the ring's next slot, with memory for the words. The oldest batch makes room, and if that is not enough all do. */
static int32_t next_slot(Maker *maker, uint64_t bytes, Slot **slot) {
  *slot = &maker->ring[maker->next];
  maker->next = (maker->next + 1) % RING;
  int status = need_out(maker, *slot, bytes);
  if (status == MR_ERROR_MEMORY) {
    await_maker(maker);
    for (int k = 0; k < SLOTS; k++) {
      mr_buffer_free(maker->slots[k].out);
      maker->slots[k].out = NULL;
      maker->slots[k].out_bytes = 0;
    }
    for (int k = 0; k < RING; k++) {
      mr_buffer_free(maker->ring[k].out);
      maker->ring[k].out = NULL;
      maker->ring[k].out_bytes = 0;
    }
    status = need_out(maker, *slot, bytes);
  }
  if (status == MR_OK && (*slot)->ready == NULL) status = mr_event_open(maker->device, &(*slot)->ready);
  return checked(status);
}

/* Queues a whole batch on a stream. What does not fit into one launch is made by others, in buffers that are views, and
   waited for. */
static int32_t queue_batch(Maker *maker, const Config *config, Slot *slot, mr_stream *stream, uint64_t start,
                           uint64_t count) {
  const uint64_t most = words_of(config, MAX_LAUNCH_BYTES), stride = config->plan.stride;
  int32_t code = wg_WG_SUCCESS;
  for (uint64_t done = 0; done < count && code == wg_WG_SUCCESS;) {
    const uint64_t words = count - done < most ? count - done : most;
    const uint64_t items = items_of(maker, words * stride), bytes = items * maker->item_bytes;
    mr_buffer *out = slot->out;
    int status = MR_OK;
    if (done > 0)
      status = mr_buffer_adopt(maker->device, mr_buffer_address(slot->out) + done * stride, bytes, &out);
    if (status != MR_OK) return fail_runtime(status);
    code = launch(maker, config, slot, stream, out, start + done, items);
    if (done > 0) {
      /* The far rows of the next launch may take the place of these, and the view is freed. */
      status = mr_wait(stream);
      mr_buffer_free(out);
      if (code == wg_WG_SUCCESS) code = checked(status);
    } else if (words < count) code = code == wg_WG_SUCCESS ? checked(mr_wait(stream)) : code;
    done += words;
  }
  return code;
}

/* Makes words in the device's memory. Null stream: they are there when this returns. */
static int32_t make_batch(Maker *maker, const Config *config, CUstream native, uint64_t start, uint64_t count,
                          struct wg_BatchDevice *batch) {
  const uint64_t bytes = bytes_of(config, count);
  if (bytes > SIZE_MAX / 2 || (maker->info.kind != MR_CPU && bytes > maker->info.memory_bytes) ||
      (maker->info.kind == MR_OPENCL && bytes > MAX_LAUNCH_BYTES / 2)) /* its buffers have no views */
    return fail(wg_WG_ERROR_OUT_OF_MEMORY, "%s: no memory for %llu bytes of words", maker->info.id,
                (unsigned long long)bytes);
  mr_stream *stream = maker->stream;
  const bool is_adopted = native != NULL && maker->info.kind != MR_CPU;
  Slot *slot;
  int32_t code = prepare(maker, config);
  if (code == wg_WG_SUCCESS && is_adopted) code = adopt_stream(maker, native, &stream);
  if (code == wg_WG_SUCCESS) code = next_slot(maker, bytes, &slot);
  if (code != wg_WG_SUCCESS) return code;
  /* The slot's memory may still be written on another stream. */
  if (slot->is_pending) code = checked(mr_stream_follow(stream, slot->ready));
  if (code == wg_WG_SUCCESS) code = queue_batch(maker, config, slot, stream, start, count);
  int status = MR_OK;
  if (is_adopted && code == wg_WG_SUCCESS) {
    status = mr_event_record(slot->ready, stream);
    slot->is_pending = status == MR_OK;
  }
  /* If something failed, what was queued before must end first. */
  if (!is_adopted || status != MR_OK || code != wg_WG_SUCCESS) {
    const int waited = mr_wait(stream);
    slot->is_pending = false;
    if (status == MR_OK) status = waited;
  }
  if (code == wg_WG_SUCCESS) code = checked(status);
  if (code != wg_WG_SUCCESS) {
    slot->far_count = 0;
    return code;
  }
  *batch = (struct wg_BatchDevice){
      .data = mr_buffer_address(slot->out),
      .count = count,
      .word_length = (uintptr_t)config->length,
      .stride = config->plan.stride,
      .total_bytes = (uintptr_t)bytes,
      .format = config->format,
  };
  return succeed();
}

static void free_batch(Maker *maker, struct wg_BatchDevice *batch) {
  for (int k = 0; k < RING && batch->data != 0; k++) {
    Slot *slot = &maker->ring[k];
    if (slot->out == NULL || mr_buffer_address(slot->out) != batch->data) continue;
    mr_buffer_free(slot->out);
    slot->out = NULL;
    slot->out_bytes = 0;
  }
  batch->data = 0;
  batch->count = 0;
  batch->total_bytes = 0;
}

/* ---- batches in host memory ---- */

/* Waits for the words of a slot and copies them to their place if the device has not. */
static int32_t collect(Slot *slot) {
  if (slot->bytes == 0) return wg_WG_SUCCESS;
  const int32_t code = checked(mr_wait(slot->stream));
  if (code == wg_WG_SUCCESS && slot->into != NULL) memcpy(slot->into, slot->host + slot->skip, (size_t)slot->bytes);
  if (code != wg_WG_SUCCESS) slot->far_count = 0;
  slot->bytes = 0;
  slot->into = NULL;
  return code;
}

static int need_host(Maker *maker, Slot *slot, uint64_t bytes) {
  if (slot->host_bytes >= bytes) return MR_OK;
  mr_host_free(maker->device, slot->host);
  slot->host = NULL;
  slot->host_bytes = 0;
  void *host = NULL;
  const int status = mr_host_alloc(maker->device, bytes, &host);
  if (status != MR_OK) return status;
  slot->host = host;
  slot->host_bytes = bytes;
  return MR_OK;
}

/* Queues words and their copy. `skip` bytes of the first word are left out. */
static int32_t queue_read(Maker *maker, const Config *config, Slot *slot, uint64_t start, uint64_t skip,
                          unsigned char *into, uint64_t bytes, bool is_direct) {
  int status = slot->stream != NULL ? MR_OK : mr_stream_open(maker->device, &slot->stream);
  if (status == MR_OK) status = need_out(maker, slot, skip + bytes);
  if (status == MR_OK && !is_direct) status = need_host(maker, slot, skip + bytes);
  if (status != MR_OK) return fail_runtime(status);
  int32_t code = launch(maker, config, slot, slot->stream, slot->out, start, items_of(maker, skip + bytes));
  if (code == wg_WG_SUCCESS) {
    status = is_direct ? mr_read(slot->stream, slot->out, skip, into, bytes)
                       : mr_read(slot->stream, slot->out, 0, slot->host, skip + bytes);
    code = checked(status);
  }
  slot->bytes = bytes;
  slot->skip = skip;
  slot->into = is_direct ? NULL : into;
  if (code == wg_WG_SUCCESS) return code;
  (void)mr_wait(slot->stream);
  slot->far_count = 0;
  slot->bytes = 0;
  return code;
}

/* CPU: kernels write to the caller's memory, except for the last item if it is longer than the words. */
static int32_t write_in_place(Maker *maker, const Config *config, uint64_t start, uint64_t count, unsigned char *into) {
  const uint64_t stride = config->plan.stride, most = words_of(config, CPU_BYTES), item = maker->item_bytes;
  Slot *slot = &maker->slots[0];
  int32_t code = wg_WG_SUCCESS;
  if (slot->stream == NULL) code = checked(mr_stream_open(maker->device, &slot->stream));
  for (uint64_t done = 0; done < count && code == wg_WG_SUCCESS;) {
    const uint64_t words = count - done < most ? count - done : most, bytes = words * stride;
    unsigned char *out = into + done * stride;
    const uint64_t whole = (uintptr_t)out % 16 == 0 ? bytes / item : 0, at = whole * item;
    if (whole > 0) {
      mr_buffer *view = NULL;
      code = checked(mr_buffer_adopt(maker->device, (uintptr_t)out, at, &view));
      if (code == wg_WG_SUCCESS) code = launch(maker, config, slot, slot->stream, view, start + done, whole);
      const int32_t waited = checked(mr_wait(slot->stream));
      if (code == wg_WG_SUCCESS) code = waited;
      mr_buffer_free(view);
    }
    /* From the last word that begins before the rest; an address that is not aligned is written in smaller parts. */
    for (uint64_t from = at; from < bytes && code == wg_WG_SUCCESS;) {
      const uint64_t word = from / stride, part = bytes - from < STAGED_BYTES ? bytes - from : STAGED_BYTES;
      code = queue_read(maker, config, slot, start + done + word, from - word * stride, out + from, part, true);
      if (code == wg_WG_SUCCESS) code = collect(slot);
      from += part;
    }
    done += words;
  }
  return code;
}

/* Writes words to host memory in chunks: while one is copied, the next are made. */
static int32_t write_words(Maker *maker, const Config *config, uint64_t start, uint64_t count, unsigned char *into) {
  if (count == 0) return wg_WG_SUCCESS;
  int32_t code = prepare(maker, config);
  if (code != wg_WG_SUCCESS) return code;
  if (maker->info.kind == MR_CPU) return write_in_place(maker, config, start, count, into);
  const uint64_t stride = config->plan.stride;
  const bool is_direct = mr_host_is_locked(maker->device, into, count * stride) == 1;
  const uint64_t most = words_of(config, is_direct ? DIRECT_BYTES : STAGED_BYTES);
  int at = 0;
  for (uint64_t done = 0; done < count && code == wg_WG_SUCCESS; at = (at + 1) % SLOTS) {
    const uint64_t words = count - done < most ? count - done : most;
    Slot *slot = &maker->slots[at];
    code = collect(slot);
    if (code == wg_WG_SUCCESS)
      code = queue_read(maker, config, slot, start + done, 0, into + done * stride, words * stride, is_direct);
    done += words;
  }
  /* All copies must have ended, also after an error. The first error is the one that counts. */
  char first[sizeof error_text];
  memcpy(first, error_text, sizeof first);
  for (int k = 0; k < SLOTS; k++, at = (at + 1) % SLOTS) {
    const int32_t ended = collect(&maker->slots[at]);
    if (code == wg_WG_SUCCESS && ended != wg_WG_SUCCESS) {
      code = ended;
      memcpy(first, error_text, sizeof first);
    }
  }
  if (code != wg_WG_SUCCESS) memcpy(error_text, first, sizeof first);
  return code;
}
