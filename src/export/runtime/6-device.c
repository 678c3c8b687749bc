/* The public functions up to raw launches: they check handles and ranges, and call the device's backend. */
#include "internal.h"

static void close_feeder(Device *device);
static void delete_task(Task *task);

const char *mr_error(const mr_device *handle) {
  static _Thread_local char text[ERROR_BYTES];
  Device *device = handle == NULL ? NULL : find_object(handle, DEVICE);
  if (device == NULL) return thread_error;
  pthread_mutex_lock(&device->lock);
  memcpy(text, device->error, sizeof text);
  pthread_mutex_unlock(&device->lock);
  return text;
}

static int bad_handle(const char *what) {
  return fail(NULL, MR_ERROR_ARGUMENT, "not an open %s: the handle is null, was closed, or is of another type", what);
}

/* ---- devices ---- */

static Device *new_device(void) {
  Device *device = new_object(DEVICE, sizeof *device, NULL);
  if (device == NULL) return NULL;
  pthread_mutex_init(&device->lock, NULL);
  pthread_mutex_init(&device->build, NULL);
  device->object.device = device;
  device->objects.next = device->objects.previous = &device->objects;
  return device;
}

static void delete_device(Device *device) {
  pthread_mutex_destroy(&device->lock);
  pthread_mutex_destroy(&device->build);
  free(device->members);
  device->object.device = NULL;
  delete_object(&device->object);
}

static int open_single(const Backend *backend, void *context, int ordinal, Device **made) {
  Device *device = new_device();
  if (device == NULL) return no_memory(NULL, sizeof *device);
  device->backend = backend;
  const int status = backend->open(device, context, ordinal);
  if (status != MR_OK) {
    delete_device(device);
    return status;
  }
  *made = device;
  return MR_OK;
}

/* Parses `cuda:1` and the like. For a CPU the number is that of threads, 0 for all. */
static int parse_name(const char *name, size_t length, mr_kind *kind, int *number) {
  static const char *const kinds[] = {"cpu", "cuda", "opencl"};
  for (int i = 0; i < 3; i++) {
    const size_t size = strlen(kinds[i]);
    if (length < size || memcmp(name, kinds[i], size) != 0) continue;
    *kind = (mr_kind)i;
    *number = 0;
    if (length == size) return MR_OK;
    long value = 0;
    bool good = name[size] == ':' && length > size + 1 && length < size + 6;
    for (size_t at = size + 1; good && at < length; at++) {
      good = name[at] >= '0' && name[at] <= '9';
      value = value * 10 + (name[at] - '0');
    }
    if (!good || (i == MR_CPU && value == 0)) break;
    *number = (int)value;
    return MR_OK;
  }
  return fail(NULL, MR_ERROR_ARGUMENT, "\"%.*s\" is not a device: cpu, cpu:THREADS, cuda:N, opencl:N", (int)length,
              name);
}

static const Backend *const backends[] = {&cpu_backend, &cuda_backend, &opencl_backend};

static void close_single(Device *device);

/* Opens each name of the list. */
static int open_list(const char *list, Device **made) {
  Device *members[64];
  size_t count = 0;
  int status = MR_OK;
  for (const char *at = list; status == MR_OK;) {
    while (*at == ' ') at++;
    size_t length = strcspn(at, ",");
    const char *end = at + length;
    while (length > 0 && at[length - 1] == ' ') length--;
    mr_kind kind;
    int number;
    if (count == 64) status = fail(NULL, MR_ERROR_ARGUMENT, "a list has at most 64 devices");
    if (status == MR_OK) status = parse_name(at, length, &kind, &number);
    if (status == MR_OK) status = open_single(backends[kind], NULL, number, &members[count]);
    if (status == MR_OK) count++;
    if (*end == 0) break;
    at = end + 1;
  }
  Device *group = status == MR_OK && count > 1 ? new_device() : NULL;
  if (group != NULL) group->members = allocate(count, sizeof(Device *));
  if (status == MR_OK && count > 1 && (group == NULL || group->members == NULL)) {
    if (group != NULL) delete_device(group);
    status = no_memory(NULL, sizeof *group);
  }
  if (status != MR_OK) {
    while (count > 0) close_single(members[--count]);
    return status;
  }
  *made = members[0];
  if (group == NULL) return MR_OK;
  group->member_count = count;
  group->info = members[0]->info;
  for (size_t i = 0; i < count; i++) {
    group->members[i] = members[i];
    members[i]->group = group;
  }
  *made = group;
  return MR_OK;
}

/* The names of all devices: every CUDA device and GPU of OpenCL that is not one of them, and the CPU. */
static void list_all(char *list, size_t bytes) {
  size_t length = 0;
  list[0] = 0;
  const int cards = cuda_count();
  for (int i = 0; i < cards && i < 60; i++) length += (size_t)snprintf(list + length, bytes - length, "cuda:%d,", i);
  if (cards == 0 && has_opencl_gpu()) length += (size_t)snprintf(list + length, bytes - length, "opencl:0,");
  snprintf(list + length, bytes - length, "cpu");
}

/* The device that is used if none is named. */
static const char *default_name(void) { return cuda_count() > 0 ? "cuda" : has_opencl_gpu() ? "opencl" : "cpu"; }

int mr_open(const char *name, mr_device **handle) {
  if (handle == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_open: no place for the device");
  *handle = NULL;
  char list[512];
  if (name == NULL || *name == 0) name = getenv("MILLRACE_DEVICE");
  if (name == NULL || *name == 0 || strcmp(name, "auto") == 0) name = default_name();
  else if (strcmp(name, "all") == 0) {
    list_all(list, sizeof list);
    name = list;
  }
  Device *device = NULL;
  const int status = open_list(name, &device);
  if (status == MR_OK) *handle = (mr_device *)device->object.handle;
  return status;
}

int mr_open_cuda(void *context, int ordinal, mr_device **handle) {
  if (handle == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_open_cuda: no place for the device");
  *handle = NULL;
  Device *device = NULL;
  const int status = open_single(&cuda_backend, context, ordinal, &device);
  if (status == MR_OK) *handle = (mr_device *)device->object.handle;
  return status;
}

static void free_stream(Stream *stream) {
  stream->object.device->backend->stream_close(stream);
  delete_object(&stream->object);
}

static void free_buffer(Buffer *buffer) {
  buffer->object.device->backend->buffer_free(buffer);
  delete_object(&buffer->object);
}

static void free_event(Event *event) {
  event->object.device->backend->event_close(event);
  delete_object(&event->object);
}

static void free_job(Job *job) {
  free(job->values);
  free(job->words);
  delete_object(&job->object);
}

static Object *first_object(Device *device, ObjectType type) {
  pthread_mutex_lock(&device->lock);
  Object *object = device->objects.next;
  while (object != &device->objects && object->type != type) object = object->next;
  pthread_mutex_unlock(&device->lock);
  return object == &device->objects ? NULL : object;
}

static void close_tasks(Device *device) {
  for (Object *object; (object = first_object(device, TASK)) != NULL;) delete_task((Task *)object);
}

static void close_single(Device *device) {
  close_tasks(device);
  close_feeder(device);
  for (Object *object = device->objects.next; object != &device->objects; object = object->next)
    if (object->type == STREAM) device->backend->cancel((Stream *)object);
  for (Object *object; (object = first_object(device, STREAM)) != NULL;) free_stream((Stream *)object);
  for (Object *object; (object = first_object(device, EVENT)) != NULL;) free_event((Event *)object);
  for (Object *object; (object = first_object(device, BUFFER)) != NULL;) free_buffer((Buffer *)object);
  for (Object *object; (object = first_object(device, JOB)) != NULL;) free_job((Job *)object);
  for (Program *program; (program = device->programs) != NULL;) {
    device->programs = program->next;
    device->backend->unload(device, program);
    pthread_mutex_destroy(&program->lock);
    free(program);
  }
  for (HostMemory *memory; (memory = device->host_memory) != NULL;) {
    device->host_memory = memory->next;
    device->backend->host_free(device, memory->memory, memory->native);
    free(memory);
  }
  device->backend->close(device);
  delete_device(device);
}

void mr_close(mr_device *handle) {
  Device *device = handle == NULL ? NULL : find_object(handle, DEVICE);
  if (device == NULL) {
    if (handle != NULL) bad_handle("device");
    return;
  }
  if (device->group != NULL) {
    fail(device, MR_ERROR_ARGUMENT, "%s is a member of a list of devices and is closed with it", device->info.id);
    return;
  }
  close_tasks(device);
  for (size_t i = 0; i < device->member_count; i++) {
    device->members[i]->group = NULL;
    close_single(device->members[i]);
  }
  if (device->backend != NULL) close_single(device);
  else delete_device(device);
}

int mr_device_count(mr_kind kind) {
  return kind == MR_CPU ? 1 : kind == MR_CUDA ? cuda_count() : kind == MR_OPENCL ? opencl_count() : 0;
}

int mr_probe(const char *name, mr_info *info) {
  if (name == NULL || info == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_probe: a name and a place are needed");
  if (strcmp(name, "auto") == 0) name = default_name();
  mr_kind kind;
  int number, status = parse_name(name, strlen(name), &kind, &number);
  if (status != MR_OK) return status;
  if (kind == MR_CPU) {
    describe_cpu(info, number > 0 ? (uint32_t)number : processor_count());
    return MR_OK;
  }
  if (kind == MR_OPENCL) {
    cl_handle device;
    return describe_opencl(number, &device, info);
  }
  CUdevice device;
  status = load_cuda();
  return status == MR_OK ? describe_cuda(number, &device, info) : status;
}

int mr_device_info(const mr_device *handle, mr_info *info) {
  const Device *device = find_object(handle, DEVICE);
  if (device == NULL) return bad_handle("device");
  if (info == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_device_info: no place for the description");
  *info = device->info;
  return MR_OK;
}

size_t mr_member_count(const mr_device *handle) {
  const Device *device = find_object(handle, DEVICE);
  return device == NULL ? 0 : device->backend != NULL ? 1 : device->member_count;
}

mr_device *mr_member(mr_device *handle, size_t index) {
  const Device *device = find_object(handle, DEVICE);
  if (device == NULL) return NULL;
  if (device->backend != NULL) return index == 0 ? handle : NULL;
  return index < device->member_count ? (mr_device *)device->members[index]->object.handle : NULL;
}

/* Finds a device that commands can run on. */
static Device *single_device(const mr_device *handle) {
  Device *device = find_object(handle, DEVICE);
  if (device == NULL) bad_handle("device");
  else if (device->backend == NULL)
    fail(device, MR_ERROR_ARGUMENT, "this call needs one device, not a list: use mr_member()");
  return device != NULL && device->backend != NULL ? device : NULL;
}

/* ---- memory ---- */

static Buffer *alloc_buffer(Device *device, uint64_t bytes, int *status) {
  Buffer *buffer = new_object(BUFFER, sizeof *buffer, device);
  *status = buffer == NULL ? no_memory(device, sizeof *buffer) : MR_OK;
  if (buffer == NULL) return NULL;
  buffer->bytes = bytes;
  *status = device->backend->buffer_alloc(buffer);
  if (*status == MR_OK) return buffer;
  delete_object(&buffer->object);
  return NULL;
}

int mr_buffer_alloc(mr_device *handle, uint64_t bytes, mr_buffer **made) {
  if (made == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_buffer_alloc: no place for the buffer");
  *made = NULL;
  Device *device = single_device(handle);
  if (device == NULL) return MR_ERROR_ARGUMENT;
  int status;
  const Buffer *buffer = alloc_buffer(device, bytes, &status);
  if (buffer != NULL) *made = (mr_buffer *)buffer->object.handle;
  return status;
}

int mr_buffer_adopt(mr_device *handle, uint64_t address, uint64_t bytes, mr_buffer **made) {
  if (made == NULL || address == 0) return fail(NULL, MR_ERROR_ARGUMENT, "mr_buffer_adopt: no memory, or no place");
  *made = NULL;
  Device *device = single_device(handle);
  if (device == NULL) return MR_ERROR_ARGUMENT;
  Buffer *buffer = new_object(BUFFER, sizeof *buffer, device);
  if (buffer == NULL) return no_memory(device, sizeof *buffer);
  buffer->bytes = bytes;
  buffer->address = address;
  buffer->is_adopted = true;
  const int status = device->backend->buffer_adopt(buffer);
  if (status == MR_OK) *made = (mr_buffer *)buffer->object.handle;
  else delete_object(&buffer->object);
  return status;
}

void mr_buffer_free(mr_buffer *handle) {
  Buffer *buffer = handle == NULL ? NULL : find_object(handle, BUFFER);
  if (buffer != NULL) free_buffer(buffer);
  else if (handle != NULL) bad_handle("buffer");
}

int mr_memory(mr_device *handle, uint64_t *available, uint64_t *total) {
  Device *device = single_device(handle);
  if (device == NULL) return MR_ERROR_ARGUMENT;
  if (available == NULL || total == NULL) return fail(device, MR_ERROR_ARGUMENT, "mr_memory: no place for the numbers");
  *available = *total = device->info.memory_bytes;
  if (device->info.kind == MR_CPU) *available = host_free_bytes();
  return device->info.kind == MR_CUDA ? cuda_free_bytes(device, available) : MR_OK;
}

uint64_t mr_buffer_bytes(const mr_buffer *handle) {
  const Buffer *buffer = find_object(handle, BUFFER);
  return buffer == NULL ? 0 : buffer->bytes;
}

uint64_t mr_buffer_address(const mr_buffer *handle) {
  const Buffer *buffer = find_object(handle, BUFFER);
  return buffer == NULL ? 0 : buffer->address;
}

/* Allocates host memory and puts it into the device's list. */
static int alloc_host(Device *device, uint64_t bytes, void **memory) {
  HostMemory *entry = allocate(1, sizeof *entry);
  if (entry == NULL) return no_memory(device, sizeof *entry);
  const int status = device->backend->host_alloc(device, bytes, &entry->memory, &entry->native);
  if (status != MR_OK) {
    free(entry);
    return status;
  }
  entry->bytes = bytes;
  pthread_mutex_lock(&device->lock);
  entry->next = device->host_memory;
  device->host_memory = entry;
  pthread_mutex_unlock(&device->lock);
  *memory = entry->memory;
  return MR_OK;
}

static bool free_host(Device *device, void *memory) {
  pthread_mutex_lock(&device->lock);
  HostMemory **at = &device->host_memory;
  while (*at != NULL && (*at)->memory != memory) at = &(*at)->next;
  HostMemory *entry = *at;
  if (entry != NULL) *at = entry->next;
  pthread_mutex_unlock(&device->lock);
  if (entry == NULL) return false;
  device->backend->host_free(device, entry->memory, entry->native);
  free(entry);
  return true;
}

/* Of several devices, the memory is that of the first: CUDA's is page-locked for all of them. */
static Device *first_member(Device *device) { return device->backend == NULL ? device->members[0] : device; }

int mr_host_alloc(mr_device *handle, uint64_t bytes, void **memory) {
  if (memory == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_host_alloc: no place for the memory");
  *memory = NULL;
  Device *device = find_object(handle, DEVICE);
  return device == NULL ? bad_handle("device") : alloc_host(first_member(device), bytes, memory);
}

void mr_host_free(mr_device *handle, void *memory) {
  if (memory == NULL) return;
  Device *device = find_object(handle, DEVICE);
  if (device == NULL) bad_handle("device");
  else if (!free_host(first_member(device), memory))
    fail(device, MR_ERROR_ARGUMENT, "mr_host_free: the memory is not from mr_host_alloc() of this device");
}

/* ---- streams ---- */

static Stream *open_stream(Device *device, bool is_adopted, void *native, int *status) {
  Stream *stream = new_object(STREAM, sizeof *stream, device);
  *status = stream == NULL ? no_memory(device, sizeof *stream) : MR_OK;
  if (stream == NULL) return NULL;
  pthread_mutex_lock(&device->lock); /* free_later() of another thread reads them */
  stream->is_adopted = is_adopted;
  stream->native = native;
  pthread_mutex_unlock(&device->lock);
  *status = device->backend->stream_open(stream);
  if (*status == MR_OK) return stream;
  delete_object(&stream->object);
  return NULL;
}

int mr_stream_open(mr_device *handle, mr_stream **made) {
  if (made == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_stream_open: no place for the stream");
  *made = NULL;
  Device *device = single_device(handle);
  if (device == NULL) return MR_ERROR_ARGUMENT;
  int status;
  const Stream *stream = open_stream(device, false, NULL, &status);
  if (stream != NULL) *made = (mr_stream *)stream->object.handle;
  return status;
}

int mr_stream_adopt(mr_device *handle, void *native, mr_stream **made) {
  if (made == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_stream_adopt: no place for the stream");
  *made = NULL;
  Device *device = single_device(handle);
  if (device == NULL) return MR_ERROR_ARGUMENT;
  if (device->info.kind == MR_CPU || (device->info.kind == MR_OPENCL && native == NULL))
    return fail(device, MR_ERROR_ARGUMENT, "%s: no stream to adopt", device->info.id);
  int status;
  const Stream *stream = open_stream(device, true, native, &status);
  if (stream != NULL) *made = (mr_stream *)stream->object.handle;
  return status;
}

/* A stream that commands can be queued on. */
static Stream *find_stream(const mr_stream *handle) {
  Stream *stream = find_object(handle, STREAM);
  return stream != NULL && stream->is_detached ? NULL : stream;
}

void mr_stream_close(mr_stream *handle) {
  Stream *stream = handle == NULL ? NULL : find_object(handle, STREAM);
  if (stream != NULL) free_stream(stream);
  else if (handle != NULL) bad_handle("stream");
}

void *mr_stream_native(const mr_stream *handle) {
  const Stream *stream = find_object(handle, STREAM);
  return stream == NULL ? NULL : stream->native;
}

int mr_stream_detach(mr_stream *handle) {
  Stream *stream = find_stream(handle);
  if (stream == NULL) return bad_handle("stream");
  Device *device = stream->object.device;
  if (!stream->is_adopted)
    return fail(device, MR_ERROR_ARGUMENT, "mr_stream_detach: the stream is not from mr_stream_adopt()");
  return device->backend->detach == NULL ? MR_OK : device->backend->detach(stream);
}

int mr_stream_attach(mr_stream *handle) {
  Stream *stream = find_object(handle, STREAM);
  if (stream == NULL) return bad_handle("stream");
  return stream->is_detached ? stream->object.device->backend->attach(stream) : MR_OK;
}

/* Checks that a range is inside a buffer of the stream's device. */
static int check_range(const Stream *stream, const Buffer *buffer, uint64_t offset, uint64_t bytes) {
  if (buffer == NULL) return bad_handle("buffer");
  Device *device = stream->object.device;
  if (buffer->object.device != device)
    return fail(device, MR_ERROR_ARGUMENT, "the buffer belongs to %s, the stream to %s",
                buffer->object.device->info.id, device->info.id);
  if (offset > buffer->bytes || bytes > buffer->bytes - offset)
    return fail(device, MR_ERROR_ARGUMENT, "bytes %llu to %llu are outside a buffer of %llu bytes",
                (unsigned long long)offset, (unsigned long long)(offset + bytes), (unsigned long long)buffer->bytes);
  return MR_OK;
}

int mr_write(mr_stream *handle, mr_buffer *to, uint64_t offset, const void *from, uint64_t bytes) {
  Stream *stream = find_stream(handle);
  if (stream == NULL) return bad_handle("stream");
  Buffer *buffer = find_object(to, BUFFER);
  const int status = check_range(stream, buffer, offset, bytes);
  if (status != MR_OK || bytes == 0) return status;
  if (from == NULL) return fail(stream->object.device, MR_ERROR_ARGUMENT, "mr_write: no bytes to write");
  return stream->object.device->backend->write(stream, buffer, offset, from, bytes);
}

int mr_read(mr_stream *handle, mr_buffer *from, uint64_t offset, void *to, uint64_t bytes) {
  Stream *stream = find_stream(handle);
  if (stream == NULL) return bad_handle("stream");
  Buffer *buffer = find_object(from, BUFFER);
  const int status = check_range(stream, buffer, offset, bytes);
  if (status != MR_OK || bytes == 0) return status;
  if (to == NULL) return fail(stream->object.device, MR_ERROR_ARGUMENT, "mr_read: no memory to read into");
  return stream->object.device->backend->read(stream, buffer, offset, to, bytes);
}

int mr_copy(mr_stream *handle, mr_buffer *from, uint64_t from_offset, mr_buffer *to, uint64_t to_offset,
            uint64_t bytes) {
  Stream *stream = find_stream(handle);
  if (stream == NULL) return bad_handle("stream");
  Buffer *source = find_object(from, BUFFER), *target = find_object(to, BUFFER);
  int status = check_range(stream, source, from_offset, bytes);
  if (status == MR_OK) status = check_range(stream, target, to_offset, bytes);
  if (status != MR_OK || bytes == 0) return status;
  if (source == target && from_offset < to_offset + bytes && to_offset < from_offset + bytes)
    return fail(stream->object.device, MR_ERROR_ARGUMENT, "mr_copy: the ranges overlap");
  return stream->object.device->backend->copy(stream, source, from_offset, target, to_offset, bytes);
}

int mr_fill(mr_stream *handle, mr_buffer *to, uint32_t word, uint64_t offset, uint64_t bytes) {
  Stream *stream = find_stream(handle);
  if (stream == NULL) return bad_handle("stream");
  Buffer *buffer = find_object(to, BUFFER);
  const int status = check_range(stream, buffer, offset, bytes);
  if (status != MR_OK || bytes == 0) return status;
  if (offset % 4 != 0 || bytes % 4 != 0)
    return fail(stream->object.device, MR_ERROR_ARGUMENT, "mr_fill: offset and bytes must be multiples of 4");
  return stream->object.device->backend->fill(stream, buffer, word, offset, bytes);
}

int mr_wait(mr_stream *handle) {
  Stream *stream = find_stream(handle);
  return stream == NULL ? bad_handle("stream") : stream->object.device->backend->wait(stream);
}

int mr_is_idle(mr_stream *handle) {
  Stream *stream = find_stream(handle);
  return stream == NULL ? bad_handle("stream") : stream->object.device->backend->is_idle(stream);
}

int mr_cancel(mr_stream *handle) {
  Stream *stream = find_stream(handle);
  return stream == NULL ? bad_handle("stream") : stream->object.device->backend->cancel(stream);
}

/* ---- events ---- */

int mr_event_open(mr_device *handle, mr_event **made) {
  if (made == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_event_open: no place for the event");
  *made = NULL;
  Device *device = single_device(handle);
  if (device == NULL) return MR_ERROR_ARGUMENT;
  Event *event = new_object(EVENT, sizeof *event, device);
  if (event == NULL) return no_memory(device, sizeof *event);
  const int status = device->backend->event_open(event);
  if (status == MR_OK) *made = (mr_event *)event->object.handle;
  else delete_object(&event->object);
  return status;
}

void mr_event_close(mr_event *handle) {
  Event *event = handle == NULL ? NULL : find_object(handle, EVENT);
  if (event != NULL) free_event(event);
  else if (handle != NULL) bad_handle("event");
}

/* Finds an event and a stream of the same device. */
static int find_pair(mr_event *event_handle, mr_stream *stream_handle, Event **event, Stream **stream) {
  *event = find_object(event_handle, EVENT);
  *stream = find_stream(stream_handle);
  if (*event == NULL) return bad_handle("event");
  if (*stream == NULL) return bad_handle("stream");
  if ((*event)->object.device == (*stream)->object.device) return MR_OK;
  return fail((*stream)->object.device, MR_ERROR_ARGUMENT, "the event belongs to another device than the stream");
}

int mr_event_record(mr_event *event_handle, mr_stream *stream_handle) {
  Event *event;
  Stream *stream;
  const int status = find_pair(event_handle, stream_handle, &event, &stream);
  return status == MR_OK ? stream->object.device->backend->event_record(event, stream) : status;
}

int mr_event_wait(mr_event *handle) {
  Event *event = find_object(handle, EVENT);
  return event == NULL ? bad_handle("event") : event->object.device->backend->event_wait(event);
}

int mr_event_is_done(mr_event *handle) {
  Event *event = find_object(handle, EVENT);
  return event == NULL ? bad_handle("event") : event->object.device->backend->event_is_done(event);
}

int mr_stream_follow(mr_stream *stream_handle, mr_event *event_handle) {
  Event *event;
  Stream *stream;
  const int status = find_pair(event_handle, stream_handle, &event, &stream);
  return status == MR_OK ? stream->object.device->backend->follow(stream, event) : status;
}

/* ---- programs and jobs ---- */

/* The first variant that the device can run. */
static const mr_variant *choose_variant(const Device *device, const mr_kernel *kernel) {
  char features[256] = "";
  if (device->info.kind == MR_CPU) cpu_features(features, sizeof features);
  if (device->info.kind == MR_OPENCL) snprintf(features, sizeof features, "%s", opencl_features(device));
  for (uint32_t i = 0; i < kernel->variant_count; i++) {
    const mr_variant *variant = &kernel->variants[i];
    if (variant->kind != device->info.kind) continue;
    if (variant->features == NULL || has_words(features, variant->features)) return variant;
  }
  return NULL;
}

#define MAX_BUFFERS 60

static int check_kernel(Device *device, const mr_kernel *kernel) {
  if (kernel == NULL) return fail(device, MR_ERROR_ARGUMENT, "no kernel");
  if (kernel->abi != MR_ABI_VERSION)
    return fail(device, MR_ERROR_ABI, "the kernel has ABI version %u, this runtime %u: export both again", kernel->abi,
                MR_ABI_VERSION);
  if (kernel->buffer_count > MAX_BUFFERS)
    return fail(device, MR_ERROR_ARGUMENT, "kernel %s has more than %d buffers", kernel->name, MAX_BUFFERS);
  return MR_OK;
}

/* Returns the kernel compiled for the device, once for all jobs. */
static Program *load_program(Device *device, const mr_kernel *kernel, int *status) {
  *status = check_kernel(device, kernel);
  if (*status != MR_OK) return NULL;
  pthread_mutex_lock(&device->build);
  Program *program = device->programs;
  while (program != NULL && program->kernel != kernel) program = program->next;
  if (program == NULL) {
    const mr_variant *variant = choose_variant(device, kernel);
    if (variant == NULL)
      *status = fail(device, MR_ERROR_ABSENT, "kernel %s was exported without code for %s", kernel->name,
                     device->info.id);
    else if ((program = allocate(1, sizeof *program)) == NULL) *status = no_memory(device, sizeof *program);
    else {
      program->kernel = kernel;
      program->variant = variant;
      pthread_mutex_init(&program->lock, NULL);
      *status = device->backend->compile(device, program);
      if (*status == MR_OK) {
        program->next = device->programs;
        device->programs = program;
      } else {
        pthread_mutex_destroy(&program->lock);
        free(program);
        program = NULL;
      }
    }
  }
  pthread_mutex_unlock(&device->build);
  return program;
}

static Job *open_job(Device *device, const mr_kernel *kernel, const void *values, int *status) {
  Program *program = load_program(device, kernel, status);
  if (program == NULL) return NULL;
  if (kernel->job_bytes > 0 && values == NULL) {
    *status = fail(device, MR_ERROR_ARGUMENT, "kernel %s needs job values", kernel->name);
    return NULL;
  }
  Job *job = new_object(JOB, sizeof *job, device);
  if (job != NULL) {
    job->program = program;
    job->values = allocate(1, kernel->job_bytes + 1);
    job->words = allocate(program->variant->job_words + program->variant->chunk_words + 1, sizeof(uint32_t));
  }
  if (job == NULL || job->values == NULL || job->words == NULL) {
    if (job != NULL) free_job(job);
    *status = no_memory(device, kernel->job_bytes);
    return NULL;
  }
  if (kernel->job_bytes > 0) memcpy(job->values, values, kernel->job_bytes);
  if (program->variant->job != NULL) program->variant->job(job->values, job->words);
  *status = MR_OK;
  return job;
}

int mr_job_open(mr_device *handle, const mr_kernel *kernel, const void *values, mr_job **made) {
  if (made == NULL) return fail(NULL, MR_ERROR_ARGUMENT, "mr_job_open: no place for the job");
  *made = NULL;
  Device *device = single_device(handle);
  if (device == NULL) return MR_ERROR_ARGUMENT;
  int status;
  const Job *job = open_job(device, kernel, values, &status);
  if (job != NULL) *made = (mr_job *)job->object.handle;
  return status;
}

void mr_job_close(mr_job *handle) {
  Job *job = handle == NULL ? NULL : find_object(handle, JOB);
  if (job != NULL) free_job(job);
  else if (handle != NULL) bad_handle("job");
}

const mr_variant *mr_job_variant(const mr_job *handle) {
  const Job *job = find_object(handle, JOB);
  return job == NULL ? NULL : job->program->variant;
}

/* Hits that a ring of this size holds. */
static uint32_t ring_capacity(const mr_kernel *kernel, uint64_t bytes) {
  const uint64_t words = bytes / 4, record = 1 + (uint64_t)kernel->hit_words;
  const uint64_t records = words < MR_RING_HEADER ? 0 : (words - MR_RING_HEADER) / record;
  return records > 0xffffffffu ? 0xffffffffu : (uint32_t)records;
}

static int check_launch(const Stream *stream, const Job *job, const mr_launch *launch, Buffer **buffers) {
  Device *device = stream->object.device;
  const mr_kernel *kernel = job->program->kernel;
  if (job->object.device != device)
    return fail(device, MR_ERROR_ARGUMENT, "the job belongs to another device than the stream");
  if (launch->count > (uint64_t)1 << 32 || (launch->base & 0xffffffffu) + launch->count > (uint64_t)1 << 32)
    return fail(device, MR_ERROR_ARGUMENT, "a launch has at most 2^32 items and does not cross a multiple of 2^32");
  if (kernel->chunk_bytes > 0 && launch->chunk == NULL)
    return fail(device, MR_ERROR_ARGUMENT, "kernel %s needs the values of the launch", kernel->name);
  if (launch->buffer_count != kernel->buffer_count || (launch->buffer_count > 0 && launch->buffers == NULL))
    return fail(device, MR_ERROR_ARGUMENT, "kernel %s has %u buffers, not %zu", kernel->name, kernel->buffer_count,
                launch->buffer_count);
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    buffers[i] = find_object(launch->buffers[i], BUFFER);
    const int status = check_range(stream, buffers[i], 0, 0);
    if (status != MR_OK) return status;
  }
  if (kernel->hit_words == 0) return MR_OK;
  Buffer *ring = find_object(launch->ring, BUFFER);
  if (ring == NULL) return fail(device, MR_ERROR_ARGUMENT, "kernel %s has hits and needs a ring", kernel->name);
  buffers[kernel->buffer_count] = ring;
  return check_range(stream, ring, 0, MR_RING_HEADER * 4);
}

int mr_launch_job(mr_stream *stream_handle, mr_job *job_handle, const mr_launch *given) {
  Stream *stream = find_stream(stream_handle);
  if (stream == NULL) return bad_handle("stream");
  Job *job = find_object(job_handle, JOB);
  if (job == NULL) return bad_handle("job");
  Device *device = stream->object.device;
  if (given == NULL) return fail(device, MR_ERROR_ARGUMENT, "mr_launch_job: no launch");
  const mr_kernel *kernel = job->program->kernel;
  Buffer *buffers[MAX_BUFFERS + 1];
  int status = check_launch(stream, job, given, buffers);
  Buffer *counter = NULL;
  if (status == MR_OK && given->count_buffer != NULL) {
    counter = find_object(given->count_buffer, BUFFER);
    status = check_range(stream, counter, given->count_word > UINT64_MAX / 8 ? UINT64_MAX : 4 * given->count_word, 4);
  }
  if (status != MR_OK || given->count == 0) return status;
  const bool has_ring = kernel->hit_words > 0;
  const Launch launch = {
      .chunk = given->chunk,
      .base = given->base,
      .count = given->count,
      .buffers = buffers,
      .buffer_count = kernel->buffer_count + has_ring,
      .ring_capacity = has_ring ? ring_capacity(kernel, buffers[kernel->buffer_count]->bytes) : 0,
      .count_buffer = counter,
      .count_word = given->count_word,
  };
  return device->backend->launch(stream, job, &launch);
}
