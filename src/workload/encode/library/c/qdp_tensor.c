#define _GNU_SOURCE
#include "qdp_tensor.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- DLPack ---- */

typedef struct DLTensor {
  void *data;
  struct {
    int32_t type, ordinal;
  } device;
  int32_t dimensions;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor tensor;
  void *context;
  void (*deleter)(struct DLManagedTensor *);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void *context;
  void (*deleter)(struct DLManagedTensorVersioned *);
  uint64_t flags;
  DLTensor tensor;
} DLManagedTensorVersioned;

enum { DL_COMPLEX = 5 };

/* ---- blocks ---- */

/* Free blocks that are kept for the next results. */
#define MAX_FREE 6

struct qdp_block {
  qdp_pool *pool;
  qdp_block *next;
  mr_buffer *buffer;
  uint64_t bytes;
  mr_event *used; /* the point of the consumer's stream where the memory was given back */
  bool is_used_set;
  uint32_t holders;
};

typedef struct AdoptedStream {
  struct AdoptedStream *next;
  void *native;
  mr_stream *stream;
} AdoptedStream;

struct qdp_pool {
  pthread_mutex_t lock;
  mr_device *device;
  pid_t process;
  bool is_closed, has_streams;
  uint64_t used; /* blocks outside the list of free ones */
  uint32_t free_count;
  qdp_block *free_blocks; /* the last returned first */
  AdoptedStream *streams;
};

int qdp_pool_open(mr_device *device, qdp_pool **made) {
  *made = NULL;
  mr_info info;
  const int status = mr_device_info(device, &info);
  if (status != MR_OK) return status;
  qdp_pool *pool = calloc(1, sizeof *pool);
  if (pool == NULL) return MR_ERROR_MEMORY;
  pthread_mutex_init(&pool->lock, NULL);
  pool->device = device;
  pool->process = getpid();
  pool->has_streams = info.kind == MR_CUDA;
  *made = pool;
  return MR_OK;
}

static void free_block(qdp_block *block) {
  mr_event_close(block->used);
  mr_buffer_free(block->buffer);
  free(block);
}

static void free_all(qdp_block *block) {
  while (block != NULL) {
    qdp_block *next = block->next;
    free_block(block);
    block = next;
  }
}

/* Takes the free blocks out of the list. Under the lock. */
static qdp_block *take_all(qdp_pool *pool) {
  qdp_block *blocks = pool->free_blocks;
  pool->free_blocks = NULL;
  pool->free_count = 0;
  return blocks;
}

static void delete_pool(qdp_pool *pool) {
  mr_close(pool->device);
  while (pool->streams != NULL) {
    AdoptedStream *next = pool->streams->next;
    free(pool->streams);
    pool->streams = next;
  }
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

/* After fork() neither threads nor drivers are there: the child leaves everything alone. */
static bool is_foreign(const qdp_pool *pool) { return pool->process != getpid(); }

void qdp_pool_close(qdp_pool *pool) {
  if (pool == NULL || is_foreign(pool)) return;
  pthread_mutex_lock(&pool->lock);
  pool->is_closed = true;
  qdp_block *blocks = take_all(pool);
  const bool is_last = pool->used == 0;
  pthread_mutex_unlock(&pool->lock);
  free_all(blocks);
  if (is_last) delete_pool(pool);
}

void qdp_pool_hold(qdp_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  pool->used++;
  pthread_mutex_unlock(&pool->lock);
}

void qdp_pool_drop(qdp_pool *pool) {
  if (is_foreign(pool)) return;
  pthread_mutex_lock(&pool->lock);
  const bool is_last = --pool->used == 0 && pool->is_closed;
  pthread_mutex_unlock(&pool->lock);
  if (is_last) delete_pool(pool);
}

void qdp_pool_trim(qdp_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  qdp_block *blocks = take_all(pool);
  pthread_mutex_unlock(&pool->lock);
  free_all(blocks);
}

uint64_t qdp_pool_used(qdp_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  const uint64_t used = pool->used;
  pthread_mutex_unlock(&pool->lock);
  return used;
}

/* A block that is much larger than needed stays for a result of its size. */
static bool fits(const qdp_block *block, uint64_t bytes) { return block->bytes >= bytes && block->bytes / 2 <= bytes; }

int qdp_block_is_free(qdp_pool *pool, uint64_t bytes) {
  pthread_mutex_lock(&pool->lock);
  const qdp_block *block = pool->free_blocks;
  while (block != NULL && !fits(block, bytes)) block = block->next;
  pthread_mutex_unlock(&pool->lock);
  return block != NULL;
}

int qdp_block_take(qdp_pool *pool, uint64_t bytes, mr_stream *stream, qdp_block **made) {
  *made = NULL;
  pthread_mutex_lock(&pool->lock);
  /* The one that was returned first: its consumer is most likely done. */
  qdp_block **found = NULL;
  for (qdp_block **at = &pool->free_blocks; *at != NULL; at = &(*at)->next)
    if (fits(*at, bytes)) found = at;
  qdp_block *block = found == NULL ? NULL : *found;
  if (block != NULL) {
    *found = block->next;
    pool->free_count--;
  }
  pool->used++;
  pthread_mutex_unlock(&pool->lock);
  int status = MR_OK;
  if (block == NULL) {
    block = calloc(1, sizeof *block);
    status = block == NULL ? MR_ERROR_MEMORY : mr_buffer_alloc(pool->device, bytes, &block->buffer);
    if (status == MR_OK) {
      block->pool = pool;
      block->bytes = bytes;
      if (pool->has_streams) status = mr_event_open(pool->device, &block->used);
    }
  } else if (block->is_used_set) status = mr_stream_follow(stream, block->used);
  if (status != MR_OK) {
    if (block != NULL) free_block(block);
    pthread_mutex_lock(&pool->lock);
    pool->used--;
    pthread_mutex_unlock(&pool->lock);
    return status;
  }
  block->is_used_set = false;
  block->holders = 1;
  *made = block;
  return MR_OK;
}

mr_buffer *qdp_block_buffer(qdp_block *block) { return block->buffer; }

void qdp_block_share(qdp_block *block) {
  pthread_mutex_lock(&block->pool->lock);
  block->holders++;
  pthread_mutex_unlock(&block->pool->lock);
}

/* Queued work of the consumer may still read the memory: the next user waits for this point of the consumer's stream, and of
   those of other holders before it. Under the lock. */
static void note_use(qdp_block *block, mr_stream *consumer) {
  if (consumer == NULL || block->used == NULL) return;
  if (block->is_used_set) mr_stream_follow(consumer, block->used);
  block->is_used_set = mr_event_record(block->used, consumer) == MR_OK;
}

static void return_block(qdp_block *block, mr_stream *consumer) {
  qdp_pool *pool = block->pool;
  if (is_foreign(pool)) return;
  pthread_mutex_lock(&pool->lock);
  note_use(block, consumer);
  if (--block->holders > 0) {
    pthread_mutex_unlock(&pool->lock);
    return;
  }
  pool->used--;
  const bool is_last = pool->is_closed && pool->used == 0;
  qdp_block *old = pool->is_closed ? block : NULL;
  if (!pool->is_closed) {
    block->next = pool->free_blocks;
    pool->free_blocks = block;
    if (++pool->free_count > MAX_FREE) {
      qdp_block **at = &pool->free_blocks;
      while ((*at)->next != NULL) at = &(*at)->next;
      old = *at;
      *at = NULL;
      pool->free_count--;
    }
  }
  pthread_mutex_unlock(&pool->lock);
  if (old != NULL) free_block(old);
  if (is_last) delete_pool(pool);
}

void qdp_block_return(qdp_block *block) { return_block(block, NULL); }

int qdp_pool_stream(qdp_pool *pool, void *native, mr_stream **stream) {
  int status = MR_OK;
  pthread_mutex_lock(&pool->lock);
  AdoptedStream *own = pool->streams;
  while (own != NULL && own->native != native) own = own->next;
  if (own == NULL) {
    own = calloc(1, sizeof *own);
    status = own == NULL ? MR_ERROR_MEMORY : mr_stream_adopt(pool->device, native, &own->stream);
    if (status == MR_OK) {
      own->native = native;
      own->next = pool->streams;
      pool->streams = own;
    } else {
      free(own);
      own = NULL;
    }
  }
  pthread_mutex_unlock(&pool->lock);
  *stream = own == NULL ? NULL : own->stream;
  return status;
}

/* ---- tensors ---- */

/* What a tensor's deleter needs, behind the tensor itself. */
typedef struct Held {
  union {
    DLManagedTensor plain;
    DLManagedTensorVersioned versioned;
  } managed;
  qdp_block *block;
  mr_stream *consumer;
  int64_t shape[2], strides[2];
} Held;

static void release(Held *held) {
  return_block(held->block, held->consumer);
  free(held);
}

static void delete_plain(DLManagedTensor *tensor) { release(tensor->context); }
static void delete_versioned(DLManagedTensorVersioned *tensor) { release(tensor->context); }

void *qdp_tensor_make(qdp_block *block, uint64_t offset, int64_t rows, int64_t columns, int bits, int device_type,
                      int ordinal, int is_versioned, mr_stream *consumer) {
  Held *held = calloc(1, sizeof *held);
  if (held == NULL) return NULL;
  held->block = block;
  held->consumer = consumer;
  held->shape[0] = rows;
  held->shape[1] = held->strides[0] = columns;
  held->strides[1] = 1;
  DLTensor *tensor = is_versioned ? &held->managed.versioned.tensor : &held->managed.plain.tensor;
  tensor->data = (void *)(uintptr_t)(mr_buffer_address(block->buffer) + offset);
  tensor->device.type = device_type;
  tensor->device.ordinal = ordinal;
  tensor->dimensions = 2;
  tensor->dtype.code = DL_COMPLEX;
  tensor->dtype.bits = (uint8_t)bits;
  tensor->dtype.lanes = 1;
  tensor->shape = held->shape;
  tensor->strides = held->strides;
  if (is_versioned) {
    DLManagedTensorVersioned *own = &held->managed.versioned;
    own->version.major = 1;
    own->context = held;
    own->deleter = delete_versioned;
  } else {
    held->managed.plain.context = held;
    held->managed.plain.deleter = delete_plain;
  }
  return &held->managed;
}

/* ---- capsules ---- */

static int (*capsule_is_valid)(void *capsule, const char *name);
static void *(*capsule_pointer)(void *capsule, const char *name);

void qdp_capsule_functions(void *is_valid, void *get_pointer) {
  capsule_is_valid = (int (*)(void *, const char *))(uintptr_t)is_valid;
  capsule_pointer = (void *(*)(void *, const char *))(uintptr_t)get_pointer;
}

void qdp_capsule_destroy(void *capsule) {
  /* A consumer renames the capsule. */
  if (capsule_is_valid(capsule, "dltensor")) {
    DLManagedTensor *tensor = capsule_pointer(capsule, "dltensor");
    tensor->deleter(tensor);
  } else if (capsule_is_valid(capsule, "dltensor_versioned")) {
    DLManagedTensorVersioned *tensor = capsule_pointer(capsule, "dltensor_versioned");
    tensor->deleter(tensor);
  }
}
