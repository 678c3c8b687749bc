import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { type Encoder, type EncoderOptions, openEncoder } from '../src/workload/encode/encoder.js';
import { EncodeError } from '../src/workload/encode/errors.js';
import { referenceStates } from '../src/workload/encode/reference.js';
import { fillSynthetic, syntheticBatches } from '../src/workload/encode/synthetic.js';

/** States that stay on a device: handles, checks that come late, memory. */
process.env.MILLRACE_CACHE_DIR = await mkdtemp(join(tmpdir(), 'millrace-test-'));
const device = await openDevice('wasm');
afterAll(async () => {
  await device.close();
  await rm(process.env.MILLRACE_CACHE_DIR!, { recursive: true, force: true });
});

const data = (name: string) => JSON.parse(readFileSync(new URL(`./data/encode/${name}.json`, import.meta.url), 'utf8'));

async function withEncoder<R>(
  options: EncoderOptions,
  body: (encoder: Encoder) => Promise<R>,
  on = device,
): Promise<R> {
  const encoder = await openEncoder(on, options);
  try {
    return await body(encoder);
  } finally {
    encoder.close();
  }
}

const amplitude = { encoding: 'amplitude', qubits: 2, precision: 'f64' } as const;

async function refusal(promise: Promise<unknown>): Promise<EncodeError> {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(EncodeError);
  return error as EncodeError;
}

describe('states on a device', () => {
  test('say what they are, and can be read, released and handed over', () =>
    withEncoder(amplitude, async (encoder) => {
      const states = await encoder.encodeBatch([3, 0, 4, 0, 0, 0, 0, -2]);
      expect(states).toMatchObject({ shape: [2, 4], strides: [4, 1], dtype: 'complex128', path: expect.any(String) });
      expect(states.type).toEqual({ code: 5, bits: 128, lanes: 1 });
      expect(states.device.id).toBe('wasm');
      expect(states.calls).toEqual({ copies: 1, launches: 1, reads: 1, waits: 1 });
      const expected = [0.6, 0, 0, 0, 0.8, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0];
      (await states.read()).forEach((part, i) => {
        expect(part).toBeCloseTo(expected[i]!, 15);
      });
      const buffer = states.handOver();
      expect(buffer.bytes).toBeGreaterThanOrEqual(128);
      expect(() => states.handOver()).toThrow(/handed over already/);
      expect((await refusal(states.read())).fault).toBe('consumed');
      buffer.free();
      const other = await encoder.encode([1, 1, 1, 1]);
      other.release();
      other.release();
      expect((await refusal(other.read())).message).toMatch(/released already/);
    }));

  test('a batch is one copy, its launches, one read of norms and one wait: the calls it tells of', async () => {
    const found: Record<string, number> = {};
    for (const method of ['write', 'launch', 'read', 'mark']) {
      const counted = counting(device, method);
      const options = { ...amplitude, qubits: 14, batch: 2, shared: true };
      await withEncoder(
        options,
        async (encoder) => {
          const before = counted.calls();
          const states = await encoder.encodeBatch(new Float64Array(2 ** 15).fill(1));
          found[method] = counted.calls() - before;
          expect(states.calls).toEqual({ copies: 1, launches: 2, reads: 1, waits: 1 });
          expect(states.path).toBe('amplitude, norms and scale');
        },
        counted.device,
      );
    }
    // A mark after the copy, which the other stream waits for on the device, and the one that is awaited.
    expect(found).toEqual({ write: 1, launch: 2, read: 1, mark: 2 });
  });

  test('buffers come back: a hundred batches take as many as are held at a time', async () => {
    const counted = counting(device, 'alloc');
    await withEncoder(
      amplitude,
      async (encoder) => {
        const before = counted.calls();
        for (let k = 0; k < 100; k++) (await encoder.encode([k + 1, 2, 3, 4])).release();
        expect(counted.calls() - before).toBe(1);
      },
      counted.device,
    );
  });

  test('a bad sample is named when its norm is seen, and its batch yields nothing', () =>
    withEncoder(amplitude, async (encoder) => {
      const bad = async (values: number[]) => refusal(encoder.encodeBatch(values));
      expect(await bad([1, 2, 3, 4, 0, 0, 0, 0])).toMatchObject({ fault: 'norm', sample: 1 });
      expect(await bad([1, 2, 3, 4, 1, Number.NaN, 0, 0])).toMatchObject({ fault: 'finite', sample: 1 });
      expect(await bad([1e200, 0, 0, 0])).toMatchObject({ fault: 'finite', sample: 0 });
      expect(await bad([1e-170, 0, 0, 0])).toMatchObject({ fault: 'norm', sample: 0 });
      expect(await bad([1, 2, 3])).toMatchObject({ fault: 'size' });
      expect(await bad([])).toMatchObject({ fault: 'samples' });
      const tiny = await encoder.encode([1e-150, 1e-150, 0, 0]);
      expect((await tiny.read())[0]).toBeCloseTo(Math.SQRT1_2, 15);
    }));

  test('batches in flight stay in order, whatever their length; an error comes when it is its turn', () =>
    withEncoder({ ...amplitude, qubits: 3, batch: 5, slots: 2 }, async (encoder) => {
      const lengths = [5, 1, 4, 2, 5, 3];
      const batches = lengths.map((samples, at) => {
        const values = new Float64Array(samples * 8);
        fillSynthetic(encoder.plan.shape, values, BigInt(at));
        return values;
      });
      let at = 0;
      for await (const states of encoder.stream(batches, { inFlight: 4 })) {
        const expected = referenceStates(encoder.plan.shape, lengths[at]!, batches[at]!);
        expect(Math.max(...(await states.read()).map((x, i) => Math.abs(x - expected[i]!)))).toBeLessThan(1e-15);
        states.release();
        at += 1;
      }
      expect(at).toBe(lengths.length);
      const seen: number[] = [];
      const failing = (async () => {
        for await (const states of encoder.stream([...batches, new Float64Array(8), batches[0]!])) {
          seen.push(states.shape[0]);
          states.release();
        }
      })();
      expect(await refusal(failing)).toMatchObject({ fault: 'norm', sample: 20 });
      expect(seen).toEqual(lengths);
      for await (const states of encoder.stream([])) throw new Error(`no input gave ${states.shape}`);
    }));

  test('a list is a batch', () =>
    withEncoder({ encoding: 'angle', qubits: 2, precision: 'f64' }, async (encoder) => {
      const states = await encoder.encodeList([
        [0, 0],
        [Math.PI / 2, 0],
      ]);
      const [first, , , , , , , , , , second] = await states.read();
      expect([first, second]).toEqual([1, 1]);
    }));

  test('small requests are gathered: as many batches as they fill, each with its own states', async () => {
    const { device: counted, calls } = counting(device, 'write');
    await withEncoder(
      { ...amplitude, batch: 4 },
      async (encoder) => {
        const gatherer = encoder.gather({ wait: 1000 });
        const rows = Array.from({ length: 10 }, (_, k) => [1, k, 0, 0]);
        const waiting = rows.map((row) => gatherer.submit(row));
        await gatherer.flush();
        expect(calls()).toBe(3);
        const parts = await Promise.all(waiting);
        for (const [k, part] of parts.entries()) {
          expect((await part.read())[0]).toBeCloseTo(1 / Math.hypot(1, k), 14);
          expect(part).toMatchObject({ first: k % 4, count: 1 });
        }
        const [first, second] = parts;
        first!.release();
        first!.release();
        expect((await second!.read())[2]).toBeCloseTo(Math.SQRT1_2, 14);
        for (const part of parts) part.release();
        expect((await refusal(second!.read())).fault).toBe('consumed');
        // By the clock, and one for all where one is bad.
        const late = encoder.gather({ wait: 1 });
        const failed = [late.submit([1, 1, 1, 1]), late.submit([0, 0, 0, 0])].map(refusal);
        for (const error of await Promise.all(failed)) expect(error).toMatchObject({ fault: 'norm', sample: 1 });
        expect((await refusal(late.submit([1, 2]))).fault).toBe('size');
        // What would not fit goes into the next batch.
        const large = await Promise.all([late.submit([1, 0, 0, 0]), late.submit(rows.slice(0, 4).flat())]);
        expect(large.map(({ states }) => states.shape[0])).toEqual([1, 4]);
      },
      counted,
    );
  });

  test('memory is checked before anything is allocated', async () => {
    const counted = counting(device, 'alloc');
    const error = await refusal(openEncoder(counted.device, { encoding: 'angle', qubits: 30, precision: 'f64' }));
    expect(error).toMatchObject({ fault: 'memory', code: 'device-memory' });
    expect(error.message).toMatch(
      /MiB are needed on wasm; \d+ MiB of \d+ MiB are free.*64 states of 30 qubits.*fewer qubits/s,
    );
    expect(counted.calls()).toBe(0);
  });
});

describe('synthetic data', () => {
  test('is the published one', () => {
    for (const one of data('synthetic_generator').cases) {
      const shape = { encoding: one.encoding, qubits: one.num_qubits, length: one.vector_len };
      const options = { seed: BigInt(one.seed), batch: one.batch_size, batches: one.batch_index + 1 };
      const [last] = [...syntheticBatches(shape, options)].slice(-1);
      expect([...last!]).toEqual(one.batch);
    }
  });

  test('of 16 qubits has the published norm and amplitudes', () =>
    withEncoder({ ...amplitude, qubits: 16, batch: 1 }, async (encoder) => {
      for (const one of data('amplitude_16q_checks').cases) {
        const values = new Float64Array(65_536);
        fillSynthetic(encoder.plan.shape, values, BigInt(one.seed));
        expect(values.reduce((sum, x) => sum + x * x, 0)).toBeCloseTo(one.sum_sq, 8);
        const states = await encoder.encode(values);
        const amplitudes = await states.read();
        for (const index of [0, 1, 12345, 65535]) {
          expect(Math.abs(amplitudes[2 * index]! - one[`state_${index}`])).toBeLessThanOrEqual(1e-15);
        }
        states.release();
      }
    }));
});

/** Counts calls of a device's method, or of its streams'. */
function counting(on: Device, method: string) {
  let made = 0;
  const watched = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (_, name) => {
        const value = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (name === method) made += 1;
          const result = value.apply(target, args);
          return name === 'stream' ? watched(result) : result;
        };
      },
    });
  return { device: watched(on), calls: () => made };
}
