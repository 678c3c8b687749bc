/* Memory of results: blocks that are reused, and DLPack tensors that other libraries take them as. The deleter of a tensor
   is C, so that any thread may call it, also while Python ends. */
#ifndef QDP_TENSOR_H
#define QDP_TENSOR_H

#include "millrace_runtime.h"

typedef struct qdp_pool qdp_pool;
typedef struct qdp_block qdp_block;

/* A pool owns its device: it is closed with the pool, or after it by the last tensor's deleter. */
int qdp_pool_open(mr_device *device, qdp_pool **pool);
void qdp_pool_close(qdp_pool *pool);
/* Keeps the device open until qdp_pool_drop(), also after qdp_pool_close(): for other memory of the device. */
void qdp_pool_hold(qdp_pool *pool);
void qdp_pool_drop(qdp_pool *pool);
/* Frees the blocks that nothing uses. */
void qdp_pool_trim(qdp_pool *pool);
/* Blocks that tensors or callers hold. */
uint64_t qdp_pool_used(qdp_pool *pool);

/* Takes a free block, or allocates one. Commands of `stream` wait for the consumers of what was in it. */
int qdp_block_take(qdp_pool *pool, uint64_t bytes, mr_stream *stream, qdp_block **block);
/* 1 if a free block of this size is there. */
int qdp_block_is_free(qdp_pool *pool, uint64_t bytes);
mr_buffer *qdp_block_buffer(qdp_block *block);
/* Adds a holder: the block is free after as many returns. */
void qdp_block_share(qdp_block *block);
void qdp_block_return(qdp_block *block);

/* Wraps a stream of another library, once for each: a CUstream of the device's context. */
int qdp_pool_stream(qdp_pool *pool, void *native, mr_stream **stream);

/* Makes a DLManagedTensor of a matrix of complex numbers at an offset of the block, or with is_versioned a DLManagedTensorVersioned. The
   block belongs to it. `consumer` is the stream that the consumer uses, or null. Null if there is no memory. */
void *qdp_tensor_make(qdp_block *block, uint64_t offset, int64_t rows, int64_t columns, int bits, int device_type,
                      int ordinal, int is_versioned, mr_stream *consumer);

/* The destructor of a capsule that was not consumed: calls the tensor's deleter. */
void qdp_capsule_destroy(void *capsule);
/* PyCapsule_IsValid and PyCapsule_GetPointer of the running Python. */
void qdp_capsule_functions(void *is_valid, void *get_pointer);

#endif
