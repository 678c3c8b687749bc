import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runKernel } from '../src/device/conformance/rig.js';
import type { Device, Stream } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import type { Range } from '../src/engine/index.js';
import { between, Engine, search, virtualDevices } from '../src/engine/index.js';
import { Intervals } from '../src/engine/work/intervals.js';
import type { Kernel } from '../src/kernel/index.js';
import { rateOf } from '../src/workload/uhash/bench/rate.js';
import type { NonceDigest, ProofOptions } from '../src/workload/uhash/job/flow.js';
import { proofs } from '../src/workload/uhash/job/flow.js';
import { proofSource } from '../src/workload/uhash/job/ledger-job.js';
import { createProver } from '../src/workload/uhash/job/prover.js';
import { uhashTunable } from '../src/workload/uhash/job/tune.js';
import { fill } from '../src/workload/uhash/kernel/fill.js';
import { mix, seeds } from '../src/workload/uhash/kernel/kernel.js';
import * as reference from '../src/workload/uhash/kernel/reference.js';
import { bytesOf } from '../src/workload/uhash/kernel/reference-compress.js';
import { byTier, isLong, isShort } from './tier.js';

/** UniversalHash on every available device: published vectors, random inputs against the reference, edge cases. */

const vectors = JSON.parse(readFileSync(new URL('./data/uhash/vectors.json', import.meta.url), 'utf8')) as Vectors;
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));
const hex = (of: Uint8Array | Uint32Array): string =>
  Buffer.from(of instanceof Uint32Array ? bytesOf(of) : of).toString('hex');
const zeros = new Uint8Array(32);
const { fillPad, hash, phaseOf, seedOf, zeroBits } = reference;
/** A reference hash takes 0.1 s: each is computed once. */
const computed = new Map<string, Uint8Array>();
function hashNonce(header: Uint8Array, nonce: bigint): Uint8Array {
  const key = `${hex(header)} ${nonce}`;
  const digest = computed.get(key) ?? reference.hashNonce(header, nonce);
  computed.set(key, digest);
  return digest;
}

const { devices, absent } = await listDevices();
const names = ['native', 'wasm', 'opencl', 'webgpu', 'cuda'];
/** Compilers and emulated GPUs are slow: they run only some of the tests that are the same everywhere. */
const isFast = (name: string): boolean => name === 'native' || name === 'wasm';
const idOf = (name: string): string | undefined => devices.find(({ kind }) => kind === name)?.id;

async function digestsOn(
  device: Device,
  header: Uint8Array,
  range: Range,
  options: ProofOptions = {},
): Promise<NonceDigest[]> {
  const engine = new Engine([device], { streams: 1, slots: 1 });
  const found: NonceDigest[] = [];
  try {
    const flow = proofs({ header, difficulty: 0 }, { batch: 3, ...options, wanted: 'digests' });
    for await (const one of search(flow, { engine, space: range })) found.push(one);
  } finally {
    await engine.close();
  }
  return found;
}

describe.each(names)('%s', { timeout: 600_000 }, (name) => {
  const id = idOf(name);
  const missing = absent.find((kind) => kind.id === name)?.reason ?? `no ${name} device`;
  let device: Device;
  beforeAll(async () => {
    if (id !== undefined) device = await openDevice(id);
  });
  afterAll(() => device?.close());

  // Each header length needs its own kernel: all of them run where that is cheap. 9,992 bytes are expensive everywhere.
  const few =
    {
      native: byTier<string[]>([], ['challenge32_nonce2', 'nonce_2p32', 'nonce_2p53', 'lithium_v1_form']),
      wasm: byTier(
        ['spec1_nonce0', 'short7_a'],
        vectors.hash_vectors.map((one) => one.name).filter((one) => one !== 'large'),
      ),
    }[name] ?? [];
  const some = vectors.hash_vectors.filter(({ name: vector }) => isLong || few.includes(vector));
  test.for(some)('vector $name', async ({ input_hex: input, nonce, hash: expected }, { skip }) => {
    if (id === undefined) return skip(missing);
    // Inputs below 8 bytes take their nonce from their digest, and have no header.
    const header = input.length < 16 ? new Uint8Array() : bytes(input.slice(0, -16));
    const [found] = await digestsOn(device, header, between(BigInt(nonce), BigInt(nonce) + 1n));
    expect(hex(found!.hash)).toBe(expected);
  });

  test('finds the smallest nonce of published proofs, and reads no more bytes for more nonces', async (ctx) => {
    if (id === undefined) return ctx.skip(missing);
    const counted = countingReads(device);
    const prover = createProver(counted.device, { batch: isFast(name) ? 24 : 3 });
    try {
      const [zero, counting] = vectors.proof_vectors;
      const usual = { native: byTier([3], [3, 4, 8]), wasm: [2, 3] }[name] ?? [3];
      const bits = isLong && isFast(name) ? [1, 2, 3, 4, 7, 8] : usual;
      const more = isFast(name) ? 5n : 1n;
      const maxNonce = isLong || name === 'native' ? 1000n : 24n;
      // Emulated GPUs take seconds for the nonces of one challenge.
      for (const { challenge, records } of isShort && !isFast(name) ? [zero!] : [zero!, counting!]) {
        for (const record of records.filter(
          (one) => bits.includes(one.leading_zero_bits) && BigInt(one.nonce) < maxNonce,
        )) {
          const nonce = BigInt(record.nonce);
          const wanted = { header: bytes(challenge), difficulty: record.leading_zero_bits };
          const { proof, hashes } = await prover.find({ start: 0n, count: nonce + more, challenge: wanted });
          expect(proof).toEqual({ nonce, hash: bytes(record.hash) });
          expect(hashes).toBeGreaterThan(nonce);
        }
      }
    } finally {
      await prover.close();
    }
    expect(counted.reads.length).toBeGreaterThan(0);
    expect(new Set(counted.reads)).toEqual(new Set([counted.reads[0]]));
    expect(counted.reads[0]).toBeLessThan(100);
  });

  test('difficulties: 0 is met by the first nonce, 1 by the first with a zero bit, 255 and 256 by none', async (ctx) => {
    if (id === undefined) return ctx.skip(missing);
    if (!isLong && name !== 'native') return ctx.skip('the same kernel as above: npm run test:long');
    const prover = createProver(device, { batch: 6 });
    try {
      const find = (difficulty: number) =>
        prover.find({ start: 0n, count: 5n, challenge: { header: zeros, difficulty } });
      const expected = [0n, 1n, 2n, 3n, 4n].map((nonce) => ({ nonce, hash: hashNonce(zeros, nonce) }));
      expect((await find(0)).proof).toEqual(expected[0]);
      expect((await find(1)).proof).toEqual(expected.find(({ hash: digest }) => zeroBits(digest) >= 1));
      expect((await find(255)).proof).toBeUndefined();
      expect((await find(256)).proof).toBeUndefined();
      await expect(find(257)).rejects.toThrow('difficulty out of range: expected 0 to 256 leading zero bits, got 257');
      const long = { header: new Uint8Array(65_529), difficulty: 0 };
      await expect(prover.find({ start: 0n, count: 1n, challenge: long })).rejects.toThrow(
        'challenge too long: expected at most 65528 bytes, got 65529',
      );
    } finally {
      await prover.close();
    }
  });

  test('nonces around 2^32, 2^53 and before 2^64', async (ctx) => {
    if (id === undefined) return ctx.skip(missing);
    if (!isLong && name === 'opencl') return ctx.skip('one more kernel to compile: npm run test:long');
    if (isShort && name !== 'wasm') return ctx.skip('one more kernel to compile: npm run test:all');
    const starts = [2n ** 32n - 1n, 2n ** 53n - 1n, 2n ** 64n - 5n];
    for (const start of isLong || isFast(name) ? starts : starts.slice(0, 1)) {
      const found = await digestsOn(device, zeros, between(start, start + 2n));
      expect(found.map(({ index, hash: digest }) => [index, hex(digest)])).toEqual(
        [start, start + 1n].map((nonce) => [nonce, hex(hashNonce(zeros, nonce))]),
      );
    }
  });

  test('scratchpads filled by workgroups together, blocks read early', async (ctx) => {
    if (id === undefined) return ctx.skip(missing);
    if (!isLong) return ctx.skip('tested below on wasm; two more kernels to compile: npm run test:long');
    const tile = { chains: 32, blocks: 4, copies: 8, tables: 1 } as const;
    const found = await digestsOn(device, zeros, between(5n, 8n), { tile, early: true, rolled: true, pads: 2 });
    expect(found.map(({ hash: digest }) => hex(digest))).toEqual(
      [5n, 6n, 7n].map((nonce) => hex(hashNonce(zeros, nonce))),
    );
  });

  test('random headers and nonces', async (ctx) => {
    if (id === undefined) return ctx.skip(missing);
    const random = generator(20261115);
    // Lengths past a BLAKE3 chunk, past a block, and not a multiple of a word.
    const lengths = isLong
      ? [0, 1, 31, 61, 1015, 1017, 1020, 2049, 5000]
      : name === 'wasm'
        ? byTier([1018], [57, 1018])
        : [];
    if (lengths.length === 0) return ctx.skip('a kernel for each length: npm run test:long');
    for (const length of lengths) {
      const header = Uint8Array.from({ length }, () => random() % 256);
      const nonce = (BigInt(random()) << 32n) | BigInt(random());
      const [found] = await digestsOn(device, header, between(nonce, nonce + 1n));
      expect(hex(found!.hash)).toBe(hex(hashNonce(header, nonce)));
    }
  });
});

describe('all variants give the same digests', { timeout: 600_000 }, () => {
  const count = byTier(4, 7);
  const range = between(1n, 1n + BigInt(count));
  const expected = [...Array(count).keys()].map((at) => hex(hashNonce(zeros, 1n + BigInt(at))));
  let device: Device;
  beforeAll(async () => {
    // A C compiler takes minutes for tables with several copies.
    device = await openDevice('wasm');
  });
  afterAll(() => device?.close());

  const variants: readonly ProofOptions[] = [
    { chainsPerItem: 1 },
    { chainsPerItem: 3 },
    { chainsPerItem: 1, lanes: 1 },
    { copies: 8 },
    { rolled: true },
    { rolled: true, chainsPerItem: 1, copies: 8 },
    { copies: 32, chainsPerItem: 1 },
    { tables: 2 },
    { tables: 4, copies: 8, chainsPerItem: 1 },
    { pads: 2, chainsPerItem: 1 },
    { pads: 5, fillLaunches: 2 },
    { early: true, pads: 2 },
    { tile: { chains: 16, blocks: 4, copies: 8, tables: 1 } },
    { tile: { chains: 16, blocks: 2, copies: 1, tables: 2 }, pads: 2, fillLaunches: 4 },
    { launches: 8, fillLaunches: 16 },
    { launches: 64, chainsPerItem: 1 },
  ];
  // A short run does one: rolled, with copies.
  const some = variants.filter((_, at) => !isShort || at === 5);
  test.each(some.map((variant) => [JSON.stringify(variant), variant] as const))('%s', async (_, variant) => {
    const found = await digestsOn(device, zeros, range, { batch: 7, ...variant });
    expect(found.map(({ hash: digest }) => hex(digest))).toEqual(expected);
  });

  test('in batches of one and of all', async () => {
    for (const batch of byTier([1, 24], [1, 4, 24])) {
      const found = await digestsOn(device, zeros, range, { batch });
      expect(found.map(({ hash: digest }) => hex(digest))).toEqual(expected);
    }
  });
});

describe('each stage on the interpreter', { timeout: 300_000 }, () => {
  const of = vectors.hash_vectors.find(({ name }) => name === vectors.intermediates.for)!;
  const header = bytes(of.input_hex.slice(0, -16));
  const nonce = BigInt(of.nonce);
  let device: Device;
  beforeAll(async () => {
    device = await openDevice('interpreter');
  });
  afterAll(() => device?.close());
  const plain = { chainsPerItem: 1, copies: 1, tables: 1, pads: 1 } as const;

  test('seeds', async () => {
    const kernel = seeds({ headerBytes: header.length }) as unknown as Kernel;
    const job = { header: Uint32Array.from({ length: 15 }, (_, at) => Buffer.from(header).readUInt32LE(4 * at)) };
    const setup = { count: 4, job, chunk: { nonce: [0, 0] }, buffers: { state: new Uint32Array(32) } };
    const { buffers } = await runKernel(device, kernel, setup);
    expect(hex(buffers.state as Uint32Array)).toBe(vectors.intermediates.chains.map(({ seed }) => seed).join(''));
  });

  test.each([1, 3] as const)('the first six rounds, %i chains per item', async (chainsPerItem) => {
    const perPad = 12;
    const stride = (8192 * 4 + 4) * 4;
    const state = new Uint32Array(8 * perPad);
    const pad0 = new Uint32Array(stride * perPad);
    for (let slot = 0; slot < 4; slot++) {
      const seed = seedOf(header, nonce, slot);
      state.set(seed, 8 * slot);
      pad0.set(fillPad(seed), slot * stride);
    }
    const kernel = mix({ ...plain, chainsPerItem }) as unknown as Kernel;
    const chunk = { from: 0, rounds: 6, nonces: 1, turn: Number(nonce % 3n), perPhase: 32, perPad };
    const count = chainsPerItem === 3 ? 4 : 96;
    const { buffers } = await runKernel(device, kernel, { count, chunk, buffers: { state, pad0 } });
    for (const { chain, rounds } of vectors.intermediates.chains) {
      const after = rounds.find(({ round }) => round === 5)!.state_after;
      expect(hex((buffers.state as Uint32Array).slice(8 * chain, 8 * chain + 8))).toBe(after);
    }
    expect(phaseOf(nonce, 0)).toBe(vectors.intermediates.chains[0]!.start_primitive);
  });

  test('the scratchpad', async (ctx) => {
    if (!isLong) return ctx.skip('8,192 blocks take a minute there: npm run test:long');
    const seed = seedOf(header, nonce, 0);
    const setup = {
      count: 1,
      chunk: { from: 0, blocks: 8192, perPad: 1 },
      buffers: { state: seed, pad0: new Uint32Array((8192 * 4 + 4) * 4) },
    };
    const { buffers } = await runKernel(device, fill(plain) as unknown as Kernel, setup);
    expect(hex((buffers.pad0 as Uint32Array).slice(0, 8192 * 16))).toBe(hex(fillPad(seed)));
  });
});

describe('a prover', { timeout: 600_000 }, () => {
  let device: Device;
  beforeAll(async () => {
    device = await openDevice(idOf('native') ?? 'wasm');
  });
  afterAll(() => device?.close());
  const threads = (): number => readdirSync('/proc/self/task').length;

  test('runs many tiny batches without new memory or threads', async (ctx) => {
    if (process.platform !== 'linux') return ctx.skip('needs /proc to count threads');
    const counted = countingReads(device);
    const prover = createProver(counted.device, { batch: 3, challenge: { header: zeros, difficulty: 256 } });
    try {
      await prover.find({ start: 0n, count: 1n });
      const before = { threads: threads(), big: counted.allocated.filter((size) => size > 2 ** 20).length };
      const batches = byTier(15, 50, 10_000);
      for (let at = 0; at < batches; at++) {
        const { proof, hashes } = await prover.find({ start: BigInt(at), count: 1n });
        if (proof !== undefined || hashes !== 1n) throw new Error(`batch ${at}: ${hashes} hashes`);
      }
      const after = { threads: threads(), big: counted.allocated.filter((size) => size > 2 ** 20).length };
      expect(after.big).toBe(before.big);
      expect(after.threads).toBeLessThanOrEqual(before.threads); // Node may end one of its own threads
    } finally {
      await prover.close();
    }
  });

  test('finds all proofs in order, and drops those of a challenge that was replaced', async () => {
    const prover = createProver(device, { batch: byTier(3, 6), challenge: { header: zeros, difficulty: 1 } });
    const other = {
      header: bytes('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'),
      difficulty: byTier(1, 2),
    };
    const count = byTier(4n, 10n);
    const proofsOf = (header: Uint8Array, bits: number, nonces = count) =>
      Array.from({ length: Number(nonces) }, (_, nonce) => ({
        nonce: BigInt(nonce),
        hash: hashNonce(header, BigInt(nonce)),
      }))
        .filter(({ hash: digest }) => zeroBits(digest) >= bits)
        .map(({ nonce, hash: digest }) => [nonce, hex(digest)]);
    try {
      const found = { first: [] as unknown[], other: [] as unknown[] };
      for await (const { nonce, hash: digest, challenge } of prover.mine({ start: 0n, count })) {
        found[challenge === other ? 'other' : 'first'].push([nonce, hex(digest)]);
        if (challenge !== other && found.first.length === 3) prover.setChallenge(other);
      }
      expect(prover.challenge).toBe(other);
      expect(found.first).toEqual(proofsOf(zeros, 1, 4n));
      expect(found.other).toEqual(proofsOf(other.header, other.difficulty));
      expect(found.other).not.toEqual([]);
    } finally {
      await prover.close();
    }
  });

  test('finds a proof while it mines without end', async () => {
    const prover = createProver(device, { batch: 12, challenge: { header: zeros, difficulty: 256 } });
    const end = new AbortController();
    try {
      const mining = prover.mine({ signal: end.signal }).next();
      const stopped = expect(mining).rejects.toThrow();
      while (prover.hashes === 0n) await new Promise((resolve) => setTimeout(resolve, 10));
      const before = prover.hashes;
      const { proof } = await prover.find({ start: 20n, count: 6n, challenge: { header: zeros, difficulty: 4 } });
      expect(proof?.nonce).toBe(23n);
      while (prover.hashes < before + 60n) await new Promise((resolve) => setTimeout(resolve, 10));
      end.abort();
      await stopped;
    } finally {
      await prover.close();
    }
  });

  test('pauses and resumes', async () => {
    const prover = createProver(device, { batch: 3, challenge: { header: zeros, difficulty: 4 } });
    try {
      await prover.prepare('first');
      prover.pause();
      let isDone = false;
      const finding = prover.find({ start: 20n, count: 6n }).then((answer) => {
        isDone = true;
        return answer;
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(isDone).toBe(false);
      prover.resume();
      expect((await finding).proof?.nonce).toBe(23n);
    } finally {
      await prover.close();
    }
  });

  test('hashes the last nonce as version 0.2.8 does', async () => {
    const prover = createProver(device, { batch: 3, challenge: { header: zeros, difficulty: 0 } });
    try {
      const last = 2n ** 64n - 1n;
      expect((await prover.find({ start: last, count: 9n })).proof).toEqual({
        nonce: last,
        hash: hashNonce(zeros, last),
      });
    } finally {
      await prover.close();
    }
  });

  test('uses small batches if memory is short', async () => {
    const small = await openDevice(device.info.id, { memory: 40 * 2 ** 20 });
    const prover = createProver(small, { batch: 300, challenge: { header: zeros, difficulty: 4 } });
    try {
      expect((await prover.find({ start: 20n, count: 6n })).proof?.nonce).toBe(23n);
      const [plan] = [...prover.plans.values()];
      expect(plan!.batch).toBeLessThan(10);
    } finally {
      await prover.close();
      await small.close();
    }
  });

  test('reports too little memory for one batch', async () => {
    const none = await openDevice(device.info.id, { memory: 2 ** 20 });
    const prover = createProver(none, { challenge: { header: zeros, difficulty: 4 } });
    try {
      await expect(prover.find({ start: 0n, count: 1n })).rejects.toThrow(/no memory for three hashes/);
    } finally {
      await prover.close();
      await none.close();
    }
  });

  test('finds the same proof on two devices', async (ctx) => {
    if (device.info.kind === 'wasm') return ctx.skip('needs a second device');
    const beside = await openDevice('wasm');
    const prover = createProver([device, beside], { batch: 6, challenge: { header: zeros, difficulty: 7 } });
    try {
      expect((await prover.find({ start: 100n, count: 60n })).proof?.nonce).toBe(126n);
    } finally {
      await prover.close();
      await beside.close();
    }
  });
});

describe.skipIf(isShort)('tuning', { timeout: 600_000 }, () => {
  let device: Device;
  beforeAll(async () => {
    device = await openDevice(idOf('native') ?? 'wasm');
  });
  afterAll(() => device?.close());

  test('candidates find the same proofs', async () => {
    const settings = [{ batch: 3 }, { batch: 6, chainsPerItem: 1 as const }];
    const digests = [];
    for (const setting of settings) {
      const audited = await uhashTunable.audit(device, setting);
      const trial = await uhashTunable.open(device, setting, 'job');
      const { work, digest } = await trial.run(0);
      await trial.close();
      expect(work % 12).toBe(0);
      digests.push({ audited, work, digest });
    }
    expect(digests[1]).toEqual(digests[0]);
  });

  test('a tuning and a measurement report wrong digests', async () => {
    const expected = hex(hashNonce(zeros, 0n));
    const failure = (what: string) => ({ code: 'device-failed', message: expect.stringMatching(what) });
    const [one, two] = virtualDevices(device, [{ garblesAt: 0 }, { garblesAt: 0 }]);
    await expect(uhashTunable.audit(one!, { batch: 3 })).rejects.toMatchObject(
      failure(`^candidate batch 3 reported \\w{64} for nonce 0 instead of ${expected} on virtual:0`),
    );
    await expect(rateOf(two!, { batch: 3, seconds: 0.01 })).rejects.toMatchObject(
      failure(`^virtual:1 reported \\w{64} for nonce 0 instead of ${expected}`),
    );
  });
});

test('a proof in the ledger is read back as it was found', () => {
  const found = { index: 5n, hash: bytes('a7'.padStart(64, '0')) };
  const log = { completed: Intervals.of([]), storedHits: [{ index: 5n, hash: hex(found.hash) }], add: () => undefined };
  expect(proofSource(log, between(0n, 10n)).storedResults).toEqual([found]);
});

test('an input below 8 bytes takes its nonce from its digest', () => {
  const { input_hex: input, hash: expected } = vectors.hash_vectors.find(({ name }) => name === 'short7_a')!;
  expect(hex(hash(bytes(input)))).toBe(expected);
});

/** Wraps the device and records the bytes of each read and each allocation. */
function countingReads(device: Device): { device: Device; reads: number[]; allocated: number[] } {
  const reads: number[] = [];
  const allocated: number[] = [];
  const counting = (stream: Stream): Stream => ({
    write: (...args) => stream.write(...args),
    read: (buffer, into, offset) => {
      reads.push(into.byteLength);
      stream.read(buffer, into, offset);
    },
    copy: (...args) => stream.copy(...args),
    fill: (...args) => stream.fill(...args),
    launch: (launch) => stream.launch(launch),
    wait: (completion) => stream.wait(completion),
    mark: () => stream.mark(),
    cancel: () => stream.cancel(),
    close: () => stream.close(),
  });
  const counted: Device = {
    info: device.info,
    compile: (kernel, options) => device.compile(kernel, options),
    alloc: (size) => {
      allocated.push(size);
      return device.alloc(size);
    },
    stream: () => counting(device.stream()),
    host: (size) => device.host(size),
    close: () => device.close(),
  };
  return { device: counted, reads, allocated };
}

/** xorshift32, so that a failure can be reproduced. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

interface Vectors {
  readonly hash_vectors: readonly {
    readonly name: string;
    readonly input_hex: string;
    readonly nonce: string;
    readonly hash: string;
  }[];
  readonly intermediates: {
    readonly for: string;
    readonly chains: readonly {
      readonly chain: number;
      readonly seed: string;
      readonly start_primitive: number;
      readonly rounds: readonly { readonly round: number; readonly state_after: string }[];
    }[];
  };
  readonly proof_vectors: readonly {
    readonly challenge: string;
    readonly records: readonly { readonly leading_zero_bits: number; readonly nonce: string; readonly hash: string }[];
  }[];
}
