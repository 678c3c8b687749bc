import { withRing } from '../harness.js';
import type { Hoisted, Program } from '../ir.js';
import { fold } from './fold.js';
import { hoist } from './hoist.js';

/** The passes that no target changes: ring, fold, hoist. Pure values float: `place` gives them their places. */
export function floatingProgram(program: Program, compute = true): Hoisted {
  return hoist(fold(withRing(program)), compute);
}
