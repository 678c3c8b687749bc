import type { Tunable } from '../engine/tune.js';
import { blockTunable } from './block/tune.js';
import { uhashTunable } from './uhash/tune.js';
import { wordsTunable } from './words/tune.js';

/** Workloads that `millrace tune` takes, by their names. */
export const tunables: readonly Tunable[] = [blockTunable, uhashTunable, wordsTunable].map(
  (one) => one as unknown as Tunable,
);
