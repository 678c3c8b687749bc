import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { openDevice } from '../../device/registry.js';
import { search } from '../../engine/makers/search.js';
import { between } from '../../engine/work/space.js';
import { read } from '../../kernel/language/buffers.js';
import { when } from '../../kernel/language/control.js';
import { items } from '../../kernel/language/items.js';
import type { Kernel } from '../../kernel/language/signature.js';
import { f32, u32, u64 } from '../../kernel/language/types.js';
import {
  attachmentsOf,
  decodeManifest,
  encodeManifest,
  type KernelJob,
  type KernelWork,
  type Manifest,
  manifestId,
  openSignedManifest,
  type PlainRecord,
  packKernelJob,
  signingKey,
  signManifest,
  unpackKernelJob,
} from './index.js';

const refused = (code: string, message: RegExp) =>
  expect.objectContaining({ name: 'MillraceError', code, summary: expect.stringMatching(message) });

/** Hits at multiples of `step`, with the value of a list there. */
const listed = items(
  'listed',
  { job: { step: u32, wide: u64, scale: [f32, 2] }, buffers: { list: read(u32) }, hit: { value: u32 } },
  ({ index, job, buffers, emit }) =>
    when(index.lo.rem(job.step).eq(0), () => emit({ value: buffers.list.at(index.lo).add(job.wide.lo) })),
) as unknown as Kernel;
const list = Uint32Array.from({ length: 100 }, (_, at) => at * at);
const job: KernelJob = {
  kernel: listed,
  job: { step: 7, wide: 5n, scale: [0.5, -0] },
  buffers: { list },
  ring: 64,
};
const space = between(0n, 100n);
const workload = (params: PlainRecord): Manifest => ({
  work: { kind: 'workload', name: 'gaps', version: 1, params },
  space: between(3n, 1n << 128n),
  mode: 'first',
});

describe('a manifest', () => {
  test('has one form, whose digest is its identity', () => {
    const bytes = encodeManifest(workload({ b: 2n ** 70n, a: [1, null, true, 'x'], f: -0 }));
    expect(Buffer.from(bytes).toString()).toBe(
      '{"format":1,"mode":"first","space":["3","340282366920938463463374607431768211456"],"work":{"kind":"workload",' +
        '"name":"gaps","params":{"a":[1,null,true,"x"],"b":{"$big":"1180591620717411303424"},"f":{"$float":"-0"}},"version":1}}',
    );
    expect(manifestId(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(encodeManifest(workload({ f: -0, a: [1, null, true, 'x'], b: 2n ** 70n }))).toEqual(bytes);
  });

  test('is read back as it was, whatever its values', () => {
    const scalar = fc.oneof(fc.bigInt(), fc.double(), fc.string(), fc.boolean(), fc.constant(null));
    const values = fc.dictionary(
      fc.stringMatching(/^[a-z]\w{0,8}$/),
      fc.oneof(scalar, fc.array(scalar, { maxLength: 4 })),
    );
    fc.assert(
      fc.property(values, fc.bigInt(0n, (1n << 128n) - 1n), fc.bigInt(1n, 1n << 64n), (params, start, length) => {
        const end = start + length > 1n << 128n ? 1n << 128n : start + length;
        const manifest: Manifest = { ...workload(params), space: between(start, end), mode: 'all' };
        expect(decodeManifest(encodeManifest(manifest))).toEqual(manifest);
      }),
      { numRuns: byTier(30, 1000) },
    );
  });

  test.each<[string, RegExp, string]>([
    ['text', /not JSON/, 'hello'],
    ['a list', /is not an object/, '[]'],
    ['a later format', /format is 2/, '{"format":2}'],
    [
      'spaces',
      /not in the form/,
      '{"format":1, "mode":"all","space":["0","9"],"work":{"kind":"workload","name":"a","params":{},"version":1}}',
    ],
    [
      'other fields',
      /not in the form/,
      '{"extra":1,"format":1,"mode":"all","space":["0","9"],"work":{"kind":"workload","name":"a","params":{},"version":1}}',
    ],
    [
      'no indices',
      /space/,
      '{"format":1,"mode":"all","space":["9","9"],"work":{"kind":"workload","name":"a","params":{},"version":1}}',
    ],
    [
      'another mode',
      /mode is "constructor"/,
      '{"format":1,"mode":"constructor","space":["0","9"],"work":{"kind":"workload","name":"a","params":{},"version":1}}',
    ],
    [
      'a name of JavaScript',
      /cannot travel/,
      '{"format":1,"mode":"all","space":["0","9"],"work":{"kind":"workload","name":"a","params":{"__proto__":1},"version":1}}',
    ],
    ['a deep value', /nested/, `{"format":1,"mode":${'['.repeat(1000)}`],
  ])('of %s is refused', (_, message, text) => {
    expect(() => decodeManifest(Buffer.from(text))).toThrow(
      expect.objectContaining({ summary: expect.stringMatching(message) }),
    );
  });

  test('with any byte changed is refused, or is another job', () => {
    const bytes = encodeManifest(packKernelJob(job, space, 'all').manifest);
    const id = manifestId(bytes);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Uint8Array.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ change;
        try {
          expect(manifestId(encodeManifest(decodeManifest(changed)))).not.toBe(id);
        } catch (error) {
          if ((error as Error).name !== 'MillraceError') throw error;
        }
      }),
      { numRuns: byTier(50, 3000) },
    );
  });

  test('that is too large, or has a function, is refused where it is made', () => {
    expect(() => encodeManifest(workload({ long: 'x'.repeat(300_000) }))).toThrow(refused('usage', /at most 262144/));
    const callback = { of: [() => 1] } as unknown as PlainRecord;
    expect(() => encodeManifest(workload(callback))).toThrow(refused('usage', /value work\.params\.of\[0\].*function/));
  });
});

describe("a user's kernel", () => {
  const { manifest, attachments } = packKernelJob(job, space, 'all');
  const work = manifest.work as KernelWork;

  test('travels with its values and buffers, and finds the same hits', async () => {
    const arrived = decodeManifest(encodeManifest(manifest));
    expect(arrived).toEqual(manifest);
    expect(attachmentsOf(arrived).map(({ digest }) => digest)).toEqual([...attachments.keys()].reverse());
    const { kernel, ...rest } = unpackKernelJob(arrived.work as KernelWork, attachments);
    expect(kernel.untrusted).toBeDefined(); // devices compile it checked
    const device = await openDevice('interpreter');
    const hits = [];
    for await (const hit of search(kernel, { ...rest, space, devices: [device] })) hits.push(hit);
    await device.close();
    expect(hits).toEqual(Array.from({ length: 15 }, (_, at) => ({ index: BigInt(7 * at), value: 49 * at * at + 5 })));
  });

  test('has one identity, however its values are written', () => {
    const values = { step: 7n, wide: 5, scale: Float64Array.of(0.5, -0) } as unknown as KernelJob['job'];
    const same = packKernelJob({ ...job, job: values, buffers: { list: new Uint8Array(list.buffer) } }, space, 'all');
    expect(encodeManifest(same.manifest)).toEqual(encodeManifest(manifest));
    const other = packKernelJob({ ...job, job: { step: 7, wide: 5n, scale: [0.5, 0] } }, space, 'all');
    expect(encodeManifest(other.manifest)).not.toEqual(encodeManifest(manifest));
  });

  test('is refused if a part is missing or damaged, or a value does not fit', () => {
    expect(() => unpackKernelJob(work, new Map())).toThrow(
      refused('input-format', /kernel of the job has not arrived/),
    );
    const damaged = new Map([...attachments].map(([digest, bytes]) => [digest, Uint8Array.from(bytes, (b) => b ^ 1)]));
    expect(() => unpackKernelJob(work, damaged)).toThrow(refused('input-format', /kernel of the job is damaged/));
    const strange = { ...work, buffers: { other: work.buffers.list! } };
    expect(() => unpackKernelJob(strange, attachments)).toThrow(refused('input-format', /does not declare/));
    const wrong = { ...work, job: { ...work.job, step: 'x' } };
    expect(() => unpackKernelJob(wrong, attachments)).toThrow(refused('launch-arguments', /step/));
    expect(() => unpackKernelJob(work, attachments, { statements: 1 })).toThrow(refused('kernel-budget', /statements/));
    // 16 MiB of hits with two words each are too many; attachments of more than 256 MiB too.
    expect(() => unpackKernelJob({ ...work, ring: 1 << 24 }, attachments)).toThrow(
      refused('kernel-budget', /16777216 hits takes 134217728 bytes/),
    );
    expect(() => packKernelJob({ ...job, ring: 1 << 24 }, space, 'all')).toThrow(refused('kernel-budget', /hits/));
    const large = { ...work, buffers: { list: { ...work.buffers.list!, bytes: 1 << 28 } } };
    const bytes = encodeManifest({ work: large, space, mode: 'all' });
    expect(() => decodeManifest(bytes)).toThrow(refused('input-format', /attachments have more than 268435456 bytes/));
  });

  test('with chunk values is refused: their function cannot travel', () => {
    const kernel = items('chunky', { chunk: { high: u32 }, hit: { x: u32 } }, ({ chunk, emit }) =>
      emit({ x: chunk.high }),
    ) as unknown as Kernel;
    expect(() => packKernelJob({ kernel, job: {}, buffers: {} }, space, 'all')).toThrow(
      refused('usage', /chunk values/),
    );
  });
});

describe('a signature', () => {
  const bytes = encodeManifest(workload({}));

  test('is by an Ed25519 key of RFC 8032', () => {
    // Test 1 of section 7.1.
    const seed = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
    const signer = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
    expect(Buffer.from(signingKey(seed).signer, 'base64url').toString('hex')).toBe(signer);
    const signed = signManifest(bytes, signingKey(seed));
    expect(openSignedManifest(signed)).toEqual({ manifest: bytes, signer: signingKey(seed).signer });
  });

  test('does not hold for other bytes or another key', () => {
    const signed = signManifest(bytes, signingKey());
    const other = signManifest(bytes, signingKey());
    const mixed = Uint8Array.from([...other.slice(0, 32), ...signed.slice(32)]);
    const notAPoint = Uint8Array.from([...new Uint8Array(32).fill(2), ...signed.slice(32)]);
    for (const wrong of [mixed, notAPoint, signed.slice(0, 96), signed.slice(0, 40), new Uint8Array()])
      expect(() => openSignedManifest(wrong)).toThrow(refused('input-format', /signature/));
    fc.assert(
      fc.property(fc.nat(signed.length * 8 - 1), (bit) => {
        const changed = Uint8Array.from(signed);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(() => openSignedManifest(changed)).toThrow(refused('input-format', /signature/));
      }),
      { numRuns: byTier(20, 500) },
    );
  });
});
