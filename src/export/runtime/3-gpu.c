/* What launches on CUDA and OpenCL have in common. */
#include "internal.h"

/* The launch block of a kernel: header, sizes, parameters. */
static void write_block(uint32_t *block, uint32_t epoch, const Job *job, const Launch *launch) {
  const mr_variant *variant = job->program->variant;
  uint64_t sizes[64];
  memset(block, 0, variant->launch_words * sizeof *block);
  block[LAUNCH_LAST] = (uint32_t)(launch->count - 1);
  block[LAUNCH_EPOCH] = epoch;
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    sizes[i] = launch->buffers[i]->bytes;
    block[variant->sizes_at + 2 * i] = (uint32_t)sizes[i];
    block[variant->sizes_at + 2 * i + 1] = (uint32_t)(sizes[i] >> 32);
  }
  uint32_t *params = block + variant->parameters_at;
  memcpy(params, job->words, variant->job_words * sizeof *params);
  const mr_place place = {launch->base, launch->ring_capacity, sizes};
  if (variant->chunk != NULL) variant->chunk(job->values, launch->chunk, &place, params);
}

/* Workgroups for a launch: up to 64 times as many as are resident, so that the last ones end together, but none with fewer
   than 16 blocks of items, since each begins by filling its tables. */
static unsigned group_count(const Program *program, uint64_t items) {
  const uint64_t blocks = (items + program->variant->group_items - 1) / program->variant->group_items;
  uint64_t spread = program->resident_groups * 64;
  if (spread > blocks / 16) spread = blocks / 16;
  uint64_t groups = spread > program->resident_groups ? spread : program->resident_groups;
  if (groups > blocks) groups = blocks;
  return groups < 1 ? 1 : groups > 0x7fffffff ? 0x7fffffffu : (unsigned)groups;
}
