import type { DeviceInfo } from '../../../device/device.js';
import { type Engine, search } from '../../../engine/index.js';
import { MillraceError } from '../../../kernel/error.js';
import { maxNonces, type NonceSearch, type Solution } from '../job/solve.js';
import { versionScan } from './kernel.js';
import { midstate } from './midstate.js';
import { isTopWordZero } from './nonce-flow.js';
import { checkNonce } from './reference.js';
import { headerWords, NONCES, targetWords } from './scan.js';

/** Versions of one header: they differ in the bits of a mask, 0x1fffe000 by convention (BIP 320). */
export interface VersionRolling {
  readonly mask: number;
  /** The first version's number: version n has n's bits under the mask, the lowest first. Default: all versions. */
  readonly from?: number;
  /** Exclusive. */
  readonly to?: number;
  /**
   * Versions that one item tries; they share a part of the work. 1, 2, 4 or 8, or fewer if the number of versions is
   * not a multiple. Default 4 on CUDA and OpenCL GPUs, 2 on WebAssembly, 1 elsewhere.
   */
  readonly perItem?: number;
}

/** Tries all 2^32 nonces with every version: the lowest versions first, `perItem` of them at a time. */
export async function solveVersions(engine: Engine, request: VersionSearch): Promise<VersionSolution | null> {
  const { prefix, target, rolling, mode = 'first', signal, onProgress } = request;
  signal?.throwIfAborted();
  const { from, to } = rangeOf(rolling);
  if (from >= to) return null;
  const versions = versionsPerItem(engine, rolling, to - from);
  const base = new DataView(prefix.buffer, prefix.byteOffset).getUint32(0, true);
  const versionOf = (number: number) => rolledVersion(base, rolling.mask, number);
  const numberOf = (index: bigint, which: number) => from + Number(index >> 32n) * versions + which;
  const words = headerWords(prefix);
  const states = cacheLast((group: number) =>
    Array.from({ length: versions }, (_, which) => {
      const version = versionOf(from + group * versions + which);
      return midstate([swapped(version), ...words.slice(1, 16)]);
    }).flat(),
  );
  let tried = 0;
  const hits = search(versionKernel(isTopWordZero(target), versions), {
    engine,
    space: BigInt((to - from) / versions) * BigInt(NONCES),
    job: { target: targetWords(target) },
    chunk: ({ start }) => ({ states: states(Number(start >> 32n)), tail: words.slice(16) }),
    mode,
    max: maxNonces(target * BigInt(versions)),
    checked: false,
    verify: ({ index, nonce, version: which }) => {
      if (BigInt(nonce) !== BigInt.asUintN(32, index)) return `but gave it as nonce ${nonce}`;
      if (which >= versions) return `but gave it as version ${which} of ${versions}`;
      const version = versionOf(numberOf(index, which));
      const { valid, hash } = checkNonce(withVersion(prefix, version), target, nonce);
      return valid || `but its hash ${hash} with version ${version} is not below the target`;
    },
    onProgress: ({ done }) => {
      tried = Number(done) * versions;
      onProgress?.(tried);
    },
    ...(signal && { signal }),
  });
  const hit = await hits.first();
  if (hit === undefined) return null;
  const version = versionOf(numberOf(hit.index, hit.version));
  return { nonce: hit.nonce, version, hash: checkNonce(withVersion(prefix, version), target, hit.nonce).hash, tried };
}

export interface VersionSearch extends Omit<NonceSearch, 'from' | 'to'> {
  readonly rolling: VersionRolling;
}

export interface VersionSolution extends Solution {
  readonly version: number;
}

/** The version with a number's bits at the mask's positions, lowest first, and the given version's bits elsewhere. */
export function rolledVersion(version: number, mask: number, number: number): number {
  let [rolled, rest] = [version & ~mask, number];
  for (let bit = 0; bit < 32; bit++) {
    if ((mask >>> bit) % 2 === 0) continue;
    rolled |= (rest % 2) << bit;
    rest = Math.floor(rest / 2);
  }
  return rolled >>> 0;
}

export function withVersion(header: Uint8Array, version: number): Uint8Array {
  const bytes = Uint8Array.from(header);
  new DataView(bytes.buffer).setUint32(0, version, true);
  return bytes;
}

function rangeOf({ mask, from = 0, to }: VersionRolling): { from: number; to: number } {
  const bits = Array.from({ length: 32 }, (_, bit): number => (mask >>> bit) % 2).reduce((sum, bit) => sum + bit, 0);
  const end = to ?? 2 ** bits;
  const isMask = Number.isInteger(mask) && mask >= 0 && mask < NONCES;
  if (isMask && Number.isInteger(from) && Number.isInteger(end) && from >= 0 && end <= 2 ** bits)
    return { from, to: end };
  throw new MillraceError({
    code: 'usage',
    message: isMask
      ? `versions out of range: a mask of ${bits} bits has ${2 ** bits} versions, numbered from 0`
      : `not a version mask: expected a whole number of 32 bits, got ${mask}`,
    asked: `versions ${from} to ${end} under the mask ${mask.toString(16)}`,
    advice: 'the usual mask is 0x1fffe000',
  });
}

const PER_ITEM = [8, 4, 2, 1];

/** How many of `count` versions one item tries: the number given, or the best for all devices. */
export function versionsPerItem(
  engine: Engine,
  { perItem: asked }: Pick<VersionRolling, 'perItem'>,
  count: number,
): number {
  if (asked !== undefined && !PER_ITEM.includes(asked))
    throw new MillraceError({
      code: 'usage',
      message: `perItem out of range: expected 1, 2, 4 or 8, got ${asked}`,
      asked: `perItem ${asked}`,
      advice: 'give 1, 2, 4 or 8',
    });
  const wanted = asked ?? Math.min(...engine.devices.map(({ info }) => defaultVersionsPerItem(info)));
  return PER_ITEM.find((versions) => versions <= wanted && count % versions === 0) ?? 1;
}

/**
 * The shared 46 words are kept until the last version has used them. An H200 has the registers: 8.7 GH/s with one and
 * two versions, 9.7 with four, 9.8 with eight, which take NVIDIA's compiler 10 s. Through Vulkan there is no gain (8.1,
 * 8.1, 7.9). WebAssembly had no registers to begin with (2.9 MH/s a core, 3.6, 3.5); AVX-512 spills them to memory (29.0,
 * 26.8, 24.7). OpenCL and WebGPU on a CPU take half a minute to compile two.
 */
function defaultVersionsPerItem({ processor, kind }: DeviceInfo): number {
  if (kind === 'wasm') return 2;
  return processor === 'gpu' && kind !== 'webgpu' ? 4 : 1;
}

/** Caches the last value: chunks with the same key follow each other, so it is computed once. */
export function cacheLast<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  let last: { readonly key: Key; readonly value: Value } | undefined;
  return (key) => {
    last = last?.key === key ? last : { key, value: make(key) };
    return last.value;
  };
}

const kernelCache = new Map<string, ReturnType<typeof versionScan>>();

/** Returns the same kernel for the same arguments, so that its program is compiled once. */
export function versionKernel(topWordZero: boolean, versions: number): ReturnType<typeof versionScan> {
  const name = `${topWordZero} ${versions}`;
  const kernel = kernelCache.get(name) ?? versionScan({ topWordZero, versions });
  kernelCache.set(name, kernel);
  return kernel;
}

/** Swaps bytes: a header's numbers are little-endian, SHA-256 reads big-endian words. */
function swapped(word: number): number {
  return (((word & 0xff) << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;
}
