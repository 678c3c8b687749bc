import { wordPieces } from '../../../workload/words/kernel/kernel.js';
import { Plan } from '../../../workload/words/kernel/plan.js';
import { parseMask } from '../../../workload/words/space/mask.js';

/** The first words of a mask, four bytes each with the line end: an item makes 16 bytes. */
const plan = new Plan(parseMask('?l?d?u'), 'canonical', '\n');
const quads = 64;
const { chunk, far } = plan.launch(0n, quads, new Uint8Array(plan.farBytes(quads)));

export default {
  kernel: wordPieces(1),
  job: plan.job,
  chunk,
  space: quads,
  buffers: { near: plan.near, middle: plan.middle, far, out: 4 * quads },
};
