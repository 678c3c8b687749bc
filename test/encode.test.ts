import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { loader } from '../src/workload/encode/files/loader.js';
import { fillSynthetic, syntheticBatches } from '../src/workload/encode/files/synthetic.js';
import { type Encoder, type EncoderOptions, openEncoder } from '../src/workload/encode/job/encoder.js';
import { EncodeError } from '../src/workload/encode/job/errors.js';
import { checkedRowsFor } from '../src/workload/encode/job/rows.js';
import { referenceStates } from '../src/workload/encode/kernel/reference.js';
import { isShort } from './tier.js';

/** States that stay on a device: handles, deferred checks, memory. */
const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
const device = await openDevice('wasm');
afterAll(async () => {
  await device.close();
  await rm(folder, { recursive: true, force: true });
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
  test('describe themselves, and can be read, released and handed over', () =>
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

  test('report the calls of a batch: one copy, its launches, one read of norms and one wait', async () => {
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

  test('reuse buffers: a hundred batches, one at a time, allocate one', async () => {
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

  test('the error names a bad sample, and its batch yields nothing', () =>
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

  test('batches in flight stay in order, whatever their length; an error comes in its turn', () =>
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

  test('a list is encoded as a batch', () =>
    withEncoder({ encoding: 'angle', qubits: 2, precision: 'f64' }, async (encoder) => {
      const states = await encoder.encodeList([
        [0, 0],
        [Math.PI / 2, 0],
      ]);
      const [first, , , , , , , , , , second] = await states.read();
      expect([first, second]).toEqual([1, 1]);
    }));

  test('small requests are gathered into batches, and each gets its own states', async () => {
    const { device: counted, calls } = counting(device, 'write');
    await withEncoder(
      { ...amplitude, batch: 4 },
      async (encoder) => {
        const gatherer = encoder.gather({ maxWaitMs: 1000 });
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
        // A timer sends the batch, and a bad request fails all of it.
        const late = encoder.gather({ maxWaitMs: 1 });
        const failed = [late.submit([1, 1, 1, 1]), late.submit([0, 0, 0, 0])].map(refusal);
        for (const error of await Promise.all(failed)) expect(error).toMatchObject({ fault: 'norm', sample: 1 });
        expect((await refusal(late.submit([1, 2]))).fault).toBe('size');
        // A request that does not fit goes into the next batch.
        const large = await Promise.all([late.submit([1, 0, 0, 0]), late.submit(rows.slice(0, 4).flat())]);
        expect(large.map(({ states }) => states.shape[0])).toEqual([1, 4]);
      },
      counted,
    );
  });

  test('requests are copied directly; only small ones are joined first', async () => {
    const { device: counted, calls } = counting(device, 'write');
    const given = { ...amplitude, qubits: 13, batch: 6 };
    await withEncoder(
      given,
      async (encoder) => {
        const sample = (k: number, count = 1): Float64Array => {
          const values = new Float64Array(count * 8192);
          fillSynthetic(encoder.plan.shape, values, BigInt(k));
          return values;
        };
        const before = calls();
        const states = await encoder.encodeParts([sample(0), sample(5, 3), sample(9)]);
        expect([states.shape[0], calls() - before, states.calls.copies]).toEqual([5, 3, 3]);
        const expected = await encoder.encodeBatch(Float64Array.from([...sample(0), ...sample(5, 3), ...sample(9)]));
        expect(await states.read()).toEqual(await expected.read());
        const bad = sample(2, 3);
        bad.fill(0, 8192, 2 * 8192);
        expect(await refusal(encoder.encodeParts([sample(0), bad]))).toMatchObject({ fault: 'norm', sample: 2 });
        expect(await refusal(encoder.encodeParts([sample(0), sample(0).subarray(1)]))).toMatchObject({ fault: 'size' });
        expect(await refusal(encoder.encodeParts([]))).toMatchObject({ fault: 'samples' });
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

describe('a loader', () => {
  const made = loader(device).qubits(3).encoding('Amplitude').dtype('double');

  test('gives synthetic batches of the given number and size', async () => {
    const seen: number[][] = [];
    for await (const states of made.batches(3, 2).seed(7).synthetic()) {
      seen.push([...(await states.read())]);
      states.release();
    }
    const shape = { encoding: 'amplitude', qubits: 3, length: 8 } as const;
    const expected = [...syntheticBatches(shape, { seed: 7n, batch: 2, batches: 3 })];
    expect(seen.length).toBe(3);
    for (const [k, values] of expected.entries()) {
      for (const [i, value] of referenceStates(shape, 2, values).entries()) expect(seen[k]![i]).toBeCloseTo(value, 14);
    }
  });

  test.skipIf(isShort)('makes the first qubit the highest bit of an index if the order is big', async () => {
    const read = async (order: 'little' | 'big'): Promise<number[]> => {
      for await (const states of made.encoding('angle').order(order).batches(1, 1).seed(7).synthetic()) {
        const values = [...(await states.read())];
        states.release();
        return values;
      }
      return [];
    };
    const [little, big] = [await read('little'), await read('big')];
    const reversed = [0, 4, 2, 6, 1, 5, 3, 7].flatMap((at) => little.slice(2 * at, 2 * at + 2));
    expect(little).toHaveLength(16);
    expect(big).toEqual(reversed);
    expect(big).not.toEqual(little);
  });

  test('reads a file to its end, the last batch short', async () => {
    const file = new URL('./data/encode/peers/lists.parquet', import.meta.url).pathname;
    const sizes: number[] = [];
    for await (const states of made.qubits(2).batches(1, 2).file(file)) {
      sizes.push(states.shape[0]);
      states.release();
    }
    expect(sizes).toEqual([2, 2, 1]);
    for await (const states of made.qubits(2).batches(9, 1).prefetch(2).file(file)) {
      states.release();
      break; // which ends the reading
    }
    const failing = async (some: AsyncIterable<{ release(): void }>) => {
      for await (const states of some) states.release();
    };
    // A row of nulls is a row of zeros, which has no norm. States have the requested type, or that of the file.
    const nulls = new URL('./data/encode/peers/nulls.parquet', import.meta.url).pathname;
    expect(await refusal(failing(made.qubits(2).file(nulls)))).toMatchObject({ fault: 'norm', sample: 0 });
    const rejecting = made.qubits(2).nulls('reject').file(nulls);
    expect(await refusal(failing(rejecting))).toMatchObject({ fault: 'format', sample: 0 });
    const types: string[] = [];
    for (const one of [made.dtype('f32'), loader(device).file(file), made]) {
      for await (const states of one.qubits(2).file(file)) {
        types.push(states.dtype);
        states.release();
      }
    }
    expect(types).toEqual(['complex64', 'complex128', 'complex128']);
    expect((await refusal(failing(made.file(file)))).message).toMatch(/4 values.*3 qubits takes 8/);
    expect((await refusal(failing(made.file(file).synthetic()))).message).toMatch(/two sources/);
    await expect(failing(made.qubits(2).file(join(folder, 'none.npy')))).rejects.toThrow(/no such file/);
  });

  test('rejects invalid arguments when they are given', () => {
    expect(() => made.qubits(31)).toThrow(/limit of 30/);
    expect(() => made.encoding('amplitudes')).toThrow(/unknown encoding/);
    expect(() => made.batches(0)).toThrow(/invalid number of batches/);
    expect(() => made.batches(1, 1.5)).toThrow(/invalid number of samples/);
    expect(() => made.dtype('f16')).toThrow(/f16/);
    expect(() => made.seed(-1)).toThrow(/invalid seed/);
    expect(() => made.prefetch(0)).toThrow(/in flight/);
  });
});

test('values that are not finite are refused before a device whose floats are not exact gets them', () => {
  const info = { ...device.info, capabilities: [] };
  const shape = { encoding: 'amplitude', qubits: 2, length: 4 } as const;
  const rows = (values: number[]) => checkedRowsFor(info, shape, 'f32', values, 10);
  expect(rows([1, 2, 3, 4])).toEqual(Float32Array.of(1, 2, 3, 4));
  expect(() => rows([1, 2, 3, 4, 5, Number.NaN, 7, 8])).toThrow('value 1 of sample 11 is NaN');
  // The largest double is infinite as a float.
  expect(() => rows([1, 2, 3, Number.MAX_VALUE])).toThrow('value 3 of sample 10 is Infinity');
});

describe('synthetic data', () => {
  test('matches the published data', () => {
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

/** Counts calls of a method of a device or of its streams. */
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
