/* The processors of this machine: a pool of threads, made once, that runs the commands of all streams of the device. */
#include "internal.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

/* Memory of a buffer. Commands hold it, so that it outlives a buffer that is freed while they are queued. */
typedef struct CpuMemory {
  atomic_uint holders;
  void *memory;
  uint64_t mapped; /* bytes; 0: from allocate_pages() or adopted */
  bool is_adopted;
} CpuMemory;

typedef enum CommandKind { COPY, FILL, LAUNCH, FOLLOW } CommandKind;

typedef struct CpuCommand {
  struct CpuCommand *next;
  CommandKind kind;
  uint64_t total, taken, done; /* units: bytes of a copy, words of a fill, items of a launch */
  uint32_t running;            /* slices that threads work on */
  bool is_stopped;             /* a slice returned early: nothing more of it is started */
  unsigned char *to;
  const unsigned char *from;
  uint32_t word;
  Stream *stream;    /* FOLLOW: waits for this command of that stream */
  uint64_t sequence;
  Program *program; /* LAUNCH */
  uint64_t *launch; /* the words that the kernel reads */
  const uint32_t *counter;
  uint32_t epoch;
  double last_items;
  uint32_t held_count;
  CpuMemory *held[]; /* then the launch's words and its parameters */
} CpuCommand;

typedef struct Cpu {
  pthread_mutex_t lock;
  pthread_cond_t work, finished;
  Stream *streams;
  pthread_t *threads;
  uint32_t thread_count;
  bool is_ending;
} Cpu;

/* ---- the processor ---- */

/* Writes the names of the instruction sets that generated code asks for, as /proc/cpuinfo calls them. */
static void cpu_features(char *list, size_t bytes) {
  list[0] = 0;
#if defined(__x86_64__)
  static const struct {
    const char *name;
    unsigned leaf, word, bit, state; /* state: 1 if the system must save the registers of AVX, 2 of AVX-512 */
  } known[] = {
      {"sse4_1", 1, 2, 19, 0},  {"aes", 1, 2, 25, 0},      {"fma", 1, 2, 12, 1},      {"popcnt", 1, 2, 23, 0},
      {"bmi1", 7, 1, 3, 0},     {"avx2", 7, 1, 5, 1},      {"bmi2", 7, 1, 8, 0},      {"avx512f", 7, 1, 16, 2},
      {"avx512dq", 7, 1, 17, 2}, {"adx", 7, 1, 19, 0},     {"sha_ni", 7, 1, 29, 0},   {"avx512bw", 7, 1, 30, 2},
      {"avx512vl", 7, 1, 31, 2}, {"vaes", 7, 2, 9, 1},
  };
  unsigned words[8][4] = {{0}};
  unsigned saved = 0;
  __get_cpuid(1, &words[1][0], &words[1][1], &words[1][2], &words[1][3]);
  __get_cpuid_count(7, 0, &words[7][0], &words[7][1], &words[7][2], &words[7][3]);
  if (words[1][2] >> 27 & 1) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    saved = (low & 0xe6) == 0xe6 ? 2 : (low & 6) == 6 ? 1 : 0;
  }
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!(words[known[i].leaf][known[i].word] >> known[i].bit & 1) || known[i].state > saved) continue;
    const size_t length = strlen(list);
    snprintf(list + length, bytes - length, "%s%s", length == 0 ? "" : " ", known[i].name);
  }
#elif defined(__aarch64__)
#if defined(__linux__)
  const unsigned long bits = getauxval(AT_HWCAP); /* 3: AES, 6: SHA2 */
  snprintf(list, bytes, "neon%s%s", bits >> 3 & 1 ? " aes" : "", bits >> 6 & 1 ? " sha2" : "");
#else
  snprintf(list, bytes, "neon aes sha2");
#endif
#else
  (void)bytes;
#endif
}

static uint32_t processor_count(void) {
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : count > 1024 ? 1024 : (uint32_t)count;
}

static void describe_cpu(mr_info *info, uint32_t threads) {
  memset(info, 0, sizeof *info);
  snprintf(info->id, sizeof info->id, "cpu");
  info->kind = MR_CPU;
  info->units = threads;
  info->memory_bytes = host_memory_bytes();
  snprintf(info->name, sizeof info->name, "CPU");
  FILE *file = fopen("/proc/cpuinfo", "re");
  if (file == NULL) return;
  char line[512], name[200];
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "model name : %199[^\n]", name) == 1) {
      snprintf(info->name, sizeof info->name, "%s", name);
      break;
    }
  fclose(file);
}

/* ---- memory ---- */

static void release_memory(CpuMemory *memory) {
  if (memory == NULL || atomic_fetch_sub(&memory->holders, 1) != 1) return;
  if (memory->mapped > 0) munmap(memory->memory, (size_t)memory->mapped);
  else if (!memory->is_adopted) free(memory->memory);
  free(memory);
}

#define MAP_FROM ((uint64_t)1 << 20) /* smaller buffers are zeroed at once, larger ones page by page when used */
#define MARGIN 64                    /* bytes after the end: vectors may be loaded that begin at the last element */

static int cpu_buffer_alloc(Buffer *buffer) {
  Device *device = buffer->object.device;
  const uint64_t bytes = buffer->bytes;
  if (bytes > device->info.memory_bytes)
    return fail(device, MR_ERROR_MEMORY, "cpu: a buffer of %llu bytes is larger than the machine's memory",
                (unsigned long long)bytes);
  CpuMemory *memory = allocate(1, sizeof *memory);
  if (memory == NULL) return no_memory(device, sizeof *memory);
  if (bytes >= MAP_FROM) {
    memory->mapped = bytes + MARGIN;
    memory->memory = MR_FAULT("mmap") ? MAP_FAILED
                                      : mmap(NULL, (size_t)memory->mapped, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory->memory == MAP_FAILED) memory->memory = NULL;
  } else memory->memory = allocate_pages(bytes + MARGIN);
  if (memory->memory == NULL) {
    free(memory);
    return no_memory(device, bytes);
  }
  atomic_init(&memory->holders, 1);
  buffer->memory = memory;
  buffer->address = (uint64_t)(uintptr_t)memory->memory;
  return MR_OK;
}

static int cpu_buffer_adopt(Buffer *buffer) {
  CpuMemory *memory = allocate(1, sizeof *memory);
  if (memory == NULL) return no_memory(buffer->object.device, sizeof *memory);
  atomic_init(&memory->holders, 1);
  memory->memory = (void *)(uintptr_t)buffer->address;
  memory->is_adopted = true;
  buffer->memory = memory;
  return MR_OK;
}

static void cpu_buffer_free(Buffer *buffer) { release_memory(buffer->memory); }

static int cpu_host_alloc(Device *device, uint64_t bytes, void **memory, void **native) {
  (void)native;
  *memory = bytes > device->info.memory_bytes ? NULL : allocate_pages(bytes);
  return *memory == NULL ? no_memory(device, bytes) : MR_OK;
}

static void cpu_host_free(Device *device, void *memory, void *native) {
  (void)device;
  (void)native;
  free(memory);
}

/* ---- threads ---- */

#define SLICE_NS 2e6     /* target time of a slice of a launch */
#define MIN_SLICE_NS 1e5 /* below this, waking a thread costs more than it gains */
#define COPY_SLICE ((uint64_t)1 << 20)

/* Items of the next slice: a few at first, then as many as should take 2 ms, fewer near the end of the launch, so that
   all threads end together. A multiple of the lanes. */
static uint64_t slice_items(const CpuCommand *command, uint32_t threads) {
  const Program *program = command->program;
  const uint64_t lanes = program->variant->lanes, left = command->total - command->taken;
  double wanted = (double)lanes;
  if (program->item_ns > 0) {
    const double floor = MIN_SLICE_NS / program->item_ns, share = (double)left / (2.0 * threads);
    const double growth = 2 * (command->last_items > floor / 2 ? command->last_items : floor / 2);
    wanted = SLICE_NS / program->item_ns;
    if (wanted > growth) wanted = growth;
    if (wanted > share) wanted = share > floor ? share : floor;
  }
  uint64_t items = wanted < (double)left ? (uint64_t)wanted / lanes * lanes : left;
  if (items < lanes) items = lanes;
  return items < left ? items : left;
}

/* Finds a slice of work for a thread. The head of each stream's queue is the only command that may run. */
static CpuCommand *take_slice(Cpu *cpu, Stream **owner, uint64_t *begin, uint64_t *end) {
  for (Stream *stream = cpu->streams; stream != NULL; stream = stream->next_stream) {
    CpuCommand *command = stream->head;
    if (command == NULL || command->is_stopped || command->taken == command->total) continue;
    if (command->kind == FOLLOW) {
      if (command->stream != NULL && command->stream->done < command->sequence) continue;
      command->is_stopped = true; /* nothing to run: it ends when it is next looked at */
      *begin = *end = 0;
    } else {
      if (command->kind == LAUNCH && command->taken == 0 && command->counter != NULL) {
        const uint64_t count = *command->counter;
        if (count < command->total) command->total = count;
        if (command->total == 0) command->is_stopped = true;
      }
      uint64_t units = command->total - command->taken;
      if (command->kind == LAUNCH) units = units == 0 ? 0 : slice_items(command, cpu->thread_count);
      else if (units > COPY_SLICE) units = COPY_SLICE;
      *begin = command->taken;
      *end = command->taken += units;
    }
    command->running++;
    *owner = stream;
    return command;
  }
  return NULL;
}

static void free_command(CpuCommand *command) {
  for (uint32_t i = 0; i < command->held_count; i++) release_memory(command->held[i]);
  free(command);
}

/* Records what a slice has done, and removes the command if that was the last. */
static void finish_slice(Cpu *cpu, Stream *stream, CpuCommand *command, uint64_t units, uint64_t done, double spent) {
  command->running--;
  command->done += done;
  if (command->kind == LAUNCH && units > 0) {
    Program *program = command->program;
    if (done < units) {
      command->is_stopped = true;
      stream->is_cut = true;
    } else {
      const double measured = (spent < 1 ? 1 : spent) / (double)done;
      program->item_ns = program->item_ns == 0 ? measured : (program->item_ns + measured) / 2;
      if ((double)done > command->last_items) command->last_items = (double)done;
      if ((double)done > program->last_items) program->last_items = (double)done;
    }
  }
  if (command->running > 0 || (!command->is_stopped && command->done < command->total)) return;
  stream->head = command->next;
  if (stream->head == NULL) stream->tail = NULL;
  stream->done++;
  free_command(command);
  pthread_cond_broadcast(&cpu->finished);
  pthread_cond_broadcast(&cpu->work);
}

static uint64_t run_slice(const CpuCommand *command, uint64_t begin, uint64_t end) {
  switch (command->kind) {
    case COPY:
      memmove(command->to + begin, command->from + begin, (size_t)(end - begin));
      return end - begin;
    case FILL:
      for (uint64_t i = begin; i < end; i++) memcpy(command->to + 4 * i, &command->word, 4);
      return end - begin;
    case LAUNCH:
      return begin == end ? 0 : command->program->variant->run(command->launch, begin, end);
    default:
      return 0;
  }
}

static void *cpu_thread(void *given) {
  Cpu *cpu = given;
  pthread_mutex_lock(&cpu->lock);
  for (;;) {
    Stream *stream = NULL;
    uint64_t begin = 0, end = 0;
    CpuCommand *command = take_slice(cpu, &stream, &begin, &end);
    if (command == NULL) {
      if (cpu->is_ending) break;
      pthread_cond_wait(&cpu->work, &cpu->lock);
      continue;
    }
    pthread_mutex_unlock(&cpu->lock);
    const double began = now_ns();
    const uint64_t done = run_slice(command, begin, end);
    const double spent = now_ns() - began;
    pthread_mutex_lock(&cpu->lock);
    finish_slice(cpu, stream, command, end - begin, done, spent);
  }
  pthread_mutex_unlock(&cpu->lock);
  return NULL;
}

/* ---- device ---- */

static void cpu_close(Device *device) {
  Cpu *cpu = device->state;
  if (cpu == NULL) return;
  pthread_mutex_lock(&cpu->lock);
  cpu->is_ending = true;
  pthread_cond_broadcast(&cpu->work);
  pthread_mutex_unlock(&cpu->lock);
  for (uint32_t i = 0; i < cpu->thread_count; i++) pthread_join(cpu->threads[i], NULL);
  pthread_cond_destroy(&cpu->work);
  pthread_cond_destroy(&cpu->finished);
  pthread_mutex_destroy(&cpu->lock);
  free(cpu->threads);
  free(cpu);
  device->state = NULL;
}

/* `ordinal` is the number of threads; 0: as many as there are processors. */
static int cpu_open(Device *device, void *context, int ordinal) {
  (void)context;
  const uint32_t wanted = ordinal > 0 ? (uint32_t)ordinal : processor_count();
  if (wanted > 1024) return fail(NULL, MR_ERROR_ARGUMENT, "cpu:%d: a device has at most 1024 threads", ordinal);
  describe_cpu(&device->info, wanted);
  Cpu *cpu = allocate(1, sizeof *cpu);
  if (cpu != NULL) cpu->threads = allocate(wanted, sizeof *cpu->threads);
  if (cpu == NULL || cpu->threads == NULL) {
    free(cpu);
    return no_memory(NULL, wanted * sizeof *cpu->threads);
  }
  pthread_mutex_init(&cpu->lock, NULL);
  pthread_cond_init(&cpu->work, NULL);
  pthread_cond_init(&cpu->finished, NULL);
  device->state = cpu;
  for (uint32_t i = 0; i < wanted; i++) {
    const int code = MR_FAULT("pthread_create") ? EAGAIN : pthread_create(&cpu->threads[i], NULL, cpu_thread, cpu);
    if (code != 0 && i == 0) {
      cpu_close(device);
      return fail(NULL, MR_ERROR_MEMORY, "cpu: cannot start a thread: %s", strerror(code));
    }
    if (code != 0) break; /* fewer threads do the same work */
    pthread_mutex_lock(&cpu->lock);
    cpu->thread_count = i + 1;
    pthread_mutex_unlock(&cpu->lock);
  }
  device->info.units = cpu->thread_count;
  return MR_OK;
}

static int cpu_compile(Device *device, Program *program) {
  (void)device;
  program->resident_groups = 1;
  return program->variant->run == NULL ? fail(device, MR_ERROR_ARGUMENT, "a CPU variant without code") : MR_OK;
}

static void cpu_unload(Device *device, Program *program) {
  (void)device;
  (void)program;
}

/* ---- streams ---- */

static int cpu_stream_open(Stream *stream) {
  Cpu *cpu = stream->object.device->state;
  pthread_mutex_lock(&cpu->lock);
  Stream **last = &cpu->streams; /* at the end: older streams come first */
  while (*last != NULL) last = &(*last)->next_stream;
  *last = stream;
  pthread_mutex_unlock(&cpu->lock);
  return MR_OK;
}

static void wait_for_stream(Cpu *cpu, Stream *stream, uint64_t sequence) {
  while (stream->done < sequence) pthread_cond_wait(&cpu->finished, &cpu->lock);
}

static void cpu_stream_close(Stream *stream) {
  Cpu *cpu = stream->object.device->state;
  pthread_mutex_lock(&cpu->lock);
  wait_for_stream(cpu, stream, stream->queued);
  Stream **at = &cpu->streams;
  while (*at != stream) at = &(*at)->next_stream;
  *at = stream->next_stream;
  /* Commands of other streams that wait for this one need not any more. */
  for (Stream *other = cpu->streams; other != NULL; other = other->next_stream)
    for (CpuCommand *command = other->head; command != NULL; command = command->next)
      if (command->kind == FOLLOW && command->stream == stream) command->stream = NULL;
  pthread_mutex_unlock(&cpu->lock);
}

static void queue_command(Stream *stream, CpuCommand *command) {
  Cpu *cpu = stream->object.device->state;
  pthread_mutex_lock(&cpu->lock);
  if (command->kind == LAUNCH) {
    command->epoch = stream->epoch;
    command->launch[2] = stream->epoch;
    /* Items of another job may be slower than the last launch's: its slices begin smaller. */
    command->last_items = command->program->last_items / 16;
  }
  if (stream->tail == NULL) stream->head = command;
  else stream->tail->next = command;
  stream->tail = command;
  stream->queued++;
  pthread_cond_broadcast(&cpu->work);
  pthread_mutex_unlock(&cpu->lock);
}

static CpuCommand *new_command(Stream *stream, CommandKind kind, uint64_t total, uint32_t held, size_t extra) {
  CpuCommand *command = allocate(1, sizeof *command + held * sizeof(CpuMemory *) + extra);
  if (command == NULL) {
    no_memory(stream->object.device, sizeof *command + extra);
    return NULL;
  }
  command->kind = kind;
  command->total = total;
  return command;
}

static void hold(CpuCommand *command, CpuMemory *memory) {
  atomic_fetch_add(&memory->holders, 1);
  command->held[command->held_count++] = memory;
}

static unsigned char *bytes_at(const Buffer *buffer, uint64_t offset) {
  return (unsigned char *)(uintptr_t)buffer->address + offset;
}

static int cpu_write(Stream *stream, Buffer *to, uint64_t offset, const void *from, uint64_t bytes) {
  CpuCommand *command = new_command(stream, COPY, bytes, 1, 0);
  if (command == NULL) return MR_ERROR_MEMORY;
  command->to = bytes_at(to, offset);
  command->from = from;
  hold(command, to->memory);
  queue_command(stream, command);
  return MR_OK;
}

static int cpu_read(Stream *stream, Buffer *from, uint64_t offset, void *to, uint64_t bytes) {
  CpuCommand *command = new_command(stream, COPY, bytes, 1, 0);
  if (command == NULL) return MR_ERROR_MEMORY;
  command->to = to;
  command->from = bytes_at(from, offset);
  hold(command, from->memory);
  queue_command(stream, command);
  return MR_OK;
}

static int cpu_copy(Stream *stream, Buffer *from, uint64_t from_offset, Buffer *to, uint64_t to_offset,
                    uint64_t bytes) {
  CpuCommand *command = new_command(stream, COPY, bytes, 2, 0);
  if (command == NULL) return MR_ERROR_MEMORY;
  command->to = bytes_at(to, to_offset);
  command->from = bytes_at(from, from_offset);
  hold(command, from->memory);
  hold(command, to->memory);
  queue_command(stream, command);
  return MR_OK;
}

static int cpu_fill(Stream *stream, Buffer *buffer, uint32_t word, uint64_t offset, uint64_t bytes) {
  CpuCommand *command = new_command(stream, FILL, bytes / 4, 1, 0);
  if (command == NULL) return MR_ERROR_MEMORY;
  command->to = bytes_at(buffer, offset);
  command->word = word;
  hold(command, buffer->memory);
  queue_command(stream, command);
  return MR_OK;
}

/* The kernel's launch words: addresses of parameters and control, the epoch, address and size of each binding. */
static int cpu_launch(Stream *stream, Job *job, const Launch *launch) {
  const mr_variant *variant = job->program->variant;
  const uint32_t count = launch->buffer_count, parameters = variant->job_words + variant->chunk_words;
  const size_t words = 3 + 2 * ((size_t)count + 1); /* one more: kernels without hits have a ring, too */
  CpuCommand *command =
      new_command(stream, LAUNCH, launch->count, count + 1, words * sizeof(uint64_t) + parameters * sizeof(uint32_t) + 8);
  if (command == NULL) return MR_ERROR_MEMORY;
  uint64_t *block = (uint64_t *)(void *)(command->held + count + 1);
  uint32_t *params = (uint32_t *)(void *)(block + words);
  uint64_t sizes[64];
  for (uint32_t i = 0; i < count; i++) {
    const Buffer *buffer = launch->buffers[i];
    sizes[i] = buffer->bytes;
    block[3 + 2 * i] = buffer->address;
    block[4 + 2 * i] = buffer->bytes;
    hold(command, buffer->memory);
  }
  if (launch->count_buffer != NULL) {
    command->counter = (const uint32_t *)(const void *)bytes_at(launch->count_buffer, 4 * launch->count_word);
    hold(command, launch->count_buffer->memory);
  }
  memcpy(params, job->words, variant->job_words * sizeof *params);
  const mr_place place = {launch->base, launch->ring_capacity, sizes};
  if (variant->chunk != NULL) variant->chunk(job->values, launch->chunk, &place, params);
  block[0] = (uint64_t)(uintptr_t)params;
  block[1] = (uint64_t)(uintptr_t)stream->control;
  command->launch = block;
  command->program = job->program;
  queue_command(stream, command);
  return MR_OK;
}

/* The status of the launches since the last wait. */
static int launch_status(Stream *stream, uint32_t *status, bool is_cut) {
  Device *device = stream->object.device;
  const bool trapped = status[STATUS_TRAPPED] != 0;
  uint64_t index, length;
  memcpy(&index, &status[STATUS_INDEX], 8);
  memcpy(&length, &status[STATUS_LENGTH], 8);
  const uint32_t site = status[STATUS_SITE];
  memset(status + STATUS_TRAPPED, 0, (STATUS_WORDS - 1) * sizeof *status);
  if (trapped)
    return fail(device, MR_ERROR_BOUNDS, "%s: access %u of the kernel has the index %llu, but there are %llu elements",
                device->info.id, site, (unsigned long long)index, (unsigned long long)length);
  return is_cut ? fail(device, MR_CANCELLED, "%s: a launch was cancelled", device->info.id) : MR_OK;
}

static int cpu_wait(Stream *stream) {
  Cpu *cpu = stream->object.device->state;
  pthread_mutex_lock(&cpu->lock);
  wait_for_stream(cpu, stream, stream->queued);
  const bool is_cut = stream->is_cut;
  stream->is_cut = false;
  pthread_mutex_unlock(&cpu->lock);
  return launch_status(stream, stream->control, is_cut);
}

static int cpu_is_idle(Stream *stream) {
  Cpu *cpu = stream->object.device->state;
  pthread_mutex_lock(&cpu->lock);
  const bool is_idle = stream->done == stream->queued;
  pthread_mutex_unlock(&cpu->lock);
  return is_idle;
}

static int cpu_cancel(Stream *stream) {
  Cpu *cpu = stream->object.device->state;
  pthread_mutex_lock(&cpu->lock);
  stream->epoch++;
  __atomic_store_n(&stream->control[0], stream->epoch, __ATOMIC_RELAXED); /* kernels read it without the lock */
  pthread_mutex_unlock(&cpu->lock);
  return MR_OK;
}

/* ---- events ---- */

static int cpu_event_open(Event *event) {
  (void)event;
  return MR_OK;
}

static void cpu_event_close(Event *event) { (void)event; }

static int cpu_event_record(Event *event, Stream *stream) {
  Cpu *cpu = stream->object.device->state;
  pthread_mutex_lock(&cpu->lock);
  event->stream = stream->object.handle;
  event->sequence = stream->queued;
  pthread_mutex_unlock(&cpu->lock);
  return MR_OK;
}

/* The event's stream; null if it was closed, and thus has run all its commands. */
static Stream *stream_of_event(const Cpu *cpu, const Event *event) {
  Stream *stream = cpu->streams;
  while (stream != NULL && stream->object.handle != event->stream) stream = stream->next_stream;
  return stream;
}

static int cpu_event_wait(Event *event) {
  Cpu *cpu = event->object.device->state;
  pthread_mutex_lock(&cpu->lock);
  const uint64_t sequence = event->sequence;
  for (const Stream *stream; (stream = stream_of_event(cpu, event)) != NULL && stream->done < sequence;)
    pthread_cond_wait(&cpu->finished, &cpu->lock);
  pthread_mutex_unlock(&cpu->lock);
  return MR_OK;
}

static int cpu_event_is_done(Event *event) {
  Cpu *cpu = event->object.device->state;
  pthread_mutex_lock(&cpu->lock);
  const Stream *stream = stream_of_event(cpu, event);
  const bool is_done = stream == NULL || stream->done >= event->sequence;
  pthread_mutex_unlock(&cpu->lock);
  return is_done;
}

static int cpu_follow(Stream *stream, Event *event) {
  Cpu *cpu = stream->object.device->state;
  CpuCommand *command = new_command(stream, FOLLOW, 1, 0, 0);
  if (command == NULL) return MR_ERROR_MEMORY;
  pthread_mutex_lock(&cpu->lock);
  command->stream = stream_of_event(cpu, event);
  command->sequence = event->sequence;
  pthread_mutex_unlock(&cpu->lock);
  queue_command(stream, command);
  return MR_OK;
}

static const Backend cpu_backend = {
    .open = cpu_open,
    .close = cpu_close,
    .compile = cpu_compile,
    .unload = cpu_unload,
    .buffer_alloc = cpu_buffer_alloc,
    .buffer_adopt = cpu_buffer_adopt,
    .buffer_free = cpu_buffer_free,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .stream_open = cpu_stream_open,
    .stream_close = cpu_stream_close,
    .write = cpu_write,
    .read = cpu_read,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .launch = cpu_launch,
    .wait = cpu_wait,
    .is_idle = cpu_is_idle,
    .cancel = cpu_cancel,
    .event_open = cpu_event_open,
    .event_close = cpu_event_close,
    .event_record = cpu_event_record,
    .event_wait = cpu_event_wait,
    .event_is_done = cpu_event_is_done,
    .follow = cpu_follow,
};
