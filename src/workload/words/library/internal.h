/* Types shared by the parts of the word generator. The exporter joins them, in the order of their names' numbers, into one
   wordlist_generator.c, so that every function here is static. */
#define _GNU_SOURCE
#define WG_WITHOUT_CUDA_H
#include "wordlist_generator.h"
#include "words.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Tests define this to make allocations and threads fail. */
#ifndef MR_FAULT
#define MR_FAULT(what) 0
#endif

/* Tests make these smaller. */
#ifndef MAX_LAUNCH_BYTES
#define MAX_LAUNCH_BYTES ((uint64_t)1 << 34) /* the kernel counts quads in 31 bits */
#define DIRECT_BYTES ((uint64_t)64 << 20)    /* of a chunk that is copied to its place by the device */
#define STAGED_BYTES ((uint64_t)16 << 20)    /* of a chunk that is copied through page-locked memory */
#define COPY_BYTES ((uint64_t)1 << 20)       /* of the part that a thread copies */
#define CPU_BYTES ((uint64_t)256 << 20)
#endif

#define MAX_POSITIONS 256
#define MAX_DEVICES 64

/* Different bytes in their order. */
typedef struct Charset {
  unsigned char bytes[256];
  uint32_t size; /* 0: not defined */
} Charset;

/* The tables of a mask and the numbers that launches need. words.h declares near, middle and far. */
typedef struct Plan {
  uint32_t stride, align, phases, row_bytes;
  uint32_t period, block, rows;  /* words, words, rows */
  int near_count, middle_count;  /* positions, from the last to the first */
  unsigned char *near, *middle;
  uint64_t near_bytes, middle_bytes;
  words_job job;
} Plan;

/* What the functions that set something set. */
typedef struct Config {
  Charset sets[256];
  uint8_t mask[MAX_POSITIONS];
  int length; /* 0: no mask */
  int32_t format;
  Plan plan;        /* stride 0: none is made */
  uint64_t version; /* of the plan */
} Config;

/* The memory of one launch. */
typedef struct Slot {
  mr_stream *stream; /* of slots for host memory */
  mr_buffer *out;
  uint64_t out_bytes;
  /* Far rows that are on the device: [far_first, far_first + far_count) of version far_version. */
  mr_buffer *far;
  unsigned char *far_host;
  uint64_t far_bytes, far_first, far_count, far_version;
  unsigned char *host; /* page-locked */
  uint64_t host_bytes;
  mr_event *ready;   /* after the launch, on a stream of the caller */
  mr_stream *writer; /* that stream */
  bool is_pending;   /* the launch may not have ended */
  /* The words of a launch to host memory, until they are there. */
  unsigned char *into;
  uint64_t skip, bytes;
} Slot;

#define SLOTS 3
#define RING 2
#define MAX_ADOPTED 16

#define COPY_THREADS 4

/* Threads that copy together with the one that asks for it. */
typedef struct Copier {
  bool is_open;
  int count;
  pthread_t threads[COPY_THREADS - 1];
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t changed;
  bool is_ending;
  unsigned char *to;
  const unsigned char *from;
  uint64_t bytes, taken, done;
} Copier;

/* A device that handles share. */
typedef struct SharedDevice {
  struct SharedDevice *next;
  mr_device *device;
  char name[32];
  void *context;
  unsigned users;
} SharedDevice;

/* What makes words on one device. Used by one thread at a time. */
typedef struct Maker {
  SharedDevice *shared;
  mr_device *device;
  mr_info info;
  mr_stream *stream;
  mr_job *job;
  mr_buffer *near, *middle;
  uint64_t version; /* of the plan that job and tables are of; 0: none */
  uint32_t item_bytes;
  Slot slots[SLOTS];
  Slot ring[RING];
  int next; /* of the ring */
  Copier copier;
  struct {
    CUstream native;
    mr_stream *stream;
  } adopted[MAX_ADOPTED]; /* in the order of their use */
  int adopted_count;
} Maker;
