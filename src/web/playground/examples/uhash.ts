import { mix } from '../../../workload/uhash/kernel/kernel.js';
import { PAD_BYTES } from '../../../workload/uhash/kernel/pads.js';

/** The first six rounds of the four chains of one nonce, on scratchpads of zeros. Of twelve items four have a chain. */
const state = Uint32Array.from({ length: 4 * 8 }, (_, at) => at * 0x9e3779b1);

export default {
  kernel: mix({ chainsPerItem: 1, copies: 1, tables: 1, pads: 1, rolled: true }),
  chunk: { from: 0, rounds: 6, nonces: 1, turn: 0, perPhase: 4, perPad: 4 },
  space: 12,
  buffers: { state, pad0: PAD_BYTES },
};
