/* Batches of one device, in its memory and in the host's. */
#include "internal.h"

/* ---- batches on the device ---- */

/* The runtime's stream for a stream of the caller. */
static int32_t adopt_stream(Maker *maker, CUstream native, mr_stream **stream) {
  int at = 0;
  while (at < maker->adopted_count && maker->adopted[at].native != native) at++;
  const bool is_new = at == maker->adopted_count;
  mr_stream *found = is_new ? NULL : maker->adopted[at].stream;
  const int status = is_new ? mr_stream_adopt(maker->device, (void *)native, &found) : mr_stream_attach(found);
  if (status != MR_OK) return fail_runtime(status);
  if (is_new && maker->adopted_count == MAX_ADOPTED) mr_stream_close(maker->adopted[at = MAX_ADOPTED - 1].stream);
  else if (is_new) maker->adopted_count++;
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

#define MAX_SPIN_SECONDS 0.002 /* a GPU makes gigabytes in that time */

/* Waits for a batch. Asks a GPU for a while before it sleeps: waking a thread takes as long as making 500 MB. */
static int wait_batch(const Maker *maker, mr_stream *stream) {
  const double end = now() + MAX_SPIN_SECONDS;
  if (maker->info.kind != MR_CPU)
    while (mr_is_idle(stream) == 0 && now() < end) (void)sched_yield();
  return mr_wait(stream);
}

/* Takes a slot and fills it with words. */
static int32_t fill_slot(Maker *maker, const Config *config, mr_stream *stream, uint64_t start, uint64_t count,
                         Slot **used) {
  Slot *slot;
  int32_t code = next_slot(maker, bytes_of(config, count), &slot);
  if (code != wg_WG_SUCCESS) return code;
  *used = slot;
  /* The slot's memory may still be written on another stream. */
  if (slot->is_pending && slot->writer != stream) code = checked(mr_stream_follow(stream, slot->ready));
  if (code == wg_WG_SUCCESS) code = queue_batch(maker, config, slot, stream, start, count);
  if (code == wg_WG_SUCCESS && stream != maker->stream) {
    slot->writer = stream;
    code = checked(mr_event_record(slot->ready, stream));
    slot->is_pending = code == wg_WG_SUCCESS;
    if (code == wg_WG_SUCCESS) return code;
  }
  /* Also after an error: what was queued before must end first. */
  if (slot->is_pending) (void)mr_event_wait(slot->ready);
  const int status = wait_batch(maker, stream);
  slot->is_pending = false;
  if (code == wg_WG_SUCCESS) code = checked(status);
  if (code != wg_WG_SUCCESS) slot->far_count = 0;
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
  Slot *slot = NULL;
  int32_t code = prepare(maker, config);
  if (code == wg_WG_SUCCESS && native != NULL && maker->info.kind != MR_CPU) code = adopt_stream(maker, native, &stream);
  if (code == wg_WG_SUCCESS) code = fill_slot(maker, config, stream, start, count, &slot);
  if (stream != maker->stream) {
    /* The caller may destroy its stream before the generator. */
    const int status = mr_stream_detach(stream);
    if (code == wg_WG_SUCCESS) code = checked(status);
  }
  if (code != wg_WG_SUCCESS) return code;
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
static int32_t collect(Maker *maker, Slot *slot) {
  if (slot->bytes == 0) return wg_WG_SUCCESS;
  const int32_t code = checked(mr_wait(slot->stream));
  if (code == wg_WG_SUCCESS && slot->into != NULL)
    copy_words(&maker->copier, slot->into, slot->host + slot->skip, slot->bytes);
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
      if (code == wg_WG_SUCCESS) code = collect(maker, slot);
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
    code = collect(maker, slot);
    if (code == wg_WG_SUCCESS)
      code = queue_read(maker, config, slot, start + done, 0, into + done * stride, words * stride, is_direct);
    done += words;
  }
  /* All copies must have ended, also after an error. The first error is the one that counts. */
  char first[sizeof error_text];
  memcpy(first, error_text, sizeof first);
  for (int k = 0; k < SLOTS; k++, at = (at + 1) % SLOTS) {
    const int32_t ended = collect(maker, &maker->slots[at]);
    if (code == wg_WG_SUCCESS && ended != wg_WG_SUCCESS) {
      code = ended;
      memcpy(first, error_text, sizeof first);
    }
  }
  if (code != wg_WG_SUCCESS) memcpy(error_text, first, sizeof first);
  return code;
}
