import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { CheckModule } from '../../engine/index.js';
import { endOf, type Piece, type Range } from '../../engine/index.js';
import type { Identity } from '../../store/index.js';
import { programText } from '../../store/index.js';
import type { Task } from './task.js';

/**
 * What makes a user's search the same as an earlier one: the kernel as it was traced, its values, its data, and what
 * checks its hits: who changes the check wants it to be made. Of a function its text is taken, and of that which gives
 * chunks their values also some of them.
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

/** Where a function of the piece is looked at. */
function probes({ start, length }: Range): Piece[] {
  const last = endOf({ start, length }) - 1n;
  return [start, start + length / 2n, last].map((at) => ({ start: at, count: 1 }));
}

/** The check in the user's module, which `throughHere` has wrapped: by its module's text, wherever that lies. */
function checkIdentity({ data }: CheckModule): object {
  const { module, name, data: given } = data as CheckModule;
  const path = String(module).startsWith('file:') ? fileURLToPath(module) : undefined;
  const text = path !== undefined && existsSync(path) ? readFileSync(path) : String(module);
  return { text: createHash('sha256').update(text).digest('hex'), name, data: given };
}
