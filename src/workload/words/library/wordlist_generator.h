/* Words of masks by their index, on CUDA, OpenCL and the CPU. Link with the library that this header came with.

   A word has a byte of a charset at each position of the mask; the last position changes fastest. Words are numbered from 0.

   Devices have numbers. By default they are all CUDA devices; without any, the OpenCL devices if the first is a GPU;
   otherwise the CPU is device 0. The environment variable MILLRACE_DEVICE changes the list: a kind (cpu, cuda, opencl), or
   names separated by commas (cuda:1,opencl:0,cpu:4).

   Functions may be called from any thread, with any number of handles. Calls with the same handle run one after the other.
   A handle that was destroyed is refused. */
#ifndef WORDLIST_GENERATOR_H
#define WORDLIST_GENERATOR_H

#include <stddef.h>
#include <stdint.h>

/* CUstream is declared by <cuda.h>, or here if the toolkit is not installed. */
#if !defined(WG_WITHOUT_CUDA_H) && defined(__has_include)
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif
#endif
#ifndef CUDA_VERSION
typedef struct CUstream_st *CUstream;
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Results of functions that return an int32_t, and negative results of those that return an intptr_t. */
#define wg_WG_SUCCESS 0
#define wg_WG_ERROR_INVALID_HANDLE -1
#define wg_WG_ERROR_INVALID_PARAM -2
#define wg_WG_ERROR_CUDA -3 /* a device failed or is missing, of any kind */
#define wg_WG_ERROR_OUT_OF_MEMORY -4
#define wg_WG_ERROR_NOT_CONFIGURED -5
#define wg_WG_ERROR_BUFFER_TOO_SMALL -6
#define wg_WG_ERROR_KEYSPACE_OVERFLOW -7 /* an index outside the keyspace */

#define WG_SUCCESS wg_WG_SUCCESS
#define WG_ERROR_INVALID_HANDLE wg_WG_ERROR_INVALID_HANDLE
#define WG_ERROR_INVALID_PARAM wg_WG_ERROR_INVALID_PARAM
#define WG_ERROR_CUDA wg_WG_ERROR_CUDA
#define WG_ERROR_OUT_OF_MEMORY wg_WG_ERROR_OUT_OF_MEMORY
#define WG_ERROR_NOT_CONFIGURED wg_WG_ERROR_NOT_CONFIGURED
#define WG_ERROR_BUFFER_TOO_SMALL wg_WG_ERROR_BUFFER_TOO_SMALL
#define WG_ERROR_KEYSPACE_OVERFLOW wg_WG_ERROR_KEYSPACE_OVERFLOW

/* What follows each word. */
#define wg_WG_FORMAT_NEWLINES 0    /* 0x0a */
#define wg_WG_FORMAT_FIXED_WIDTH 1 /* 0x00 */
#define wg_WG_FORMAT_PACKED 2      /* nothing */

#define WG_FORMAT_NEWLINES wg_WG_FORMAT_NEWLINES
#define WG_FORMAT_FIXED_WIDTH wg_WG_FORMAT_FIXED_WIDTH
#define WG_FORMAT_PACKED wg_WG_FORMAT_PACKED

struct wg_WordlistGenerator;
struct wg_MultiGpuGenerator;

/* Words in memory of the device: word i begins at data + i * stride. data is a CUdeviceptr, on OpenCL a cl_mem, on the CPU
   an address. */
struct wg_BatchDevice {
  uint64_t data;
  uint64_t count;
  uintptr_t word_length;
  uintptr_t stride;
  uintptr_t total_bytes;
  int32_t format;
};

typedef struct wg_WordlistGenerator *wg_handle_t;
typedef struct wg_MultiGpuGenerator *wg_multigpu_handle_t;
typedef struct wg_BatchDevice wg_batch_device_t;

typedef struct wg_DeviceProperties {
  char name[256];
  int32_t major, minor; /* CUDA: the compute capability; 0 otherwise */
  uint64_t total_bytes;
  int32_t units; /* threads, multiprocessors or compute units */
} wg_device_properties_t;

/* ---- one device ---- */

/* Makes a generator on a device. If ctx is not null, it is a CUcontext of the caller on this CUDA device; the caller keeps
   it until wg_destroy(). Returns null if that fails; wg_get_error() has the reason. */
struct wg_WordlistGenerator *wg_create(void *ctx, int32_t device);
/* Frees everything, including batches on the device. Null is ignored. */
void wg_destroy(struct wg_WordlistGenerator *generator);

/* Defines charset 1 to 255, or replaces it, also in the mask. Bytes are copied; a byte that occurs again is dropped. */
int32_t wg_set_charset(struct wg_WordlistGenerator *generator, int32_t id, const void *bytes, uintptr_t length);
/* Sets the charset of each position: 1 to 256 numbers of charsets that are defined. */
int32_t wg_set_mask(struct wg_WordlistGenerator *generator, const int32_t *ids, int32_t length);
int32_t wg_set_format(struct wg_WordlistGenerator *generator, int32_t format);

/* The number of words. 0 without a mask; 2^64 - 1, with an error text, if there are more than that. */
uint64_t wg_keyspace_size(const struct wg_WordlistGenerator *generator);
/* The bytes of `count` words. 0 without a mask; the largest number if it is too small. */
uintptr_t wg_calculate_buffer_size(const struct wg_WordlistGenerator *generator, uint64_t count);
/* The text of the calling thread's last call; null if there was no error. Valid until its next call. The handle is
   ignored. */
const char *wg_get_error(const struct wg_WordlistGenerator *generator);

/* Writes `count` words from `start` on. Returns the bytes written, or a negative code. Checks in this order: handle, buffer,
   mask, capacity, range. Words arrive fastest in page-locked memory (cuMemHostAlloc, cuMemHostRegister). */
intptr_t wg_generate_batch_host(struct wg_WordlistGenerator *generator, uint64_t start, uint64_t count, void *buffer,
                                uintptr_t capacity);
/* The same into memory of the device, which is valid until the generator's next batch but one, wg_free_batch_device() or
   wg_destroy(). The words are there when the call returns. A batch on OpenCL has at most 8 GiB. */
int32_t wg_generate_batch_device(struct wg_WordlistGenerator *generator, uint64_t start, uint64_t count,
                                 struct wg_BatchDevice *batch);
/* The same on a stream of the caller: the words are there for commands that are queued on it later. On CUDA the stream is of
   the generator's context: ctx, or the device's primary context. On OpenCL it is a cl_command_queue of the context that
   `data` of a batch is in. The caller may destroy it before the generator. Null, any stream on the CPU, and batches of more
   than 16 GiB: the words are there when the call returns. */
int32_t wg_generate_batch_stream(struct wg_WordlistGenerator *generator, CUstream stream, uint64_t start, uint64_t count,
                                 struct wg_BatchDevice *batch);
/* Frees the memory of a batch now and sets data, count and total_bytes to 0. A batch that was freed is ignored. */
void wg_free_batch_device(struct wg_WordlistGenerator *generator, struct wg_BatchDevice *batch);

/* The number of a word. wg_WG_ERROR_KEYSPACE_OVERFLOW if it is not in the keyspace or has more than 64 bits. */
int32_t wg_word_to_index(const struct wg_WordlistGenerator *generator, const void *word, uintptr_t length,
                         uint64_t *index);
/* The same as wg_set_format(). */
int32_t wg_set_output_format(struct wg_WordlistGenerator *generator, int32_t format);

/* ---- the machine ---- */

const char *wg_get_version(void);
/* 1 if there is a CUDA device, otherwise 0. */
int32_t wg_cuda_available(void);
/* The number of devices; -1 if MILLRACE_DEVICE is wrong. */
int32_t wg_get_device_count(void);
/* Describes a device. name has room for 256 bytes. */
int32_t wg_get_device_info(int32_t device, char *name, int32_t *major, int32_t *minor, uint64_t *total_bytes);
int32_t wg_get_device_properties(int32_t device, wg_device_properties_t *properties);

/* ---- several devices ---- */

/* Makes a generator on all devices, with a thread for each. A device that cannot be opened is left out, and wg_get_error()
   says so. Returns null if none is left. */
struct wg_MultiGpuGenerator *wg_multigpu_create(void);
/* The same with the devices of different numbers. */
struct wg_MultiGpuGenerator *wg_multigpu_create_with_devices(const int32_t *devices, int32_t count);
int32_t wg_multigpu_set_charset(struct wg_MultiGpuGenerator *generator, int32_t id, const void *bytes, uintptr_t length);
int32_t wg_multigpu_set_mask(struct wg_MultiGpuGenerator *generator, const int32_t *ids, int32_t length);
int32_t wg_multigpu_set_format(struct wg_MultiGpuGenerator *generator, int32_t format);
/* As wg_generate_batch_host(). Devices take ranges according to their measured rates. If a device fails, the others do its
   part and wg_get_error() says so; the call fails if none is left. */
intptr_t wg_multigpu_generate(struct wg_MultiGpuGenerator *generator, uint64_t start, uint64_t count, void *buffer,
                              uintptr_t capacity);
/* The number of devices in use, or -1. */
int32_t wg_multigpu_get_device_count(const struct wg_MultiGpuGenerator *generator);
void wg_multigpu_destroy(struct wg_MultiGpuGenerator *generator);

#ifdef __cplusplus
}
#endif
#endif
