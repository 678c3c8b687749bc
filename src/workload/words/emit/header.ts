/** The header of the C library: the functions, their codes and records. */
export const header = `/* Words of masks by their index. Made by millrace; see millrace_words.c. */
#ifndef MILLRACE_WORDS_H
#define MILLRACE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions that give an int, or an int64_t of bytes, give where they fail. */
enum {
  WG_OK = 0,
  WG_BAD_HANDLE = -1,
  WG_BAD_PARAMETER = -2,
  WG_DEVICE = -3,
  WG_OUT_OF_MEMORY = -4,
  WG_NOT_CONFIGURED = -5,
  WG_BUFFER_TOO_SMALL = -6,
  WG_OUT_OF_RANGE = -7 /* an index outside the keyspace: nothing wraps round */
};

/* What follows each word. */
enum { WG_FORMAT_NEWLINES = 0, WG_FORMAT_FIXED_WIDTH = 1 /* NUL */, WG_FORMAT_PACKED = 2 /* nothing */ };

typedef struct wg_generator *wg_handle_t;
typedef struct wg_several *wg_multigpu_handle_t;

/* Words in the generator's own memory: word i begins at address + i * stride. Good until two further batches of the
   generator are made, wg_free_batch_device or wg_destroy. */
typedef struct {
  uint64_t address;
  uint64_t word_count;
  uint32_t word_length;
  uint32_t stride;
  uint64_t total_bytes;
  int32_t format;
} wg_batch_device_t;

typedef struct {
  char name[256];
  int major, minor; /* of CUDA's compute capability; 0 for a CPU */
  uint64_t total_bytes;
  int threads;
} wg_device_properties_t;

/* A generator is used by one thread at a time; any number of them may be there. The device is the CPU, number 0; there is
   no context to adopt. */
wg_handle_t wg_create(void *context, int device);
void wg_destroy(wg_handle_t generator);
int wg_set_charset(wg_handle_t generator, int id, const unsigned char *bytes, size_t length);
int wg_set_mask(wg_handle_t generator, const int *ids, int length);
int wg_set_format(wg_handle_t generator, int format);
uint64_t wg_keyspace_size(wg_handle_t generator); /* 0 without a mask; 2^64-1 stands for all above */
uint64_t wg_calculate_buffer_size(wg_handle_t generator, uint64_t count);
const char *wg_get_error(wg_handle_t generator); /* of the calling thread's last call; NULL where it succeeded */
int64_t wg_generate_batch_host(wg_handle_t generator, uint64_t start, uint64_t count, void *buffer, size_t capacity);
int wg_generate_batch_device(wg_handle_t generator, uint64_t start, uint64_t count, wg_batch_device_t *batch);
void wg_free_batch_device(wg_handle_t generator, wg_batch_device_t *batch);
/* The CPU has no streams: the words are there when the call returns. */
int wg_generate_batch_stream(wg_handle_t generator, void *stream, uint64_t start, uint64_t count,
                             wg_batch_device_t *batch);
const char *wg_get_version(void);
int wg_cuda_available(void);
int wg_get_device_count(void);
int wg_get_device_info(int device, char name[256], int *major, int *minor, uint64_t *total_bytes);

/* Where a word is: WG_OUT_OF_RANGE where it is not. */
int wg_word_to_index(wg_handle_t generator, const unsigned char *word, size_t length, uint64_t *index);
int wg_get_device_properties(int device, wg_device_properties_t *properties);
int wg_set_output_format(wg_handle_t generator, int format);

/* Several processors as devices 0 to n-1, a thread each. Device k of g gets count / g words, the first the rest too. */
wg_multigpu_handle_t wg_multigpu_create(void);
wg_multigpu_handle_t wg_multigpu_create_with_devices(const int *devices, int count);
int wg_multigpu_set_charset(wg_multigpu_handle_t several, int id, const unsigned char *bytes, size_t length);
int wg_multigpu_set_mask(wg_multigpu_handle_t several, const int *ids, int length);
int wg_multigpu_set_format(wg_multigpu_handle_t several, int format);
int64_t wg_multigpu_generate(wg_multigpu_handle_t several, uint64_t start, uint64_t count, void *buffer,
                             size_t capacity);
int wg_multigpu_get_device_count(wg_multigpu_handle_t several);
void wg_multigpu_destroy(wg_multigpu_handle_t several);

#ifdef __cplusplus
}
#endif
#endif
`;
