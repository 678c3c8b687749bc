import type { Device } from '../../device/device.js';
import { between, Engine, type EngineOptions, search } from '../../engine/index.js';
import { headerScan } from './kernel.js';
import { checkNonce } from './reference.js';
import { jobValues, NONCES } from './scan.js';

/** Finds nonces. It holds devices and programs between blocks; several searches share them by turns. */
export class Solver {
  readonly #engine: Engine;

  constructor(devices: Device | readonly Device[], options?: EngineOptions) {
    this.#engine = new Engine(Array.isArray(devices) ? devices : [devices as Device], options);
  }

  /** Compiles what a target needs, so that the first search is not charged for it. */
  prepare(target: bigint): Promise<void> {
    return this.#engine.prepare(kernelFor(target));
  }

  /** The smallest valid nonce in `[from, to)` (any one with mode `any`), or null when there is none. */
  async solve(wanted: Search): Promise<Solution | null> {
    const { prefix, target, from = 0, to = NONCES, mode = 'first', signal, onProgress } = wanted;
    signal?.throwIfAborted();
    if (from >= to) return null;
    let tried = 0;
    const hits = search(kernelFor(target), {
      engine: this.#engine,
      space: between(BigInt(from), BigInt(to)),
      job: jobValues(prefix, target),
      mode,
      // Every hit is recomputed by code that shares nothing with the kernel.
      verify: ({ index, nonce }) => {
        if (BigInt(nonce) !== index) return `but gave it as nonce ${nonce}`;
        const { valid, hash } = checkNonce(prefix, target, nonce);
        return valid || `but its hash ${hash} is not below the target`;
      },
      onProgress: ({ done }) => {
        tried = Number(done);
        onProgress?.(tried);
      },
      ...(signal && { signal }),
    });
    const hit = await hits.first();
    return hit ? { nonce: hit.nonce, hash: checkNonce(prefix, target, hit.nonce).hash, tried } : null;
  }

  async close(): Promise<void> {
    await this.#engine.close();
  }
}

export interface Search {
  /** The first 76 bytes of the header. */
  readonly prefix: Uint8Array;
  readonly target: bigint;
  /** Default 0. */
  readonly from?: number;
  /** Not included; default 2^32. */
  readonly to?: number;
  readonly mode?: 'first' | 'any';
  readonly signal?: AbortSignal;
  /** Called after each chunk with the number of nonces tried so far. */
  readonly onProgress?: (tried: number) => void;
}

export interface Solution {
  readonly nonce: number;
  readonly hash: string;
  readonly tried: number;
}

/** Below 2^224 a digest's top word must be zero, which is the cheapest test there is: a variant of its own. */
const kernelFor = (target: bigint) => (target < 1n << 224n ? kernels.topWordZero : kernels.anyTopWord);

const kernels = { topWordZero: headerScan({ topWordZero: true }), anyTopWord: headerScan({ topWordZero: false }) };
