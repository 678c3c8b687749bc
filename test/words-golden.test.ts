import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import { Engine } from '../src/engine/engine.js';
import { wordBatches } from '../src/workload/words/generator/batches.js';
import { parseRequest, type WordRequest } from '../src/workload/words/space/request.js';
import { isShort } from './tier.js';
import { type Asked, cases, type Golden, right } from './words/goldens.js';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function made({ space, range, layout }: WordRequest, engine: Engine | undefined): Promise<Buffer> {
  const parts: Buffer[] = [];
  const options = {
    layout,
    engine: async () => engine ?? Promise.reject(new Error('the host should make all words')),
    minDeviceBytes: engine ? 0 : Number.POSITIVE_INFINITY,
  };
  for await (const batch of wordBatches(space, range, options)) {
    parts.push(Buffer.from(batch.bytes));
    batch.release();
  }
  return Buffer.concat(parts);
}

async function check({ bytes, sha256: digest, all, count }: Golden, asked: Asked, engine?: Engine): Promise<void> {
  if ('skipped' in asked) return;
  const request = parseRequest(asked.mask, asked.options);
  expect(request.range.length).toBe(BigInt(count));
  const output = await made(request, engine);
  expect(output.length).toBe(bytes);
  if (!asked.asSet) expect(sha256(output)).toBe(digest);
  else if (all) expect(output.toString('latin1').trimEnd().split('\n').sort()).toEqual([...all].sort());
}

test('most recorded commands can be translated', () => {
  expect(cases.length - right.length).toBeLessThan(8);
  expect(right.length).toBeGreaterThan(50);
});

test.each(right)('$name', ({ golden, asked }) => check(golden, asked));

test.each(cases.filter(({ golden, asked }) => golden.rc !== 0 && !('skipped' in asked)))(
  '$name is rejected',
  ({ asked }) => {
    if ('skipped' in asked) return;
    expect(() => parseRequest(asked.mask, asked.options)).toThrow();
  },
);

const { devices } = await listDevices();

describe.each(devices.map(({ id }) => id))('%s', (id) => {
  let device: Device;
  let engine: Engine;
  beforeAll(async () => {
    device = await openDevice(id);
    engine = new Engine([device]);
  });
  afterAll(async () => {
    await engine?.close();
    await device?.close();
  });

  test('writes every recorded output, to the byte', async () => {
    const maxBytes = id === 'interpreter' ? 20_000 : Number.POSITIVE_INFINITY;
    // A short run does every eighth on all devices but native.
    const some = right.filter((_, at) => !isShort || id === 'native' || at % 8 === 0);
    for (const { golden, asked } of some) if (golden.bytes <= maxBytes) await check(golden, asked, engine);
  });
});
