/* The runtime of exported kernels: devices, memory, streams, launches, and tasks over index ranges.
   C11; callers may be C99 or C++. Needs POSIX threads and libdl, nothing of CUDA or OpenCL: their libraries are loaded
   when a device is opened.

   Every function that can fail returns MR_OK or a negative mr_status; mr_error() has the text. Handles are checked: a
   null, closed or foreign handle is MR_ERROR_ARGUMENT. Functions may be called from any thread. Commands of one stream
   run in order; streams run independently. */
#ifndef MILLRACE_RUNTIME_H
#define MILLRACE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a struct or function below changes. A kernel with another version is refused (MR_ERROR_ABI). */
#define MR_ABI_VERSION 1

typedef enum mr_status {
  MR_OK = 0,
  MR_ERROR_ARGUMENT = -1, /* a null, a closed handle, a size or a range that is not possible */
  MR_ERROR_MEMORY = -2,   /* no memory left, on the host or on the device */
  MR_ERROR_DEVICE = -3,   /* a call of a driver failed */
  MR_ERROR_ABSENT = -4,   /* no such device, or its driver is not installed */
  MR_ERROR_COMPILE = -5,  /* the driver's compiler refused the kernel */
  MR_ERROR_CAPACITY = -6, /* the caller's array is too small; nothing was lost, see the function */
  MR_CANCELLED = -7,      /* stopped by mr_cancel() or mr_task_cancel(), or by a callback */
  MR_ERROR_ABI = -8,      /* the kernel was generated for another version of this runtime */
  MR_ERROR_BOUNDS = -9    /* a checked build accessed memory outside a buffer */
} mr_status;

/* One device, or several that share the work of a task. */
typedef struct mr_device mr_device;
/* A queue of commands on one device. */
typedef struct mr_stream mr_stream;
/* Memory of one device. */
typedef struct mr_buffer mr_buffer;
/* A point in a stream. */
typedef struct mr_event mr_event;
/* Work over a range of indices, on all members of a device. */
typedef struct mr_task mr_task;

typedef enum mr_kind { MR_CPU = 0, MR_CUDA = 1, MR_OPENCL = 2 } mr_kind;

typedef struct mr_info {
  char id[32];    /* the name that mr_open() takes: cpu, cuda:0, opencl:1 */
  char name[256]; /* of the hardware */
  mr_kind kind;
  uint32_t units;        /* threads, multiprocessors or compute units */
  uint64_t memory_bytes; /* of the device */
  int32_t major, minor;  /* CUDA: the compute capability; 0 otherwise */
} mr_info;

/* ---- devices ---- */

/* Opens a device: cpu (all processors), cpu:4 (four threads), cuda, cuda:1, opencl, opencl:1; or several separated by
   commas; or `all`. A null or empty name is that of the environment variable MILLRACE_DEVICE; if that is not set, the
   first of cuda, opencl (a GPU) and cpu that is there. */
int mr_open(const char *name, mr_device **device);

/* Opens a CUDA device in a context of the caller, a CUcontext. The caller keeps the context until mr_close(). A null
   context is the device's primary context. */
int mr_open_cuda(void *context, int ordinal, mr_device **device);

/* Stops all work, waits for it, and frees the device with its streams, buffers, events and tasks. Null is ignored. */
void mr_close(mr_device *device);

/* The text of the last error: of the calling thread if device is null, otherwise of any call on the device and of its
   tasks. Never null; empty if there was none. Valid until the thread's next call of mr_error(). */
const char *mr_error(const mr_device *device);

/* The number of devices of a kind. 0 if its driver is not installed. */
int mr_device_count(mr_kind kind);
/* Describes a device by its name without opening it; `auto` is the one that mr_open() takes if none is named. */
int mr_probe(const char *name, mr_info *info);
/* Describes an open device; of several members the first. */
int mr_device_info(const mr_device *device, mr_info *info);
/* The devices that a handle stands for: 1, or more after mr_open("cuda:0,cuda:1"). 0 if the handle is bad. */
size_t mr_member_count(const mr_device *device);
/* A member; closed with the device it belongs to. Of a single device, member 0 is the device itself. */
mr_device *mr_member(mr_device *device, size_t index);

/* ---- memory ---- */

/* The bytes that are free, and all bytes, of one device's memory. OpenCL does not say what is free: all is reported. */
int mr_memory(mr_device *device, uint64_t *available, uint64_t *total);
/* Allocates zeroed device memory. */
int mr_buffer_alloc(mr_device *device, uint64_t bytes, mr_buffer **buffer);
/* Wraps memory of another library: a CUdeviceptr, on the CPU an address, on OpenCL a cl_mem. Freeing the buffer leaves it
   alone. */
int mr_buffer_adopt(mr_device *device, uint64_t address, uint64_t bytes, mr_buffer **buffer);
/* Frees a buffer after the commands already queued on it have run. Null is ignored. */
void mr_buffer_free(mr_buffer *buffer);
uint64_t mr_buffer_bytes(const mr_buffer *buffer);
/* CUDA: the CUdeviceptr. CPU: the address. OpenCL: the cl_mem. 0 if the handle is bad. */
uint64_t mr_buffer_address(const mr_buffer *buffer);

/* Allocates zeroed host memory for transfers: page-locked on GPUs, aligned to 4096 bytes. */
int mr_host_alloc(mr_device *device, uint64_t bytes, void **memory);
/* Call after the last transfer that uses it. Null is ignored. */
void mr_host_free(mr_device *device, void *memory);
/* 1 if a device can transfer the memory without an intermediate copy: it is from mr_host_alloc(), or on CUDA page-locked by
   another library. Otherwise 0, or a negative status. */
int mr_host_is_locked(mr_device *device, const void *memory, uint64_t bytes);

/* ---- streams ---- */

int mr_stream_open(mr_device *device, mr_stream **stream);
/* Wraps a stream of the caller: a CUstream of the device's context, on OpenCL a cl_command_queue. Commands are queued on
   it; it is never destroyed here. CPU devices have none (MR_ERROR_ARGUMENT). A null CUstream is the default stream. */
int mr_stream_adopt(mr_device *device, void *native, mr_stream **stream);
/* After this the caller may destroy its stream: it is not used any more until mr_stream_attach(), and no commands can be
   queued. Those that were queued run; mr_stream_close() and mr_buffer_free() wait for them. */
int mr_stream_detach(mr_stream *stream);
/* Uses the caller's stream again, or one that has the same handle. */
int mr_stream_attach(mr_stream *stream);
/* Waits for the stream's commands and frees it. Null is ignored. */
void mr_stream_close(mr_stream *stream);
/* CUDA: the CUstream. OpenCL: the cl_command_queue. CPU: null. */
void *mr_stream_native(const mr_stream *stream);

/* Commands. They return when the command is queued. Host memory must stay until the command has run. */
int mr_write(mr_stream *stream, mr_buffer *to, uint64_t offset, const void *from, uint64_t bytes);
int mr_read(mr_stream *stream, mr_buffer *from, uint64_t offset, void *to, uint64_t bytes);
int mr_copy(mr_stream *stream, mr_buffer *from, uint64_t from_offset, mr_buffer *to, uint64_t to_offset, uint64_t bytes);
/* Fills whole words: offset and bytes are multiples of 4. */
int mr_fill(mr_stream *stream, mr_buffer *buffer, uint32_t word, uint64_t offset, uint64_t bytes);

/* Waits until the stream's commands have run. MR_CANCELLED if a launch since the last wait was stopped. */
int mr_wait(mr_stream *stream);
/* 1 if all commands have run, 0 if not, or a negative status. */
int mr_is_idle(mr_stream *stream);
/* Stops the launches queued so far as soon as they notice. */
int mr_cancel(mr_stream *stream);

int mr_event_open(mr_device *device, mr_event **event);
/* Null is ignored. */
void mr_event_close(mr_event *event);
/* Sets the event at the end of the commands queued so far. */
int mr_event_record(mr_event *event, mr_stream *stream);
/* Blocks the calling thread until the event has passed. */
int mr_event_wait(mr_event *event);
/* 1 if the event has passed or was never set, 0 if not yet, or a negative status. */
int mr_event_is_done(mr_event *event);
/* Delays the commands that are queued on the stream from now on until the event has passed. Same device only. */
int mr_stream_follow(mr_stream *stream, mr_event *event);

/* ---- kernels: the tables that generated files define ---- */

/* The values of a launch that the parameter functions read besides job and chunk. */
typedef struct mr_place {
  uint64_t base;          /* the index of item 0 */
  uint32_t ring_capacity; /* hits that the ring holds */
  const uint64_t *sizes;  /* bytes of each buffer, in their order */
} mr_place;

/* The kernel's text for one kind of device, or its machine code for one instruction set. */
typedef struct mr_variant {
  mr_kind kind;
  /* Instruction sets that the processor must have, or the kind of an OpenCL device (nvidia, cpu), separated by spaces; null:
     none. The first variant that fits is used. */
  const char *features;
  /* CPU: processes the items from begin to end; returns how many it did. */
  uint64_t (*run)(const uint64_t *launch, uint64_t begin, uint64_t end);
  /* GPUs: the text in pieces, ended by a null. */
  const char *const *text;
  const char *entry;
  const char *options;     /* of the driver's compiler, separated by spaces */
  uint32_t lanes;          /* items that are processed together; threads of a workgroup */
  uint32_t group_items;    /* items of a workgroup at a time */
  uint32_t dynamic_bytes;  /* workgroup memory asked for at the launch */
  uint32_t launch_words;   /* words of the launch block, and where its parts begin */
  uint32_t sizes_at;
  uint32_t parameters_at;
  uint32_t by_value;       /* 1: the launch block is passed by value */
  const uint32_t *tables;  /* constants for the binding `tables`; null: there is none */
  uint32_t table_words;
  uint32_t job_words;      /* parameter words of the job, then of the launch */
  uint32_t chunk_words;
  void (*job)(const void *job, uint32_t *words);
  void (*chunk)(const void *job, const void *chunk, const mr_place *place, uint32_t *words);
  uint32_t indices;        /* indices that one item processes, and items that one index takes: at least 1, and one of */
  uint32_t items;          /* the two is 1 */
  uint32_t item_bytes;     /* generate: bytes of output that one item makes, if that is not a row; 0: it is */
} mr_variant;

typedef enum mr_access { MR_READ = 0, MR_WRITE = 1, MR_ATOMIC = 2 } mr_access;

typedef struct mr_binding {
  const char *name;
  mr_access access;
  uint32_t element_bytes;
} mr_binding;

typedef struct mr_kernel {
  uint32_t abi; /* MR_ABI_VERSION of the generator */
  const char *name;
  const char *digest;      /* SHA-256 of the texts and tables, in hexadecimal */
  uint32_t is_tiles;       /* 1: an item is processed by a whole workgroup */
  uint32_t job_bytes;      /* size of the job's struct; 0: no job values */
  uint32_t chunk_bytes;
  uint32_t hit_words;      /* words of a hit's fields; 0: the kernel has no hits */
  uint32_t index_word;     /* of a hit's fields, the low word of its index, if an item has several indices */
  uint32_t buffer_count;
  const mr_binding *buffers;
  uint32_t variant_count;
  const mr_variant *variants;
} mr_kernel;

/* ---- raw launches ---- */

/* A job's values and its parameter words for one device, made by mr_job_open(). */
typedef struct mr_job mr_job;

/* Computes the parameter words that depend on the job alone, and compiles the kernel for the device if that has not
   happened yet. The job's values are copied. */
int mr_job_open(mr_device *device, const mr_kernel *kernel, const void *job, mr_job **made);
/* Null is ignored. Not before the launches that use it have run. */
void mr_job_close(mr_job *job);
/* The variant that the device uses. Null if the handle is bad. */
const mr_variant *mr_job_variant(const mr_job *job);

typedef struct mr_launch {
  const void *chunk; /* the launch's values; may be null if the kernel declares none */
  uint64_t base;     /* the index of item 0; base to base + count must not cross a multiple of 2^32 */
  uint64_t count;    /* items, up to 2^32 */
  mr_buffer *const *buffers; /* one for each of the kernel's buffers, in their order */
  size_t buffer_count;
  mr_buffer *ring;         /* receives the hits; null if the kernel has none */
  mr_buffer *count_buffer; /* if not null: its word count_word is the number of items, at most count */
  uint64_t count_word;
} mr_launch;

/* Words before the first record of a ring. Word 0 counts hits; zero it before the launch. A record is the item's number,
   then the words of the hit's fields. More hits than records: some were not stored, and the range must be split. */
#define MR_RING_HEADER 4

/* Queues a launch. */
int mr_launch_job(mr_stream *stream, mr_job *job, const mr_launch *launch);

/* ---- tasks: search, generate, transform ---- */

/* A task's data: buffers that are the same for all indices, copied to each device once. */
typedef struct mr_data {
  const void *bytes; /* null: zeroed memory */
  uint64_t size;
} mr_data;

typedef struct mr_task_options {
  /* Fills in the values of a launch over the indices [start, start + count), and its own data if launch_bytes is not 0.
     Returns how many bytes of the data it has written. A negative result ends the task (MR_CANCELLED). Called on a
     device's thread, for several devices at the same time; may be null if the kernel declares no values. */
  int64_t (*chunk)(void *user, uint64_t start, uint64_t count, void *values, void *data);
  /* Called after finished ranges, one call at a time, with rising numbers; may be null. A result other than 0 ends the
     task (MR_CANCELLED). */
  int (*progress)(void *user, uint64_t done, uint64_t total);
  void *user;
  uint64_t ring_hits;     /* hits of one launch before it is split; 0: 4096 */
  uint64_t max_indices;   /* of one launch; 0: chosen by measured speed */
  uint64_t min_indices;   /* ranges begin at multiples of this from the start; 0: 1 */
  uint64_t launch_bytes;  /* size of the data of one launch, and the buffer that it is for */
  uint32_t launch_buffer;
} mr_task_options;

/* Searches the indices [start, start + count). The hits are all there when the task is done: a launch with more hits than
   its ring holds is split until nothing is lost. `data` has an entry for each of the kernel's buffers. */
int mr_search_start(mr_device *device, const mr_kernel *kernel, const void *job, const mr_data *data, uint64_t start,
                    uint64_t count, const mr_task_options *options, mr_task **task);
/* After mr_task_wait(): hits in ascending order of index, hits of one index by their words. A record is the index, low
   and high word, then the words of the fields. Valid until mr_task_close(). */
int mr_search_hits(mr_task *task, const uint32_t **records, size_t *count);

/* Writes row_bytes bytes for each index into `out`: item i of a launch writes to buffer `output` at i * row_bytes. If
   `out` is from mr_host_alloc(), bytes arrive without an intermediate copy. */
int mr_generate_start(mr_device *device, const mr_kernel *kernel, const void *job, const mr_data *data,
                      uint32_t output, uint64_t row_bytes, uint64_t start, uint64_t count, void *out,
                      const mr_task_options *options, mr_task **task);
/* The same without an array: `take` gets the bytes of consecutive ranges, in order, on a device's thread. They are valid
   during the call. A result other than 0 ends the task (MR_CANCELLED). */
typedef int mr_take(void *user, uint64_t start, uint64_t count, const void *bytes);
int mr_generate_each(mr_device *device, const mr_kernel *kernel, const void *job, const mr_data *data, uint32_t output,
                     uint64_t row_bytes, uint64_t start, uint64_t count, mr_take *take,
                     const mr_task_options *options, mr_task **task);

/* A buffer that has a row for each index: read from, or written to, an array of the caller. */
typedef struct mr_rows {
  uint32_t buffer;
  uint64_t row_bytes;
  const void *in; /* rows that the kernel reads, or null */
  void *out;      /* where rows that the kernel writes go, or null */
} mr_rows;
/* Runs the kernel on `count` rows, each of them an index from 0. */
int mr_transform_start(mr_device *device, const mr_kernel *kernel, const void *job, const mr_data *data,
                       const mr_rows *rows, size_t row_buffers, uint64_t count, const mr_task_options *options,
                       mr_task **task);

/* Waits for the end; returns the task's status. */
int mr_task_wait(mr_task *task);
/* 1 if the task has ended, 0 if not, or a negative status if the handle is bad. */
int mr_task_is_done(mr_task *task);
int mr_task_progress(mr_task *task, uint64_t *done, uint64_t *total);
/* Stops the task soon; mr_task_wait() returns MR_CANCELLED unless it was already done. */
int mr_task_cancel(mr_task *task);
/* Cancels the task if it runs, waits, and frees it. Null is ignored. */
void mr_task_close(mr_task *task);

#ifdef __cplusplus
}
#endif
#endif
