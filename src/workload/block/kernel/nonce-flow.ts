import type { CompileOptions, Device } from '../../../device/device.js';
import { passItems } from '../../../engine/flow/flow.js';
import { type Flow, flow, hitsIn, type Overflow, type Piece } from '../../../engine/index.js';
import type { Setting } from '../../../engine/tune/tune.js';
import { headerScan } from './kernel.js';
import { jobValues } from './scan.js';

/** How a device searches for nonces; unset fields are the device's default (tune.ts). All settings give the same nonces. */
export interface BlockSetting extends Setting, Pick<CompileOptions, 'pipes' | 'nativeBodies'> {
  readonly lanes?: number;
  /** Nonces that one item tries. Default: the best number for the device. */
  readonly perThread?: number;
  readonly streams?: number;
  readonly slots?: number;
}

export interface FoundNonce {
  readonly index: bigint;
  readonly nonce: number;
}

/** Runs a chunk of nonces as one launch. An index is a nonce, independent of the nonces per item. */
export function nonceFlow(nonces: NonceFlowSpec, setting: BlockSetting): Flow<readonly FoundNonce[]> {
  return {
    name: 'block',
    open: (device, options) => flowWith(nonces, setting, perThreadOn(device, setting)).open(device, options),
  };
}

/** Nonces per item: one, except with ARM's SHA-2 instructions, which compute the last words of many at once. */
export function perThreadOn({ info: { capabilities } }: Device, { perThread, nativeBodies }: BlockSetting): number {
  if (perThread !== undefined) return perThread;
  return nativeBodies !== false && capabilities.includes('neon') && capabilities.includes('sha') ? 32 : 1;
}

function flowWith({ prefix, target, max }: NonceFlowSpec, setting: BlockSetting, perThread: number) {
  // Items at either end may try nonces of neighbouring pieces; hits there are dropped.
  const launch = ({ start, count }: Piece) => {
    const [first, end] = [Number(start), Number(start) + count];
    const base = Math.floor(first / perThread);
    return { base: BigInt(base), count: Math.ceil(end / perThread) - base };
  };
  return flow<readonly FoundNonce[]>({
    name: 'block',
    kernels: { block: kernelFor(isTopWordZero(target), perThread) },
    compile: compileOptions(setting),
    job: { block: jobValues(prefix, target) },
    rings: { ring: { kernel: 'block', hits: RING_HITS } },
    steps: (piece) => [{ do: 'launch', kernel: 'block', ring: 'ring', ...launch(piece) }],
    resident: launch,
    reap: (piece, { ring }) => {
      const { base, count } = launch(piece);
      const found = hitsIn<typeof hit>({ start: base, count }, ring('ring'));
      return Array.isArray(found) ? noncesIn(piece, found as readonly FoundNonce[], perThread) : (found as Overflow);
    },
    granularity: perThread,
    max,
    stride: (device, programs) => firstPasses(device) * passItems(device, programs),
  });
}

/**
 * The kernel's cost is known, so the first chunk may be larger than that of an unknown kernel: 2 ms of an H200 instead of
 * 60 µs. That saves the first 25 ms of 360, in which the code that feeds the device runs for the first time.
 */
const FIRST_PASSES = { gpu: 32, cpu: 8 } as const;
/** WebGPU does not report a GPU's multiprocessors and counts as one: 2 million nonces are 20 ms of the slowest, 0.3 of an H200. */
const WEBGPU_UNITS = 16;

const firstPasses = ({ info: { kind, processor } }: Device): number =>
  FIRST_PASSES[processor] * (kind === 'webgpu' && processor === 'gpu' ? WEBGPU_UNITS : 1);

export interface NonceFlowSpec {
  /** The first 76 bytes of the header. */
  readonly prefix: Uint8Array;
  readonly target: bigint;
  /** Nonces in the largest chunk. */
  readonly max: number;
}

/** A nonce that its item cannot have tried keeps the item's index, so that `verify` sees the mismatch. */
function noncesIn({ start, count }: Piece, found: readonly FoundNonce[], perThread: number): FoundNonce[] {
  const end = start + BigInt(count);
  return found
    .map(({ index: item, nonce }) => {
      const isOwn = BigInt(Math.floor(nonce / perThread)) === item;
      return { index: isOwn ? BigInt(nonce) : item * BigInt(perThread), nonce };
    })
    .filter(({ index }) => index >= start && index < end);
}

const RING_HITS = 4096;
const hit = { nonce: 'u32' } as const;

/** True if a digest's top word must be zero, below 2^224: the cheapest test, with a kernel variant for it. */
export const isTopWordZero = (target: bigint): boolean => target < 1n << 224n;

export function compileOptions({ lanes, pipes, nativeBodies }: BlockSetting): CompileOptions {
  return {
    ...(lanes !== undefined && { lanes }),
    ...(pipes !== undefined && { pipes }),
    ...(nativeBodies !== undefined && { nativeBodies }),
  };
}

const kernelCache = new Map<string, ReturnType<typeof headerScan>>();

/** Returns the same kernel for the same arguments, so that its program is compiled once. */
export function kernelFor(topWordZero: boolean, perThread = 1): ReturnType<typeof headerScan> {
  const name = `${topWordZero} ${perThread}`;
  const kernel = kernelCache.get(name) ?? headerScan({ topWordZero, perThread });
  kernelCache.set(name, kernel);
  return kernel;
}
