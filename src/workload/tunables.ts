import type { Tunable } from '../engine/tune/tune.js';
import { blockTunable } from './block/job/tune.js';
import { uhashTunable } from './uhash/job/tune.js';
import { wordsTunable } from './words/generator/tune.js';

/** Workloads that `millrace tune` accepts, by name. */
export const tunables: readonly Tunable[] = [blockTunable, uhashTunable, wordsTunable].map(
  (one) => one as unknown as Tunable,
);
