import type { FleetJobs } from '../../../console/fleet/jobs.js';
import { between } from '../../../engine/index.js';
import { minBigint } from '../../../engine/work/space.js';
import { fromHex, toHex } from '../../../fleet/digest.js';
import { packWorkloadJob } from '../../../fleet/manifest/index.js';
import { checkSpace, type FleetWorkload } from '../../../fleet/workload.js';
import { fieldReader } from '../../../network/fields.js';
import { checkNonce } from '../kernel/reference.js';
import { NONCES } from '../kernel/scan.js';
import { type NonceSearch, type NonceSolver, searchNonces } from './solve.js';

/** Nonces of one header on a fleet: an index is a nonce. */
export const fleetBlock: FleetWorkload = {
  name: 'block',
  version: 1,

  search: (params, { engine, space, source, signal }) => {
    checkSpace(space, BigInt(NONCES));
    return searchNonces(engine, {
      ...headerOf(params),
      space,
      mode: 'arrival',
      name: 'block',
      source: source as NonNullable<NonceSearch['source']>,
      signal,
    });
  },

  check: async (params, hits) => {
    const { prefix, target } = headerOf(params);
    for (const { index, fields } of hits) {
      if (index >= BigInt(NONCES) || fields.nonce !== Number(index)) return `index ${index} has another nonce`;
      const { valid, hash } = checkNonce(prefix, target, Number(index));
      if (!valid) return `the hash ${hash} of nonce ${index} is not below the target`;
    }
    return undefined;
  },

  relax: (params, bits) => {
    const { target } = headerOf(params);
    const weaker = (1n << 256n) >> BigInt(Math.min(bits, 255));
    return { ...params, target: String(weaker > target ? minBigint(weaker, (1n << 256n) - 1n) : target) };
  },
};

/** Solves each block as a job of its own. A block that is not solved when the signal is aborted stays with the fleet. */
export function fleetSolver(jobs: FleetJobs): NonceSolver {
  return async ({ prefix, target, from = 0, to = NONCES, mode = 'first', signal, onProgress }) => {
    signal?.throwIfAborted();
    if (from >= to) return null;
    const params = { prefix: toHex(prefix), target: String(target) };
    const space = between(BigInt(from), BigInt(to));
    let tried = 0;
    const search = jobs.search(packWorkloadJob(fleetBlock, params, space, mode), {
      ...(signal && { signal }),
      onProgress: ({ done }) => {
        tried = Number(done);
        onProgress?.(tried);
      },
    });
    for await (const { index } of search) {
      const nonce = Number(index);
      return { nonce, hash: checkNonce(prefix, target, nonce).hash, tried };
    }
    signal?.throwIfAborted();
    return null;
  };
}

/** Reads parameters that may come from anywhere. */
function headerOf(params: Readonly<Record<string, unknown>>): Pick<NonceSearch, 'prefix' | 'target'> {
  const read = fieldReader('a search for nonces', 'use the same version of Millrace on every machine of the fleet');
  const prefix = read.hex(params.prefix, 'prefix', { min: 76, max: 76 });
  const target = read.bigInteger(params.target, 'target', 1n, (1n << 256n) - 1n);
  return { prefix: fromHex(prefix), target };
}
