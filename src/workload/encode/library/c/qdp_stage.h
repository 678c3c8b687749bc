/* Plain host memory to a device, through page-locked memory: several threads copy while the bus transfers. One call from
   Python, which holds none of its locks meanwhile. */
#ifndef QDP_STAGE_H
#define QDP_STAGE_H

#include "millrace_runtime.h"

typedef struct qdp_stage qdp_stage;

/* Up to `threads` threads copy at a time. Page-locked memory is allocated when it is first needed. */
int qdp_stage_open(mr_device *device, int threads, qdp_stage **stage);
/* Call before the device is closed, which frees the page-locked memory. */
void qdp_stage_close(qdp_stage *stage);

/* Queues copies of parts to consecutive bytes of the buffer. The parts may change when it returns. One call at a time. */
int qdp_stage_write(qdp_stage *stage, mr_stream *stream, mr_buffer *buffer, const uint64_t *addresses,
                    const uint64_t *sizes, uint64_t count);

#endif
