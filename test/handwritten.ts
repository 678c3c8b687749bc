import type { ProgramSource } from '../src/device/program.js';
import type { BufferDecl } from '../src/kernel/index.js';

/** Handwritten C in the form of generated code, to test the pool without the kernel language. */
export function handwritten(name: string, body: string, more: Partial<ProgramSource> = {}): ProgramSource {
  return {
    name,
    text: `#include <stdint.h>\n${body}\n`,
    lanes: 1,
    lineOrigins: [],
    job: [],
    chunk: [],
    hit: [],
    bindings: [],
    params: { jobWords: 0, chunkWords: 0 },
    statements: 1,
    ring: { headerWords: 4, recordWords: 1 },
    sites: [],
    parameters: () => ({ words: () => new Uint32Array(1) }),
    ...more,
  };
}

export const words = (...names: string[]): BufferDecl[] =>
  names.map((name, slot) => ({ name, kind: 'rw', type: 'u32', slot }));

/** Adds the job's value and the item's number to each word. */
export const addItems = handwritten(
  'add-items',
  `uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const uint32_t value = *(const uint32_t *)launch[0];
  uint32_t *x = (uint32_t *)launch[3];
  for (uint64_t i = begin; i < end; i++) x[i] = x[i] * 3 + (uint32_t)i + value;
  return end - begin;
}`,
  {
    bindings: words('x'),
    parameters: (job) => ({ words: () => Uint32Array.of(Number(job.value ?? 0)) }),
  },
);

/** Every item takes about `steps` steps of a chain; checks the cancel word before each item. */
export const spin = handwritten(
  'spin',
  `uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const uint32_t steps = *(const uint32_t *)launch[0];
  const volatile uint32_t *control = (const volatile uint32_t *)launch[1];
  volatile uint32_t chain = 1;
  for (uint64_t i = begin; i < end; i++) {
    if (control[0] != (uint32_t)launch[2]) return i - begin;
    for (uint32_t k = 0; k < steps; k++) chain = chain * 5 + 1;
  }
  return end - begin;
}`,
  { parameters: (job) => ({ words: () => Uint32Array.of(Number(job.steps ?? 1000)) }) },
);

/** Traps at item 5, the way a checked build does. */
export const trap = handwritten(
  'trap',
  `uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  volatile uint32_t *control = (volatile uint32_t *)launch[1];
  for (uint64_t i = begin; i < end; i++) {
    if (i != 5) continue;
    control[2] = 0;
    control[3] = 1234;
    control[4] = 0;
    control[1] = 1;
    return i - begin;
  }
  return end - begin;
}`,
);
