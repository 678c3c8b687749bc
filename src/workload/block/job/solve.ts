import type { Device } from '../../../device/device.js';
import type { ExpectedKernel } from '../../../device/kinds.js';
import {
  type Aim,
  between,
  type ChunkSource,
  Engine,
  type EngineOptions,
  type KernelPerDevice,
  type Range,
  type Search,
  type SearchMode,
  search,
} from '../../../engine/index.js';
import { settingFor, tunedFlow } from '../../../engine/tune/tuning-store.js';
import {
  compileOptions,
  type FoundNonce,
  isTopWordZero,
  kernelFor,
  nonceFlow,
  perThreadOn,
} from '../kernel/nonce-flow.js';
import { checkNonce } from '../kernel/reference.js';
import { NONCES } from '../kernel/scan.js';
import type { BlockSearch } from './blocks-coverage.js';
import { blockTunable } from './tune.js';

/** Finds nonces. Keeps devices and programs between blocks; concurrent searches share them. */
export class Solver {
  readonly engine: Engine;

  constructor(devices: Device | readonly Device[], options?: EngineOptions) {
    this.engine = new Engine(Array.isArray(devices) ? devices : [devices as Device], options);
  }

  /** Compiles the kernels for these targets, so that the first search does not have to. */
  async prepare(...targets: readonly bigint[]): Promise<void> {
    await Promise.all(preparations(targets).map((one) => this.engine.prepare(one)));
  }

  /** Finds the smallest valid nonce in `[from, to)` (any one with mode `any`); null if there is none. */
  solve(request: NonceSearch): Promise<Solution | null> {
    return solveOn(this.engine, request);
  }

  async close(): Promise<void> {
    await this.engine.close();
  }
}

/** Searches one header's nonces on an engine that other jobs may use at the same time. */
export async function solveOn(engine: Engine, request: NonceSearch): Promise<Solution | null> {
  const { prefix, target, from = 0, to = NONCES, mode = 'first', signal, onProgress } = request;
  signal?.throwIfAborted();
  if (from >= to) return null;
  let tried = 0;
  const hits = searchNonces(engine, {
    ...request,
    space: between(BigInt(from), BigInt(to)),
    mode,
    onProgress: (now) => {
      tried = now;
      onProgress?.(tried);
    },
  });
  request.onSearch?.(hits);
  const hit = await hits.first();
  return hit ? { nonce: hit.nonce, hash: checkNonce(prefix, target, hit.nonce).hash, tried } : null;
}

/** Finds the valid nonces of a range. */
export function searchNonces(engine: Engine, request: NonceRangeSearch): Search<FoundNonce> {
  const { prefix, target, space, mode, name, source, signal, onProgress } = request;
  const nonces = { prefix, target, max: maxNonces(target) };
  const flow = tunedFlow(blockTunable, (setting) => nonceFlow(nonces, setting));
  return search(flow, {
    engine,
    space,
    mode,
    ...(name !== undefined && { name }),
    ...(source && { source }),
    // Every hit is recomputed by code that shares nothing with the kernel.
    verify: ({ index, nonce }) => {
      if (BigInt(nonce) !== index) return `but gave it as nonce ${nonce}`;
      const { valid, hash } = checkNonce(prefix, target, nonce);
      return valid || `but its hash ${hash} is not below the target`;
    },
    onProgress: ({ done }) => onProgress?.(Number(done)),
    // All nonces are half a second of a GPU's work: a hit must not wait for the end of a long chunk.
    aim: request.aim ?? 'interactive',
    ...(signal && { signal }),
  });
}

export interface NonceRangeSearch extends Omit<NonceSearch, 'from' | 'to' | 'mode'> {
  readonly space: Range;
  readonly mode: SearchMode;
}

/** Solves one header, on devices of this machine or elsewhere. */
export type NonceSolver = (request: NonceSearch) => Promise<Solution | null>;

export interface NonceSearch {
  /** The first 76 bytes of the header. */
  readonly prefix: Uint8Array;
  readonly target: bigint;
  /** Default 0. */
  readonly from?: number;
  /** Exclusive; default 2^32. */
  readonly to?: number;
  readonly mode?: 'first' | 'any';
  /** The job's name in telemetry. */
  readonly name?: string;
  /** Controls the length of chunks. */
  readonly aim?: Aim;
  /** The chunk source, which also records finished work. Default: in memory. */
  readonly source?: ChunkSource<readonly FoundNonce[]>;
  readonly signal?: AbortSignal;
  /** Called after each chunk with the number of nonces tried so far. */
  readonly onProgress?: (tried: number) => void;
  /** Called with the search before it starts. */
  readonly onSearch?: (search: BlockSearch) => void;
}

export interface Solution {
  readonly nonce: number;
  readonly hash: string;
  readonly tried: number;
}

/**
 * The largest chunk for a target. All solutions of a chunk after the first are discarded, but each is recomputed
 * before: at the easiest target of all, where every second nonce is valid, that took 0.3 s. So a chunk has about 64.
 */
export function maxNonces(target: bigint): number {
  const nonces = (SOLUTIONS_PER_CHUNK << 256n) / target + 1n;
  return nonces < BigInt(NONCES) ? Number(nonces) : NONCES;
}
const SOLUTIONS_PER_CHUNK = 64n;

/** The kernels that these targets need, each once, with the settings of each device. */
export function preparations(targets: readonly bigint[]): readonly KernelPerDevice[] {
  return variants(targets).map((topWordZero) => ({
    name: kernelFor(topWordZero).name,
    on: async (device) => {
      const setting = await settingFor(device, blockTunable);
      return { kernel: kernelFor(topWordZero, perThreadOn(device, setting)), compile: compileOptions(setting) };
    },
  }));
}

/** The kernels that these targets need, for devices that are not open yet. */
export const expectedKernels = (targets: readonly bigint[]): readonly ExpectedKernel[] =>
  variants(targets).map((topWordZero) => ({ kernel: kernelFor(topWordZero) }));

const variants = (targets: readonly bigint[]): boolean[] => [...new Set(targets.map(isTopWordZero))];
