import type { CompileOptions, Device } from '../../../device/device.js';
import { passOf } from '../../../engine/flow/flow.js';
import { type Flow, flow, hitsIn, type Overflow, type Piece } from '../../../engine/index.js';
import type { Setting } from '../../../engine/tune/tune.js';
import { headerScan } from './kernel.js';
import { jobValues } from './scan.js';

/** How a device looks for nonces, where that is not left to it (tune.ts). Every way gives the same nonces. */
export interface BlockSetting extends Setting, Pick<CompileOptions, 'pipes' | 'nativeBodies'> {
  readonly lanes?: number;
  /** Nonces that one item tries, if not as many as suit the device. */
  readonly perThread?: number;
  readonly streams?: number;
  readonly slots?: number;
}

export interface FoundNonce {
  readonly index: bigint;
  readonly nonce: number;
}

/** A chunk of nonces as one launch: an index is a nonce, however many of them an item tries. */
export function nonceFlow(nonces: Nonces, setting: BlockSetting): Flow<readonly FoundNonce[]> {
  return {
    name: 'block',
    open: (device, options) => flowWith(nonces, setting, perThreadOn(device, setting)).open(device, options),
  };
}

/** Nonces that one item tries: one, but for ARM's SHA-2 instructions, whose way to the last words likes many. */
export function perThreadOn({ info: { capabilities } }: Device, { perThread, nativeBodies }: BlockSetting): number {
  if (perThread !== undefined) return perThread;
  return nativeBodies !== false && capabilities.includes('neon') && capabilities.includes('sha') ? 32 : 1;
}

function flowWith({ prefix, target, most }: Nonces, setting: BlockSetting, perThread: number) {
  // Items at either end may try nonces of the pieces beside: what they find there is not told.
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
    most,
    stride: (device, programs) => FIRST_PASSES[device.info.processor] * passOf(device, programs),
  });
}

/**
 * What the kernel costs is known, so that the first chunk may be larger than one of a kernel that nothing is known of: 2 ms
 * of an H200 instead of 60 µs, which saves it the first 25 ms of 360. The code that feeds it runs for the first time then.
 */
const FIRST_PASSES = { gpu: 32, cpu: 8 } as const;

export interface Nonces {
  /** The first 76 bytes of the header. */
  readonly prefix: Uint8Array;
  readonly target: bigint;
  /** Nonces of the largest chunk. */
  readonly most: number;
}

/** A nonce that its item cannot have tried keeps the item's index: whoever checks it sees that they do not fit. */
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

/** Below 2^224 a digest's top word must be zero, which is the cheapest test there is: a variant of its own. */
export const isTopWordZero = (target: bigint): boolean => target < 1n << 224n;

export function compileOptions({ lanes, pipes, nativeBodies }: BlockSetting): CompileOptions {
  return {
    ...(lanes !== undefined && { lanes }),
    ...(pipes !== undefined && { pipes }),
    ...(nativeBodies !== undefined && { nativeBodies }),
  };
}

const kernels = new Map<string, ReturnType<typeof headerScan>>();

/** One kernel for each, so that its program is compiled once. */
export function kernelFor(topWordZero: boolean, perThread = 1): ReturnType<typeof headerScan> {
  const name = `${topWordZero} ${perThread}`;
  const kernel = kernels.get(name) ?? headerScan({ topWordZero, perThread });
  kernels.set(name, kernel);
  return kernel;
}
