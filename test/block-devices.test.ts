import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import { between, Engine, search } from '../src/engine/index.js';
import { solveOn } from '../src/workload/block/job/solve.js';
import { headerScan, versionScan } from '../src/workload/block/kernel/kernel.js';
import { midstate } from '../src/workload/block/kernel/midstate.js';
import { checkNonce } from '../src/workload/block/kernel/reference.js';
import { headerWords, jobValues, targetWords } from '../src/workload/block/kernel/scan.js';
import { rolledVersion, solveVersions, withVersion } from '../src/workload/block/kernel/version-rolling.js';
import { byTier, isLong, isShort } from './tier.js';

/** Every device finds exactly the nonces that node:crypto confirms, for targets of every size. */
const names = ['interpreter', 'native', 'wasm', 'cuda', 'opencl', 'webgpu'];
const { absent } = await listDevices();

const data = new URL('data/block/', import.meta.url);
const json = <T>(name: string) => JSON.parse(readFileSync(new URL(name, data), 'utf8')) as T;
/** Headers whose nonces are known: the course's blocks, and a share that a pool accepted. */
const known = [
  ...json<{ header: string; nonce: number; hash: string }[]>('course/expected.json'),
  ...[json<{ header: string; nonce_u32: number; hash: string }>('stratum/testnet3-share.json')].map((share) => ({
    ...share,
    nonce: share.nonce_u32,
  })),
].map(({ header, nonce, hash }) => ({
  prefix: Buffer.from(header, 'hex').subarray(0, 76),
  nonce,
  hash: BigInt(`0x${hash}`),
}));

const plain = {
  zero: headerScan({ topWordZero: true }),
  any: headerScan({ topWordZero: false }),
};
const MASK = 0x1fffe000;

/**
 * Sizes of targets in bits. Every device runs the sizes that have hits. Nothing is found for smaller ones: they are divided
 * among the devices, so that each runs some; in the long run each runs all.
 */
function sizesFor(name: string): number[] {
  if (isShort) return [256, 250, 225, 224, 193, 1].filter((bits) => bits <= 224 || !hasOneKernel(name));
  const own = dealt.indexOf(name);
  return Array.from({ length: 256 }, (_, at) => 256 - at).filter(
    (bits) => isLong || own < 0 || bits > 224 || bits % dealt.length === own || bits <= 2,
  );
}
/** PoCL and SwiftShader compile each kernel for seconds: a short run has only the one for targets of pools and chains. */
const hasOneKernel = (name: string): boolean => isShort && (name === 'opencl' || name === 'webgpu');
const OTHER_KERNEL = 'other devices run the kernel for targets of any size: npm run test:all';
/** Each of these gets every fourth size; a real GPU gets all. */
const dealt = ['native', 'wasm', 'opencl', 'webgpu'];

describe.each(names)('on %s', (name) => {
  const missing = absent.find(({ id }) => id === name);
  // The interpreter hashes about 300 headers a second; PoCL and SwiftShader compile two versions for half a minute.
  const isSlow = name === 'interpreter';
  const compilesSlowly = !isLong && (name === 'opencl' || name === 'webgpu');
  let device: Device;
  let engine: Engine;
  beforeAll(async () => {
    if (missing) return;
    device = await openDevice(name);
    engine = new Engine([device]);
  });
  afterAll(async () => {
    await engine?.close();
    await device?.close();
  });

  const hitsOf = async (kernel: typeof plain.any, prefix: Uint8Array, target: bigint, from: number, count: number) => {
    const space = between(BigInt(from), BigInt(from + count));
    const found: number[] = [];
    for await (const { nonce } of search(kernel, { engine, space, job: jobValues(prefix, target) })) found.push(nonce);
    return found;
  };
  const right = (prefix: Uint8Array, target: bigint, from: number, count: number) =>
    Array.from({ length: count }, (_, at) => from + at).filter((nonce) => checkNonce(prefix, target, nonce).valid);

  test('finds the hits of random headers for targets of every size', async ({ skip }) => {
    if (missing) return skip(missing.reason);
    const count = isSlow ? byTier(8, 20) : byTier(200, 700);
    const sizes = isSlow ? byTier([256, 250], [256, 255, 250]) : sizesFor(name);
    for (const bits of sizes) {
      const prefix = randomBytes(76);
      const from = randomBytes(4).readUInt32LE() % (2 ** 32 - count);
      // The top bit is set: the target has exactly `bits` bits.
      const target = (1n << BigInt(bits - 1)) | (BigInt(`0x${randomBytes(32).toString('hex')}`) >> BigInt(257 - bits));
      const label = `bits ${bits} header ${prefix.toString('hex')} target ${target} from ${from}`;
      // For 200 bits or fewer, a hit is as likely as two equal random numbers of 46 bits.
      const wanted = bits > 200 ? right(prefix, target, from, count) : [];
      if (!hasOneKernel(name)) expect(await hitsOf(plain.any, prefix, target, from, count), label).toEqual(wanted);
      if (bits <= 224) expect(await hitsOf(plain.zero, prefix, target, from, count), label).toEqual([]);
    }
  });

  test('finds the hits of the largest targets', async ({ skip }) => {
    if (missing) return skip(missing.reason);
    if (hasOneKernel(name)) return skip(OTHER_KERNEL);
    const count = isSlow ? byTier(5, 20) : byTier(100, 500);
    for (const target of [(1n << 256n) - 1n, 1n << 255n, (1n << 255n) - 1n, 0xffffffffn << 224n, 1n << 224n]) {
      const prefix = randomBytes(76);
      expect(await hitsOf(plain.any, prefix, target, 0, count)).toEqual(right(prefix, target, 0, count));
    }
  });

  test('a hash equal to the target is not a hit, a hash below it is', async ({ skip }) => {
    if (missing) return skip(missing.reason);
    const around = isSlow ? byTier(2, 5) : byTier(50, 300);
    const some = known.slice(0, isSlow ? 1 : byTier(2, known.length));
    for (const { prefix, nonce, hash } of some) {
      for (const kernel of isSlow || hasOneKernel(name) ? [plain.zero] : [plain.zero, plain.any]) {
        for (const target of isSlow ? [hash, hash + 1n] : [hash, hash + 1n, (1n << 224n) - 1n]) {
          const wanted = target > hash ? [nonce] : [];
          expect(await hitsOf(kernel, prefix, target, nonce - around, 2 * around)).toEqual(wanted);
        }
      }
    }
    if (hasOneKernel(name)) return;
    // If the top words are equal, the lower words decide.
    const prefix = randomBytes(76);
    const limit = BigInt(`0x${checkNonce(prefix, 1n, 7).hash}`);
    for (const target of isSlow ? [limit + 1n] : [limit - 1n, limit, limit + 1n]) {
      expect(await hitsOf(plain.any, prefix, target, 0, 12)).toEqual(right(prefix, target, 0, 12));
    }
  });

  test('tries several nonces per item', async ({ skip }) => {
    if (missing) return skip(missing.reason);
    if (compilesSlowly) return skip('slow to compile: MILLRACE_LONG=1');
    if (isShort && !isSlow) return skip('covered by block-files and the tuning tests: npm run test:all');
    const [prefix, target, count] = [randomBytes(76), 1n << 252n, isSlow ? 3 : byTier(200, 1000)];
    for (const perThread of isLong ? [2, 3] : [2]) {
      const kernel = headerScan({ topWordZero: false, perThread });
      const found = await hitsOf(kernel, prefix, target, 0, count);
      // Items are in order, and the hits of an item are in the order of their nonces.
      expect(found).toEqual(right(prefix, target, 0, count * perThread));
    }
  });

  test('tries several versions per item', async ({ skip }) => {
    if (missing) return skip(missing.reason);
    const count = isSlow ? byTier(4, 10) : byTier(200, 500);
    if (compilesSlowly) return skip('slow to compile: MILLRACE_LONG=1');
    if (isShort && name === 'native') return skip('covered by wasm: npm run test:all');
    // Eight versions are more statements than OpenCL and WebGPU compilers are given.
    const all = name === 'opencl' || name === 'webgpu' ? [1, 2, 4] : [1, 2, 4, 8];
    for (const versions of isLong ? all : name === 'wasm' && !isShort ? [2, 4, 8] : [2]) {
      const [prefix, target] = [randomBytes(76), 1n << 250n];
      const words = headerWords(prefix);
      const prefixes = Array.from({ length: versions }, (_, at) =>
        withVersion(prefix, rolledVersion(prefix.readUInt32LE(0), MASK, 5 + at)),
      );
      const states = prefixes.flatMap((one) => midstate(headerWords(one).slice(0, 16)));
      const found: string[] = [];
      for await (const { nonce, version } of search(versionScan({ topWordZero: false, versions }), {
        engine,
        space: count,
        job: { target: targetWords(target) },
        chunk: () => ({ states, tail: words.slice(16) }),
      })) {
        found.push(`${nonce} ${version}`);
      }
      const wanted = Array.from({ length: count }, (_, nonce) =>
        prefixes.flatMap((one, at) => (checkNonce(one, target, nonce).valid ? [`${nonce} ${at}`] : [])),
      ).flat();
      expect(found).toEqual(wanted);
    }
  });

  test('tries each nonce once if none solves the header', async ({ skip }) => {
    if (missing) return skip(missing.reason);
    if (isShort && name === 'native') return skip('covered by wasm: npm run test:all');
    for (const [from, size] of isSlow
      ? [[2 ** 32 - byTier(10, 50), byTier(10, 50)]]
      : [
          [0, 1],
          [12_345, byTier(7777, 77_777)],
          [2 ** 32 - byTier(3000, 30_000), byTier(3000, 30_000)],
        ]) {
      for (const mode of ['first', 'any'] as const) {
        let tried = 0;
        const onProgress = (now: number) => {
          tried = now;
        };
        const range = { from: from!, to: from! + size! };
        expect(await solveOn(engine, { prefix: randomBytes(76), target: 1n, ...range, mode, onProgress })).toBeNull();
        expect(tried).toBe(size);
      }
    }
  });

  test('rolls versions, lowest first, and returns a header with its hash', async ({ skip }) => {
    if (missing) return skip(missing.reason);
    if (isSlow) return skip('too slow for all nonces of several versions');
    if (!isLong && name === 'opencl') return skip('PoCL compiles slowly; covered by webgpu: npm run test:long');
    if (hasOneKernel(name)) return skip(OTHER_KERNEL);
    if (isShort && name === 'native') return skip('covered by wasm: npm run test:all');
    const prefix = randomBytes(76);
    const target = 1n << 244n;
    // Versions 6 and 7 together, or 6 alone: the answer is the lowest nonce that solves either.
    const perItem = compilesSlowly ? 1 : 2;
    const found = await solveVersions(engine, { prefix, target, rolling: { mask: MASK, from: 6, to: 8, perItem } });
    const versions = [6, 7].slice(0, perItem).map((number) => rolledVersion(prefix.readUInt32LE(0), MASK, number));
    const isRight = (version: number, nonce: number) => checkNonce(withVersion(prefix, version), target, nonce).valid;
    let nonce = 0;
    while (!versions.some((version) => isRight(version, nonce))) nonce++;
    const version = versions.find((one) => isRight(one, nonce)) ?? 0;
    const { hash } = checkNonce(withVersion(prefix, version), target, nonce);
    expect(found).toMatchObject({ nonce, version, hash });
  });
});
