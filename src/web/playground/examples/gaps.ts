import { fermat } from '../../../workload/gaps/kernel/chain-kernel.js';

/** Fermat's test to base 2 of the odd numbers after 2^127: base + 2·candidate + 1. */
const candidate = Uint32Array.from({ length: 64 }, (_, at) => at);

export default {
  kernel: fermat({ limb: 'u32', bits: 128 }),
  chunk: { base: [0, 0, 0, 0x8000_0000] },
  space: candidate.length,
  buffers: { candidate, prime: candidate.length },
};
