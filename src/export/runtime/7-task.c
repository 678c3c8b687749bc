/* Tasks: an index range, divided among the members of a device by their measured speed. Each device has one thread, made
   with its first task, that keeps some launches in flight: while one runs, the next is queued and the results of the last
   are read. */
#include "internal.h"

#define SLOTS 3             /* launches in flight on a device */
#define TARGET_NS 5e7       /* time of a launch; its size is found by measuring */
#define ENDING_NS 2e6       /* near the end of a range launches get shorter, but not below this */
#define GROWTH 8            /* how much larger a launch may be than the one before */
#define SLOT_BYTES ((uint64_t)64 << 20) /* of the rows of one launch */
#define CPU_SLOT_BYTES ((uint64_t)4 << 20)
#define DEFAULT_RING 4096

typedef enum TaskKind { SEARCH, GENERATE, TRANSFORM } TaskKind;

typedef struct Range {
  uint64_t start, count; /* from the beginning of the task */
} Range;

/* The part of a task that a device does. */
typedef struct Part {
  struct Part *next;
  Task *task;
  double rate; /* indices per nanosecond; 0: not known */
  uint64_t last_count;
  double last_end;
  uint64_t ring_hits;
  struct Feeder *feeder; /* while the part runs, under the task's lock: so that the task can be cancelled */
} Part;

struct Task {
  Object object;
  TaskKind kind;
  const mr_kernel *kernel;
  void *job;
  mr_data *data;
  mr_rows *rows;
  size_t row_count;
  mr_take *take;
  mr_task_options options;
  uint64_t start, count;
  uint64_t index_bytes; /* bytes of all rows of one index */
  Part *parts;
  size_t part_count;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_mutex_t report; /* held while the progress function runs */
  uint64_t reported;
  /* Under the lock: */
  uint64_t next, done, delivered;
  Range *returned; /* ranges to do again: too many hits, or the device failed */
  size_t returned_count, returned_capacity;
  size_t parts_left, parts_failed;
  bool is_stopped;
  int status;
  char error[ERROR_BYTES];
  uint32_t *hits;
  size_t hit_count, hit_capacity;
};

typedef struct Memory {
  Buffer *device;
  void *host;
  uint64_t host_bytes;
} Memory;

typedef struct Slot {
  Stream *stream;
  Memory ring, launch_data;
  Memory rows[MAX_BUFFERS];
  bool is_busy;
  Range range;
  uint64_t base, items;
  uint64_t capacity; /* hits that the ring held at the launch */
  double began;
} Slot;

typedef struct Feeder {
  Device *device;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  Part *first, *last;
  bool is_ending;
  Slot slots[SLOTS];
} Feeder;

/* ---- what all parts of a task share ---- */

static bool is_over(const Task *task) { return task->is_stopped || task->done == task->count; }

/* Ends the task with a status; the first one stays. Under the lock. */
static void stop_task(Task *task, int status, const char *error) {
  if (task->status == MR_OK) {
    task->status = status;
    snprintf(task->error, sizeof task->error, "%s", error);
  }
  task->is_stopped = true;
  pthread_cond_broadcast(&task->changed);
}

/* Gives ranges back. False if there is no memory. Under the lock. */
static bool return_range(Task *task, Range range) {
  if (task->returned_count == task->returned_capacity) {
    const size_t capacity = task->returned_capacity == 0 ? 64 : 2 * task->returned_capacity;
    Range *list = MR_FAULT("realloc") ? NULL : realloc(task->returned, capacity * sizeof *list);
    if (list == NULL) return false;
    task->returned = list;
    task->returned_capacity = capacity;
  }
  task->returned[task->returned_count++] = range;
  pthread_cond_broadcast(&task->changed);
  return true;
}

/* Indices of the next launch of a part, if `left` are not handed out yet. Under the lock. */
static uint64_t launch_size(const Task *task, const Part *part, const Program *program, bool is_cpu, uint64_t left) {
  const mr_variant *variant = program->variant;
  const double per_item = (double)variant->indices / variant->items;
  double size = (double)program->resident_groups * variant->group_items * per_item * 4;
  if (is_cpu) size = 4096.0 * variant->lanes * per_item;
  if (part->rate > 0) {
    size = part->rate * TARGET_NS;
    if (size > GROWTH * (double)part->last_count) size = GROWTH * (double)part->last_count;
    double all = 0;
    for (size_t i = 0; i < task->part_count; i++) all += task->parts[i].rate;
    /* All devices end together: each takes half of its share of the rest. */
    const double share = (double)left * part->rate / all / 2, least = part->rate * ENDING_NS;
    if (size > share) size = share > least ? share : least;
  }
  const uint64_t slot = is_cpu ? CPU_SLOT_BYTES : SLOT_BYTES;
  if (task->index_bytes > 0 && size > (double)slot / (double)task->index_bytes)
    size = (double)slot / (double)task->index_bytes;
  const double most = 4294967296.0 * (variant->indices > 1 ? 1 : 1.0 / variant->items);
  if (size > most) size = most;
  uint64_t count = size < 1 ? 1 : (uint64_t)size;
  if (task->options.max_indices > 0 && count > task->options.max_indices) count = task->options.max_indices;
  uint64_t unit = task->options.min_indices > 1 ? task->options.min_indices : 1;
  if (unit == 1 && variant->indices > 1 && count > variant->indices) unit = variant->indices;
  count = count < unit ? unit : count / unit * unit;
  return count < left ? count : left;
}

/* A launch must not cross a multiple of 2^32 in items. */
static uint64_t clip_range(const Task *task, const mr_variant *variant, uint64_t start, uint64_t count) {
  if (variant->item_bytes > 0) return count; /* its position comes from the launch's values */
  const uint64_t first = task->start + start;
  const uint64_t per_item = variant->indices > 1 ? variant->indices : 1, per_index = variant->items;
  const uint64_t item = first / per_item * per_index; /* modulo 2^64: only the low word matters */
  const uint64_t items_left = ((uint64_t)1 << 32) - (item & 0xffffffffu);
  const uint64_t most = items_left / per_index * per_item - first % per_item;
  return count < most ? count : most;
}

/* Takes the next range, or a returned one. False if there is nothing to take now. */
static bool take_range(Task *task, Part *part, const Program *program, bool is_cpu, Range *range) {
  pthread_mutex_lock(&task->lock);
  bool found = false;
  if (!task->is_stopped && task->returned_count > 0) {
    Range *last = &task->returned[task->returned_count - 1];
    const uint64_t size = launch_size(task, part, program, is_cpu, last->count);
    range->start = last->start;
    range->count = clip_range(task, program->variant, last->start, size);
    last->start += range->count;
    last->count -= range->count;
    if (last->count == 0) task->returned_count--;
    found = true;
  } else if (!task->is_stopped && task->next < task->count) {
    const uint64_t size = launch_size(task, part, program, is_cpu, task->count - task->next);
    range->start = task->next;
    range->count = clip_range(task, program->variant, task->next, size);
    task->next += range->count;
    found = true;
  }
  pthread_mutex_unlock(&task->lock);
  return found;
}

/* Calls the progress function: one call at a time, with rising numbers. */
static void report_progress(Task *task) {
  pthread_mutex_lock(&task->report);
  pthread_mutex_lock(&task->lock);
  const uint64_t done = task->done;
  pthread_mutex_unlock(&task->lock);
  if (done > task->reported) {
    task->reported = done;
    const bool stops = task->options.progress(task->options.user, done, task->count) != 0;
    pthread_mutex_lock(&task->lock);
    if (stops && done < task->count) stop_task(task, MR_CANCELLED, "stopped by the progress function");
    pthread_cond_broadcast(&task->changed);
    pthread_mutex_unlock(&task->lock);
  }
  pthread_mutex_unlock(&task->report);
}

/* Counts a finished range and reports the progress. */
static void finish_range(Task *task, Part *part, const Slot *slot) {
  const double end = now_ns(), began = slot->began > part->last_end ? slot->began : part->last_end;
  const double spent = end - began < 1 ? 1 : end - began, rate = (double)slot->range.count / spent;
  pthread_mutex_lock(&task->lock);
  part->rate = part->rate == 0 ? rate : (part->rate + rate) / 2;
  part->last_count = slot->range.count;
  part->last_end = end;
  task->done += slot->range.count;
  if (task->options.progress == NULL && task->done == task->count) pthread_cond_broadcast(&task->changed);
  pthread_mutex_unlock(&task->lock);
  if (task->options.progress != NULL) report_progress(task);
}

/* ---- memory of a slot ---- */

/* Makes the device's memory at least this large. */
static int need_device(Device *device, Memory *memory, uint64_t bytes) {
  if (memory->device != NULL && memory->device->bytes >= bytes) return MR_OK;
  if (memory->device != NULL) free_buffer(memory->device);
  int status;
  memory->device = alloc_buffer(device, bytes, &status);
  return status;
}

static int need_host(Device *device, Memory *memory, uint64_t bytes) {
  if (memory->host != NULL && memory->host_bytes >= bytes) return MR_OK;
  if (memory->host != NULL) free_host(device, memory->host);
  memory->host = NULL;
  memory->host_bytes = 0;
  const int status = alloc_host(device, bytes, &memory->host);
  if (status == MR_OK) memory->host_bytes = bytes;
  return status;
}

static bool is_in_list(Device *device, const void *memory, uint64_t bytes) {
  bool found = false;
  pthread_mutex_lock(&device->lock);
  for (const HostMemory *entry = device->host_memory; entry != NULL && !found; entry = entry->next) {
    const uint64_t offset = (uint64_t)(uintptr_t)memory - (uint64_t)(uintptr_t)entry->memory; /* huge if it is before */
    found = offset <= entry->bytes && bytes <= entry->bytes - offset;
  }
  pthread_mutex_unlock(&device->lock);
  return found;
}

/* True if the device can transfer the caller's memory without an intermediate copy. */
static bool is_direct(Device *device, const void *memory, uint64_t bytes) {
  if (device->info.kind == MR_CPU) return true;
  if (device->group == NULL) return is_in_list(device, memory, bytes);
  return is_in_list(device->group->members[0], memory, bytes) || is_in_list(device, memory, bytes);
}

int mr_host_is_locked(mr_device *handle, const void *memory, uint64_t bytes) {
  Device *device = find_object(handle, DEVICE);
  if (device == NULL) return bad_handle("device");
  device = first_member(device);
  if (memory == NULL || bytes == 0 || bytes > UINTPTR_MAX - (uintptr_t)memory) return 0;
  if (is_in_list(device, memory, bytes)) return 1;
  return device->info.kind == MR_CUDA && cuda_is_locked(device, memory, bytes) ? 1 : 0;
}

/* ---- launches ---- */

static const mr_rows *rows_of(const Task *task, uint32_t buffer) {
  for (size_t i = 0; i < task->row_count; i++)
    if (task->rows[i].buffer == buffer) return &task->rows[i];
  return NULL;
}

/* Bytes of a launch's rows in device memory: items may write more than the rows that were asked for. */
static uint64_t row_memory(const mr_variant *variant, const Slot *slot, const mr_rows *rows) {
  if (variant->item_bytes > 0) return slot->items * variant->item_bytes;
  return slot->items / variant->items * variant->indices * rows->row_bytes;
}

/* The caller's bytes of a range. */
static uint64_t offset_of(const mr_rows *rows, const Range *range) { return range->start * rows->row_bytes; }

/* Sets the items of a launch: those that cover the range. */
static void set_items(const Task *task, const mr_variant *variant, Slot *slot) {
  const uint64_t first = task->start + slot->range.start, count = slot->range.count;
  if (variant->item_bytes > 0) {
    slot->base = 0;
    slot->items = (count * task->rows[0].row_bytes + variant->item_bytes - 1) / variant->item_bytes;
  } else if (variant->indices > 1) {
    slot->base = first / variant->indices;
    slot->items = (first + count - 1) / variant->indices - slot->base + 1;
  } else {
    slot->base = first * variant->items;
    slot->items = count * variant->items;
  }
}

/* Queues what must be in device memory before the launch. */
static int send_inputs(Task *task, Device *device, const mr_variant *variant, Slot *slot, Buffer **shared,
                       Buffer **buffers) {
  for (uint32_t i = 0; i < task->kernel->buffer_count; i++) {
    const mr_rows *rows = rows_of(task, i);
    Memory *memory = &slot->rows[i];
    buffers[i] = shared[i];
    if (rows == NULL) continue;
    int status = need_device(device, memory, row_memory(variant, slot, rows));
    if (status != MR_OK) return status;
    buffers[i] = memory->device;
    if (rows->in == NULL) continue;
    const uint64_t bytes = slot->range.count * rows->row_bytes;
    const char *from = (const char *)rows->in + offset_of(rows, &slot->range);
    if (!is_direct(device, from, bytes)) {
      status = need_host(device, memory, bytes);
      if (status != MR_OK) return status;
      memcpy(memory->host, from, (size_t)bytes);
      from = memory->host;
    }
    status = device->backend->write(slot->stream, memory->device, 0, from, bytes);
    if (status != MR_OK) return status;
  }
  return MR_OK;
}

static int read_outputs(Task *task, Device *device, Slot *slot) {
  for (size_t i = 0; i < task->row_count; i++) {
    const mr_rows *rows = &task->rows[i];
    if (rows->out == NULL && task->take == NULL) continue;
    Memory *memory = &slot->rows[rows->buffer];
    const uint64_t bytes = slot->range.count * rows->row_bytes;
    void *to = rows->out == NULL ? NULL : (char *)rows->out + offset_of(rows, &slot->range);
    if (to == NULL || !is_direct(device, to, bytes)) {
      const int status = need_host(device, memory, bytes);
      if (status != MR_OK) return status;
      to = memory->host;
    }
    const int status = device->backend->read(slot->stream, memory->device, 0, to, bytes);
    if (status != MR_OK) return status;
  }
  return MR_OK;
}

/* The values of a launch, in memory of the largest size that kernels have. */
typedef union ChunkValues {
  uint64_t align;
  unsigned char bytes[16384];
} ChunkValues;

static int fill_chunk(Task *task, Device *device, Slot *slot, ChunkValues *values) {
  const mr_task_options *options = &task->options;
  if (options->chunk == NULL) return MR_OK;
  memset(values->bytes, 0, task->kernel->chunk_bytes);
  if (options->launch_bytes > 0) {
    int status = need_device(device, &slot->launch_data, options->launch_bytes);
    if (status == MR_OK) status = need_host(device, &slot->launch_data, options->launch_bytes);
    if (status != MR_OK) return status;
  }
  const int64_t bytes = options->chunk(options->user, task->start + slot->range.start, slot->range.count,
                                       values->bytes, slot->launch_data.host);
  if (bytes < 0) return fail(device, MR_CANCELLED, "stopped by the function that sets the values of a launch");
  if ((uint64_t)bytes > options->launch_bytes)
    return fail(device, MR_ERROR_ARGUMENT, "the data of a launch has %lld bytes, more than launch_bytes",
                (long long)bytes);
  if (bytes == 0) return MR_OK;
  return device->backend->write(slot->stream, slot->launch_data.device, 0, slot->launch_data.host, (uint64_t)bytes);
}

/* Queues one range on a slot. */
static int submit(Task *task, Part *part, Device *device, Job *job, Slot *slot, Buffer **shared) {
  const mr_kernel *kernel = task->kernel;
  const mr_variant *variant = job->program->variant;
  const Backend *backend = device->backend;
  Buffer *buffers[MAX_BUFFERS + 1];
  ChunkValues values;
  set_items(task, variant, slot);
  slot->began = now_ns();
  slot->is_busy = true; /* also if something below fails: what was queued before must run to its end */
  int status = fill_chunk(task, device, slot, &values);
  if (status == MR_OK) status = send_inputs(task, device, variant, slot, shared, buffers);
  if (status != MR_OK) return status;
  if (task->options.launch_bytes > 0) buffers[task->options.launch_buffer] = slot->launch_data.device;
  const bool has_ring = kernel->hit_words > 0;
  slot->capacity = part->ring_hits;
  const uint64_t ring_bytes = 4 * (MR_RING_HEADER + slot->capacity * (1 + (uint64_t)kernel->hit_words));
  if (has_ring) {
    status = need_device(device, &slot->ring, ring_bytes);
    if (status == MR_OK) status = need_host(device, &slot->ring, ring_bytes);
    if (status == MR_OK) status = backend->fill(slot->stream, slot->ring.device, 0, 0, MR_RING_HEADER * 4);
    if (status != MR_OK) return status;
    buffers[kernel->buffer_count] = slot->ring.device;
  }
  const Launch launch = {
      .chunk = values.bytes,
      .base = slot->base,
      .count = slot->items,
      .buffers = buffers,
      .buffer_count = kernel->buffer_count + has_ring,
      .ring_capacity = (uint32_t)slot->capacity,
  };
  status = backend->launch(slot->stream, job, &launch);
  if (status == MR_OK) status = read_outputs(task, device, slot);
  if (status == MR_OK && has_ring && task->kind == SEARCH)
    status = backend->read(slot->stream, slot->ring.device, 0, slot->ring.host, ring_bytes);
  return status;
}

/* ---- results ---- */

/* Adds the hits of a launch to those of the task. */
static int store_hits(Task *task, Device *device, const mr_variant *variant, const Slot *slot, uint32_t found) {
  const uint32_t fields = task->kernel->hit_words, *words = slot->ring.host;
  const size_t record = 2 + (size_t)fields;
  const uint64_t first = task->start + slot->range.start;
  pthread_mutex_lock(&task->lock);
  const size_t before = task->hit_count;
  int status = MR_OK;
  if (task->hit_count + found > task->hit_capacity) {
    const size_t capacity = 2 * task->hit_capacity + found + 16;
    uint32_t *hits = MR_FAULT("realloc") ? NULL : realloc(task->hits, capacity * record * sizeof *hits);
    if (hits == NULL) status = MR_ERROR_MEMORY;
    else {
      task->hits = hits;
      task->hit_capacity = capacity;
    }
  }
  for (uint32_t i = 0; i < found && status == MR_OK; i++) {
    const uint32_t *from = words + MR_RING_HEADER + i * (1 + (size_t)fields);
    uint32_t *to = task->hits + task->hit_count * record;
    if (from[0] >= slot->items) {
      status = MR_ERROR_DEVICE;
      break;
    }
    uint64_t index = slot->base + from[0];
    if (variant->indices > 1) {
      index *= variant->indices;
      index += from[1 + task->kernel->index_word] - (uint32_t)index;
    } else index /= variant->items;
    if (index < first || index - first >= slot->range.count) continue; /* the item's other indices */
    to[0] = (uint32_t)index;
    to[1] = (uint32_t)(index >> 32);
    memcpy(to + 2, from + 1, fields * sizeof *to);
    task->hit_count++;
  }
  if (status != MR_OK) task->hit_count = before; /* another device may search the range again */
  pthread_mutex_unlock(&task->lock);
  if (status == MR_ERROR_MEMORY) return no_memory(device, (uint64_t)found * record * 4);
  if (status != MR_OK) return fail(device, status, "%s reported a hit outside its launch", device->info.id);
  return MR_OK;
}

/* A launch had more hits than its ring holds: divides its range so that each part should fit, or enlarges the ring if
   the range has only one item. */
static int split_range(Task *task, Part *part, Device *device, const mr_variant *variant, const Slot *slot,
                       uint32_t found) {
  const Range range = slot->range;
  const uint64_t least = variant->indices;
  uint64_t size = (uint64_t)((double)range.count * (double)slot->capacity / (2.0 * found));
  size = size / least * least;
  if (size < least) size = least;
  if (range.count <= least) {
    part->ring_hits = found;
    size = range.count;
  }
  pthread_mutex_lock(&task->lock);
  bool good = true;
  /* The next launches are of this size too, where hits are as dense. */
  part->last_count = size / GROWTH + 1;
  for (uint64_t done = 0; done < range.count && good; done += size) {
    const uint64_t left = range.count - done;
    good = return_range(task, (Range){range.start + done, left < size ? left : size});
  }
  pthread_mutex_unlock(&task->lock);
  return good ? MR_OK : no_memory(device, sizeof(Range));
}

/* Passes the bytes of a range to the caller's function when all ranges before it have been passed. */
static int deliver(Task *task, Device *device, const Slot *slot) {
  pthread_mutex_lock(&task->lock);
  while (task->delivered != slot->range.start && !task->is_stopped)
    pthread_cond_wait(&task->changed, &task->lock);
  const bool is_stopped = task->is_stopped;
  pthread_mutex_unlock(&task->lock);
  if (is_stopped) return MR_CANCELLED;
  const void *bytes = slot->rows[task->rows[0].buffer].host;
  const int refused = task->take(task->options.user, task->start + slot->range.start, slot->range.count, bytes);
  if (refused != 0) return fail(device, MR_CANCELLED, "stopped by the function that takes the bytes");
  pthread_mutex_lock(&task->lock);
  task->delivered += slot->range.count;
  pthread_cond_broadcast(&task->changed);
  pthread_mutex_unlock(&task->lock);
  return MR_OK;
}

/* Waits for a slot's launch and takes its results. */
static int collect(Task *task, Part *part, Device *device, const mr_variant *variant, Slot *slot) {
  int status = device->backend->wait(slot->stream);
  slot->is_busy = false;
  if (status != MR_OK) return status;
  if (task->kind == SEARCH) {
    const uint32_t found = *(const uint32_t *)slot->ring.host;
    if (found > slot->capacity) return split_range(task, part, device, variant, slot, found);
    if (found > 0) status = store_hits(task, device, variant, slot, found);
  }
  for (size_t i = 0; i < task->row_count; i++) {
    const mr_rows *rows = &task->rows[i];
    if (rows->out == NULL) continue;
    const uint64_t bytes = slot->range.count * rows->row_bytes;
    char *to = (char *)rows->out + offset_of(rows, &slot->range);
    if (!is_direct(device, to, bytes)) memcpy(to, slot->rows[rows->buffer].host, (size_t)bytes);
  }
  if (status == MR_OK && task->take != NULL) status = deliver(task, device, slot);
  if (status == MR_OK) finish_range(task, part, slot);
  return status;
}

/* ---- a part of a task ---- */

/* Copies the data that all launches share to the device, through page-locked memory. */
static int send_data(Task *task, Device *device, Stream *stream, Buffer **shared) {
  int status = MR_OK;
  for (uint32_t i = 0; i < task->kernel->buffer_count && status == MR_OK; i++) {
    if (rows_of(task, i) != NULL || (task->options.launch_bytes > 0 && task->options.launch_buffer == i)) continue;
    const mr_data *data = &task->data[i];
    shared[i] = alloc_buffer(device, data->size, &status);
    if (status != MR_OK || data->bytes == NULL || data->size == 0) continue;
    const void *from = data->bytes;
    void *staging = NULL;
    if (!is_direct(device, from, data->size)) {
      status = alloc_host(device, data->size, &staging);
      if (status != MR_OK) break;
      from = memcpy(staging, data->bytes, (size_t)data->size);
    }
    status = device->backend->write(stream, shared[i], 0, from, data->size);
    /* The copy must not be in flight when another stream reads it. */
    const int waited = device->backend->wait(stream);
    if (status == MR_OK) status = waited;
    /* After a failed wait the copy may still run: the memory is freed with the device. */
    if (staging != NULL && waited == MR_OK) free_host(device, staging);
  }
  return status;
}

/* Waits until there is a range to take, or the task is over. False if it is over. */
static bool await_work(Task *task) {
  pthread_mutex_lock(&task->lock);
  while (!is_over(task) && task->returned_count == 0 && task->next == task->count &&
         task->parts_left > 1)
    pthread_cond_wait(&task->changed, &task->lock);
  const bool has_work = !is_over(task) && (task->returned_count > 0 || task->next < task->count);
  pthread_mutex_unlock(&task->lock);
  return has_work;
}

/* Feeds the device until the task is over. */
static int feed(Feeder *feeder, Part *part, Job *job, Buffer **shared) {
  Task *task = part->task;
  Device *device = feeder->device;
  const mr_variant *variant = job->program->variant;
  const bool is_cpu = device->info.kind == MR_CPU;
  uint64_t submitted = 0, collected = 0;
  int status = MR_OK;
  for (;;) {
    while (status == MR_OK && submitted - collected < SLOTS) {
      Slot *slot = &feeder->slots[submitted % SLOTS];
      if (!take_range(task, part, job->program, is_cpu, &slot->range)) break;
      submitted++;
      status = submit(task, part, device, job, slot, shared);
    }
    if (submitted == collected) {
      if (status != MR_OK || !await_work(task)) return status;
      continue;
    }
    Slot *slot = &feeder->slots[collected % SLOTS];
    pthread_mutex_lock(&task->lock);
    const bool is_stopped = task->is_stopped;
    pthread_mutex_unlock(&task->lock);
    if (status != MR_OK || is_stopped) {
      /* Drops what is in flight; another device may do it. */
      if (slot->is_busy) {
        (void)device->backend->cancel(slot->stream);
        (void)device->backend->wait(slot->stream);
      }
      slot->is_busy = false;
    } else status = collect(task, part, device, variant, slot);
    if (status != MR_OK) {
      pthread_mutex_lock(&task->lock);
      (void)return_range(task, slot->range);
      pthread_mutex_unlock(&task->lock);
    }
    collected++;
  }
}

static void set_running(Part *part, Feeder *feeder) {
  pthread_mutex_lock(&part->task->lock);
  part->feeder = feeder;
  pthread_mutex_unlock(&part->task->lock);
}

static int run_part(Feeder *feeder, Part *part) {
  Task *task = part->task;
  Device *device = feeder->device;
  Buffer *shared[MAX_BUFFERS] = {NULL};
  int status;
  Job *job = open_job(device, task->kernel, task->job, &status);
  for (int i = 0; i < SLOTS && status == MR_OK; i++)
    if (feeder->slots[i].stream == NULL) feeder->slots[i].stream = open_stream(device, false, NULL, &status);
  if (status == MR_OK) status = send_data(task, device, feeder->slots[0].stream, shared);
  if (status == MR_OK) {
    set_running(part, feeder);
    status = feed(feeder, part, job, shared);
    set_running(part, NULL);
  }
  for (uint32_t i = 0; i < MAX_BUFFERS; i++)
    if (shared[i] != NULL) free_buffer(shared[i]);
  if (job != NULL) free_job(job);
  return status;
}

static _Thread_local size_t sorted_words;

static int compare_hits(const void *a, const void *b) {
  const uint32_t *x = a, *y = b;
  if (x[1] != y[1]) return x[1] < y[1] ? -1 : 1;
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  for (size_t i = 2; i < sorted_words; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

/* A device is done with a task. The last one sorts the hits and ends it. */
static void end_part(Task *task, int status) {
  pthread_mutex_lock(&task->lock);
  if (status != MR_OK) {
    task->parts_failed++;
    /* Other devices do what is left. A stop is for all, and rows must arrive in order. */
    const bool is_final = status == MR_CANCELLED || task->take != NULL || task->parts_failed == task->part_count;
    if (task->error[0] == 0) snprintf(task->error, sizeof task->error, "%s", thread_error);
    if (is_final && task->done < task->count) stop_task(task, status, thread_error);
  }
  if (--task->parts_left == 0 && task->status == MR_OK && task->done < task->count) {
    task->status = MR_ERROR_DEVICE; /* the last device failed after the others had nothing left to do */
    task->is_stopped = true;
  }
  if (task->parts_left == 0 && task->hit_count > 1) {
    sorted_words = 2 + (size_t)task->kernel->hit_words;
    qsort(task->hits, task->hit_count, sorted_words * sizeof(uint32_t), compare_hits);
  }
  pthread_cond_broadcast(&task->changed);
  pthread_mutex_unlock(&task->lock);
}

/* ---- the thread of a device ---- */

static void *feeder_thread(void *given) {
  Feeder *feeder = given;
  pthread_mutex_lock(&feeder->lock);
  for (;;) {
    while (feeder->first == NULL && !feeder->is_ending) pthread_cond_wait(&feeder->changed, &feeder->lock);
    Part *part = feeder->first;
    if (part == NULL) break;
    feeder->first = part->next;
    if (feeder->first == NULL) feeder->last = NULL;
    pthread_mutex_unlock(&feeder->lock);
    thread_error[0] = 0;
    end_part(part->task, run_part(feeder, part));
    pthread_mutex_lock(&feeder->lock);
  }
  pthread_mutex_unlock(&feeder->lock);
  return NULL;
}

static Feeder *feeder_of(Device *device, int *status) {
  *status = MR_OK;
  pthread_mutex_lock(&device->build);
  if (device->feeder == NULL) {
    Feeder *feeder = allocate(1, sizeof *feeder);
    if (feeder != NULL) {
      feeder->device = device;
      pthread_mutex_init(&feeder->lock, NULL);
      pthread_cond_init(&feeder->changed, NULL);
      const int code =
          MR_FAULT("pthread_create") ? EAGAIN : pthread_create(&feeder->thread, NULL, feeder_thread, feeder);
      if (code != 0) {
        pthread_cond_destroy(&feeder->changed);
        pthread_mutex_destroy(&feeder->lock);
        free(feeder);
        feeder = NULL;
      }
    }
    device->feeder = feeder;
    if (feeder == NULL) *status = fail(device, MR_ERROR_MEMORY, "%s: cannot start a thread", device->info.id);
  }
  pthread_mutex_unlock(&device->build);
  return device->feeder;
}

/* Ends the thread. Its memory and streams are the device's and are freed with it. */
static void close_feeder(Device *device) {
  Feeder *feeder = device->feeder;
  if (feeder == NULL) return;
  pthread_mutex_lock(&feeder->lock);
  feeder->is_ending = true;
  pthread_cond_signal(&feeder->changed);
  pthread_mutex_unlock(&feeder->lock);
  pthread_join(feeder->thread, NULL);
  pthread_cond_destroy(&feeder->changed);
  pthread_mutex_destroy(&feeder->lock);
  free(feeder);
  device->feeder = NULL;
}

static void queue_part(Feeder *feeder, Part *part) {
  pthread_mutex_lock(&feeder->lock);
  if (feeder->last == NULL) feeder->first = part;
  else feeder->last->next = part;
  feeder->last = part;
  pthread_cond_signal(&feeder->changed);
  pthread_mutex_unlock(&feeder->lock);
}

/* ---- tasks ---- */

static Device *member_of(Device *device, size_t index) {
  return device->backend != NULL ? device : device->members[index];
}

/* Ends the parts of a finished task that wait behind another task of their device. */
static void withdraw_parts(Task *task) {
  for (size_t i = 0; i < task->part_count; i++) {
    Feeder *feeder = member_of(task->object.device, i)->feeder;
    bool found = false;
    pthread_mutex_lock(&feeder->lock);
    for (Part **at = &feeder->first, *before = NULL; *at != NULL; before = *at, at = &(*at)->next) {
      if (*at != &task->parts[i]) continue;
      if (feeder->last == *at) feeder->last = before;
      *at = (*at)->next;
      found = true;
      break;
    }
    pthread_mutex_unlock(&feeder->lock);
    if (found) end_part(task, MR_OK);
  }
}

static void wait_task(Task *task) {
  pthread_mutex_lock(&task->lock);
  while (task->parts_left > 0) {
    if (is_over(task)) {
      pthread_mutex_unlock(&task->lock);
      withdraw_parts(task);
      pthread_mutex_lock(&task->lock);
      if (task->parts_left == 0) break;
    }
    pthread_cond_wait(&task->changed, &task->lock);
  }
  pthread_mutex_unlock(&task->lock);
}

static void cancel_task(Task *task) {
  pthread_mutex_lock(&task->lock);
  if (task->parts_left > 0 && task->done < task->count) {
    stop_task(task, MR_CANCELLED, "the task was cancelled");
    for (size_t i = 0; i < task->part_count; i++) {
      Feeder *feeder = task->parts[i].feeder;
      for (int k = 0; feeder != NULL && k < SLOTS; k++)
        (void)feeder->device->backend->cancel(feeder->slots[k].stream);
    }
  }
  pthread_mutex_unlock(&task->lock);
}

static void free_task(Task *task) {
  pthread_cond_destroy(&task->changed);
  pthread_mutex_destroy(&task->report);
  pthread_mutex_destroy(&task->lock);
  free(task->job);
  free(task->data);
  free(task->rows);
  free(task->parts);
  free(task->returned);
  free(task->hits);
  delete_object(&task->object);
}

static void delete_task(Task *task) {
  cancel_task(task);
  wait_task(task);
  free_task(task);
}

/* A copy of an array; null if there is no memory, or if it is empty. */
static void *copied(const void *from, size_t count, size_t size) {
  void *made = count == 0 ? NULL : allocate(count, size);
  if (made != NULL && from != NULL) memcpy(made, from, count * size);
  return made;
}

typedef struct TaskSpec {
  TaskKind kind;
  const mr_kernel *kernel;
  const void *job;
  const mr_data *data;
  const mr_rows *rows;
  size_t row_count;
  uint64_t start, count;
  mr_take *take;
  const mr_task_options *options;
} TaskSpec;

static int check_task(Device *device, const TaskSpec *spec) {
  int status = check_kernel(device, spec->kernel);
  if (status != MR_OK) return status;
  const mr_kernel *kernel = spec->kernel;
  const mr_task_options none = {0}, *options = spec->options == NULL ? &none : spec->options;
  if (kernel->job_bytes > 0 && spec->job == NULL)
    return fail(device, MR_ERROR_ARGUMENT, "kernel %s needs job values", kernel->name);
  if (kernel->chunk_bytes > 0 && options->chunk == NULL)
    return fail(device, MR_ERROR_ARGUMENT, "kernel %s needs a function that sets the values of a launch", kernel->name);
  if (kernel->chunk_bytes > sizeof(ChunkValues))
    return fail(device, MR_ERROR_ARGUMENT, "kernel %s has too many values of a launch for a task", kernel->name);
  if (spec->kind == SEARCH && kernel->hit_words == 0)
    return fail(device, MR_ERROR_ARGUMENT, "kernel %s declares no hits: a search would find nothing", kernel->name);
  if (spec->count > 0 && spec->start > UINT64_MAX - (spec->count - 1))
    return fail(device, MR_ERROR_ARGUMENT, "indices have 64 bits: the range ends beyond 2^64");
  if (options->ring_hits > 0x7fffffff) return fail(device, MR_ERROR_ARGUMENT, "ring_hits is too large");
  if (options->launch_bytes > 0 && (options->chunk == NULL || options->launch_buffer >= kernel->buffer_count))
    return fail(device, MR_ERROR_ARGUMENT, "launch_bytes needs a chunk function and a buffer of the kernel");
  for (size_t i = 0; i < spec->row_count; i++) {
    const mr_rows *rows = &spec->rows[i];
    if (rows->buffer >= kernel->buffer_count || rows->row_bytes == 0 || rows->row_bytes > (uint64_t)1 << 40)
      return fail(device, MR_ERROR_ARGUMENT, "kernel %s: rows need one of its buffers and at least one byte",
                  kernel->name);
    if (spec->count > UINT64_MAX / rows->row_bytes)
      return fail(device, MR_ERROR_ARGUMENT, "the rows of the range have more than 2^64 bytes");
    for (size_t other = 0; other < i; other++)
      if (spec->rows[other].buffer == rows->buffer)
        return fail(device, MR_ERROR_ARGUMENT, "kernel %s: a buffer has rows twice", kernel->name);
  }
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    bool has_rows = options->launch_bytes > 0 && options->launch_buffer == i;
    for (size_t k = 0; k < spec->row_count; k++) has_rows = has_rows || spec->rows[k].buffer == i;
    if (!has_rows && spec->data == NULL)
      return fail(device, MR_ERROR_ARGUMENT, "kernel %s: no data for its buffer %s", kernel->name,
                  kernel->buffers[i].name);
  }
  return MR_OK;
}

static int start_task(mr_device *handle, const TaskSpec *spec, mr_task **made) {
  if (made == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "no place for the task");
  *made = NULL;
  Device *device = find_object(handle, DEVICE);
  if (device == NULL) return bad_handle("device");
  int status = check_task(device, spec);
  if (status != MR_OK) return status;
  const size_t members = device->backend != NULL ? 1 : device->member_count;
  const mr_kernel *kernel = spec->kernel;
  Task *task = new_object(TASK, sizeof *task, device);
  if (task == NULL) return no_memory(device, sizeof *task);
  pthread_mutex_init(&task->lock, NULL);
  pthread_mutex_init(&task->report, NULL);
  pthread_cond_init(&task->changed, NULL);
  task->kind = spec->kind;
  task->kernel = kernel;
  task->take = spec->take;
  task->start = spec->start;
  task->count = spec->count;
  if (spec->options != NULL) task->options = *spec->options;
  task->job = copied(spec->job, kernel->job_bytes, 1);
  task->data = copied(spec->data, kernel->buffer_count, sizeof(mr_data));
  task->rows = copied(spec->rows, spec->row_count, sizeof(mr_rows));
  task->row_count = spec->row_count;
  task->parts = allocate(members, sizeof(Part));
  if ((task->job == NULL && kernel->job_bytes > 0) || (task->data == NULL && kernel->buffer_count > 0) ||
      (task->rows == NULL && spec->row_count > 0) || task->parts == NULL) {
    free_task(task);
    return no_memory(device, sizeof *task);
  }
  for (size_t i = 0; i < task->row_count; i++) task->index_bytes += task->rows[i].row_bytes;
  Feeder *feeders[64];
  for (size_t i = 0; i < members; i++) {
    feeders[i] = feeder_of(member_of(device, i), &status);
    if (status != MR_OK) {
      free_task(task);
      return status;
    }
    task->parts[i].task = task;
    task->parts[i].ring_hits = task->options.ring_hits > 0 ? task->options.ring_hits : DEFAULT_RING;
  }
  task->part_count = task->parts_left = task->count == 0 ? 0 : members;
  *made = (mr_task *)task->object.handle;
  for (size_t i = 0; i < (task->count == 0 ? 0 : members); i++) queue_part(feeders[i], &task->parts[i]);
  return MR_OK;
}

int mr_search_start(mr_device *device, const mr_kernel *kernel, const void *job, const mr_data *data, uint64_t start,
                    uint64_t count, const mr_task_options *options, mr_task **task) {
  const TaskSpec spec = {
      .kind = SEARCH, .kernel = kernel, .job = job, .data = data, .start = start, .count = count, .options = options};
  return start_task(device, &spec, task);
}

static int start_generate(mr_device *device, const mr_kernel *kernel, const void *job, const mr_data *data,
                          const mr_rows *rows, uint64_t start, uint64_t count, mr_take *take,
                          const mr_task_options *options, mr_task **task) {
  const TaskSpec spec = {.kind = GENERATE, .kernel = kernel, .job = job, .data = data, .rows = rows, .row_count = 1,
                         .start = start, .count = count, .take = take, .options = options};
  return start_task(device, &spec, task);
}

int mr_generate_start(mr_device *device, const mr_kernel *kernel, const void *job, const mr_data *data,
                      uint32_t output, uint64_t row_bytes, uint64_t start, uint64_t count, void *out,
                      const mr_task_options *options, mr_task **task) {
  if (out == NULL && count > 0) return fail(NULL, MR_ERROR_ARGUMENT, "mr_generate_start: no memory for the rows");
  const mr_rows rows = {.buffer = output, .row_bytes = row_bytes, .out = out};
  return start_generate(device, kernel, job, data, &rows, start, count, NULL, options, task);
}

int mr_generate_each(mr_device *device, const mr_kernel *kernel, const void *job, const mr_data *data, uint32_t output,
                     uint64_t row_bytes, uint64_t start, uint64_t count, mr_take *take,
                     const mr_task_options *options, mr_task **task) {
  if (take == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_generate_each: no function that takes the rows");
  const mr_rows rows = {.buffer = output, .row_bytes = row_bytes};
  return start_generate(device, kernel, job, data, &rows, start, count, take, options, task);
}

int mr_transform_start(mr_device *device, const mr_kernel *kernel, const void *job, const mr_data *data,
                       const mr_rows *rows, size_t row_buffers, uint64_t count, const mr_task_options *options,
                       mr_task **task) {
  if (rows == NULL || row_buffers == 0 || row_buffers > MAX_BUFFERS)
    return fail(NULL, MR_ERROR_ARGUMENT, "mr_transform_start: no rows");
  const TaskSpec spec = {.kind = TRANSFORM, .kernel = kernel, .job = job, .data = data, .rows = rows,
                         .row_count = row_buffers, .count = count, .options = options};
  return start_task(device, &spec, task);
}

int mr_task_wait(mr_task *handle) {
  Task *task = find_object(handle, TASK);
  if (task == NULL) return bad_handle("task");
  wait_task(task);
  return task->status == MR_OK ? MR_OK : fail(NULL, task->status, "%s", task->error);
}

int mr_task_is_done(mr_task *handle) {
  Task *task = find_object(handle, TASK);
  if (task == NULL) return bad_handle("task");
  pthread_mutex_lock(&task->lock);
  const bool is_ending = is_over(task) && task->parts_left > 0;
  pthread_mutex_unlock(&task->lock);
  if (is_ending) withdraw_parts(task);
  pthread_mutex_lock(&task->lock);
  const bool is_done = task->parts_left == 0;
  pthread_mutex_unlock(&task->lock);
  return is_done;
}

int mr_task_progress(mr_task *handle, uint64_t *done, uint64_t *total) {
  Task *task = find_object(handle, TASK);
  if (task == NULL) return bad_handle("task");
  pthread_mutex_lock(&task->lock);
  if (done != NULL) *done = task->done;
  if (total != NULL) *total = task->count;
  pthread_mutex_unlock(&task->lock);
  return MR_OK;
}

int mr_task_cancel(mr_task *handle) {
  Task *task = find_object(handle, TASK);
  if (task == NULL) return bad_handle("task");
  cancel_task(task);
  return MR_OK;
}

void mr_task_close(mr_task *handle) {
  Task *task = handle == NULL ? NULL : find_object(handle, TASK);
  if (task != NULL) delete_task(task);
  else if (handle != NULL) bad_handle("task");
}

int mr_search_hits(mr_task *handle, const uint32_t **records, size_t *count) {
  Task *task = find_object(handle, TASK);
  if (task == NULL) return bad_handle("task");
  if (records == NULL || count == NULL)
    return fail(NULL, MR_ERROR_ARGUMENT, "mr_search_hits: places for the records and their number are needed");
  pthread_mutex_lock(&task->lock);
  const bool is_done = task->parts_left == 0;
  *records = task->hits;
  *count = task->hit_count;
  pthread_mutex_unlock(&task->lock);
  return is_done ? MR_OK : fail(NULL, MR_ERROR_ARGUMENT, "mr_search_hits: the task has not ended");
}
