import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { CheckModule } from '../../engine/index.js';
import { endOf, type Piece, type Range } from '../../engine/index.js';
import type { Identity } from '../../store/index.js';
import { programText } from '../../store/index.js';
import type { Task } from './task.js';

/**
 * Identifies a user's search: the traced kernel, its values, its data, and the check of its hits, since a changed check
 * should run. A function is identified by its text; the function that computes chunk values also by some of its results.
 */
export function identityOf({ kernel, job, rest }: Task, space: Range): Pick<Identity, 'params' | 'kernel'> {
  const { buffers, chunk, verify } = rest;
  const params = {
    job,
    ...(buffers && { buffers }),
    ...(chunk && { chunk: { text: String(chunk), values: probes(space).map((piece) => chunk(piece)) } }),
    ...(verify && { check: typeof verify === 'function' ? String(verify) : checkIdentity(verify) }),
  };
  return { params, kernel: programText(kernel) };
}

/** Returns the pieces at which the chunk function is sampled. */
function probes({ start, length }: Range): Piece[] {
  const last = endOf({ start, length }) - 1n;
  return [start, start + length / 2n, last].map((at) => ({ start: at, count: 1 }));
}

/** Identifies the check in the user's module, wrapped by `wrapCheck`, by the module's text, wherever it is. */
function checkIdentity({ data }: CheckModule): object {
  const { module, name, data: given } = data as CheckModule;
  const path = String(module).startsWith('file:') ? fileURLToPath(module) : undefined;
  const text = path !== undefined && existsSync(path) ? readFileSync(path) : String(module);
  return { text: createHash('sha256').update(text).digest('hex'), name, data: given };
}
