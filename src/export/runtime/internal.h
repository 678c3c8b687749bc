/* Types shared by the files of the runtime. The exporter joins them, in the order of their names' numbers, into one
   millrace_runtime.c, so that every function here is static. */
#define _GNU_SOURCE
#include "millrace_runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Tests define these to make the nth allocation, thread or driver call fail. */
#ifndef MR_FAULT
#define MR_FAULT(what) 0
#endif

typedef struct Device Device;
typedef struct Stream Stream;
typedef struct Buffer Buffer;
typedef struct Event Event;
typedef struct Job Job;
typedef struct Task Task;
typedef struct Program Program;
typedef struct Backend Backend;

typedef enum ObjectType { ANY_OBJECT = 0, DEVICE, STREAM, BUFFER, EVENT, JOB, TASK } ObjectType;

/* What a handle stands for. Objects of a device are in a list, so that closing the device frees them. */
typedef struct Object {
  ObjectType type;
  uintptr_t handle;
  Device *device;
  struct Object *next, *previous;
} Object;

struct Buffer {
  Object object;
  uint64_t bytes;
  uint64_t address; /* CUdeviceptr, host address or cl_mem */
  bool is_adopted;
  struct CpuMemory *memory; /* CPU */
};

struct Event {
  Object object;
  void *native;      /* CUevent, cl_event */
  uintptr_t stream;  /* CPU: the handle of the stream that it was recorded on, and the number of its command */
  uint64_t sequence;
};

/* A kernel that is ready to run on a device. */
struct Program {
  const mr_kernel *kernel;
  const mr_variant *variant;
  struct Program *next;
  void *module, *function;   /* CUmodule and CUfunction; cl_program and cl_kernel */
  uint64_t tables;           /* device memory */
  uint64_t resident_groups;  /* workgroups that the device holds at a time */
  double item_ns, last_items; /* CPU: the measured time of an item, and the items of the last slice */
  pthread_mutex_t lock;      /* OpenCL: arguments belong to the kernel, not to the launch */
};

struct Job {
  Object object;
  Program *program;
  void *values;    /* the job's struct */
  uint32_t *words; /* its parameter words */
};

/* A launch whose arguments have been checked. */
typedef struct Launch {
  const void *chunk;
  uint64_t base, count;
  Buffer *const *buffers; /* the kernel's, and then the ring if it has one */
  uint32_t buffer_count;
  uint32_t ring_capacity;
  Buffer *count_buffer;
  uint64_t count_word;
} Launch;

/* Words of a launch block's header and of the status that kernels write. */
enum { LAUNCH_LAST = 0, LAUNCH_EPOCH = 1, LAUNCH_FIRST = 4 };
enum { STATUS_INCOMPLETE = 0, STATUS_TRAPPED = 1, STATUS_SITE = 2, STATUS_INDEX = 3, STATUS_LENGTH = 5, STATUS_WORDS = 8 };

#define BLOCK_COPIES 16

struct Stream {
  Object object;
  bool is_adopted, is_detached;
  void *native; /* CUstream, cl_command_queue */
  void *left;   /* CUDA: the event behind the commands of a stream that was detached */
  bool is_busy; /* CUDA: a command was queued since memory was last freed */
  /* Commands are counted; CPU: those that have run. */
  uint64_t queued, done;
  /* Launches of an earlier epoch stop. CPU kernels read `control`, GPU kernels a word of device memory. */
  uint32_t epoch;
  _Alignas(64) uint32_t control[STATUS_WORDS];
  uint32_t *status; /* CUDA, OpenCL: words that kernels write, in memory that both sides see */
  uint64_t status_device, epoch_device;
  uint32_t *epoch_source;
  bool is_epoch_sent; /* a new epoch is on its way: the next launch waits for it */
  bool is_cut;        /* a launch was stopped since the last wait */
  uint64_t memory_seen; /* number of the newest allocation that the stream has waited for */
  struct CpuCommand *head, *tail; /* CPU: queued commands */
  Stream *next_stream;            /* CPU: streams of the device */
  /* Launch blocks that are not passed by value. */
  uint32_t *block;
  uint64_t block_device;
  uint32_t block_words;
  bool is_block_busy;
  void *last_event; /* OpenCL */
  /* OpenCL: the launch block, and the host's copies of those that are on their way to it, each with the event of its
     write. */
  uint32_t *copies[BLOCK_COPIES];
  void *copy_events[BLOCK_COPIES];
  uint32_t next_copy;
  uint64_t counter_device;
};

struct Backend {
  int (*open)(Device *device, void *context, int ordinal);
  void (*close)(Device *device);
  int (*compile)(Device *device, Program *program);
  void (*unload)(Device *device, Program *program);
  int (*buffer_alloc)(Buffer *buffer);
  int (*buffer_adopt)(Buffer *buffer);
  void (*buffer_free)(Buffer *buffer);
  int (*host_alloc)(Device *device, uint64_t bytes, void **memory, void **native);
  void (*host_free)(Device *device, void *memory, void *native);
  int (*stream_open)(Stream *stream);
  void (*stream_close)(Stream *stream);
  int (*detach)(Stream *stream); /* null: native streams are counted, and stay while they are used */
  int (*attach)(Stream *stream);
  int (*write)(Stream *stream, Buffer *to, uint64_t offset, const void *from, uint64_t bytes);
  int (*read)(Stream *stream, Buffer *from, uint64_t offset, void *to, uint64_t bytes);
  int (*copy)(Stream *stream, Buffer *from, uint64_t from_offset, Buffer *to, uint64_t to_offset, uint64_t bytes);
  int (*fill)(Stream *stream, Buffer *buffer, uint32_t word, uint64_t offset, uint64_t bytes);
  int (*launch)(Stream *stream, Job *job, const Launch *launch);
  int (*wait)(Stream *stream);
  int (*is_idle)(Stream *stream);
  int (*cancel)(Stream *stream);
  int (*event_open)(Event *event);
  void (*event_close)(Event *event);
  int (*event_record)(Event *event, Stream *stream);
  int (*event_wait)(Event *event);
  int (*event_is_done)(Event *event);
  int (*follow)(Stream *stream, Event *event);
};

/* Host memory of mr_host_alloc(). */
typedef struct HostMemory {
  struct HostMemory *next;
  void *memory, *native;
  uint64_t bytes;
} HostMemory;

#define ERROR_BYTES 1024

struct Device {
  Object object;
  const Backend *backend; /* null: several devices */
  mr_info info;
  void *state; /* of the backend */
  Device **members;
  size_t member_count;
  Device *group;         /* the device that this is a member of */
  pthread_mutex_t lock;  /* of the lists below and of the error */
  pthread_mutex_t build; /* held while a kernel is compiled */
  Object objects;        /* head of the list of objects */
  HostMemory *host_memory;
  Program *programs;
  char error[ERROR_BYTES];
  struct Feeder *feeder; /* the thread that feeds the device with a task's ranges */
};

static const Backend cpu_backend, cuda_backend, opencl_backend;
