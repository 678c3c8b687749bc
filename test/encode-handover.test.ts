import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import koffi from 'koffi';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { open as openCuda } from '../src/device/cuda/device.js';
import type { Device } from '../src/device/device.js';
import { findCompiler } from '../src/device/native/compiler.js';
import { openDevice } from '../src/device/registry.js';
import { type Encoder, type EncoderOptions, openEncoder } from '../src/workload/encode/job/encoder.js';
import { EncodeError } from '../src/workload/encode/job/errors.js';
import { buildFake } from './cuda/fake.js';
import { isShort } from './tier.js';

/** Samples already on the device, and states handed over to another library. */
const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
const compiler = await findCompiler();
const missing = 'reason' in compiler ? compiler.reason : undefined;
const here = (name: string): string => fileURLToPath(new URL(`./encode/${name}`, import.meta.url));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function withEncoder<R>(on: Device, options: EncoderOptions, body: (encoder: Encoder) => Promise<R>): Promise<R> {
  const encoder = await openEncoder(on, options);
  try {
    return await body(encoder);
  } finally {
    encoder.close();
  }
}

async function refusal(promise: Promise<unknown>): Promise<EncodeError> {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(EncodeError);
  return error as EncodeError;
}

describe('samples on the device', () => {
  let device: Device;
  beforeAll(async () => {
    device = await openDevice('wasm');
  });
  afterAll(() => device.close());

  /** Copies values to the device; `after` marks the end of the copy. */
  async function present(values: Float64Array | Float32Array | Uint32Array) {
    const buffer = await device.alloc(Math.ceil(values.byteLength / 16) * 16);
    const stream = device.stream();
    stream.write(buffer, values);
    const after = stream.mark();
    const free = (): void => {
      buffer.free();
      stream.close();
    };
    return { buffer, after, free };
  }

  test('become the states of the same samples from the host, without a copy', async () => {
    const given = { encoding: 'amplitude', qubits: 5, precision: 'f64', batch: 3 } as const;
    await withEncoder(device, given, async (encoder) => {
      const values = Float64Array.from({ length: 96 }, (_, i) => Math.sin(i + 1));
      const { buffer, after, free } = await present(values);
      const states = await encoder.encodeFromDevice({ buffer, samples: 3, after });
      expect(states.calls).toEqual({ copies: 0, launches: 1, reads: 1, waits: 1 });
      expect(await states.read()).toEqual(await (await encoder.encodeBatch(values)).read());
      // All samples count, not only the first: §10.3.
      const fewer = await encoder.encodeFromDevice({ buffer, samples: 2 });
      expect(fewer.shape).toEqual([2, 32]);
      free();
    });
  });

  test.for([
    ['phase', 1, Number.NaN, 'finite'],
    ['iqp', 2, Number.POSITIVE_INFINITY, 'finite'],
    ['angle', 0, Number.NEGATIVE_INFINITY, 'finite'],
    ['iqp-z', 1, 2 ** 41, 'range'],
    ['amplitude', 2, Number.NaN, 'finite'],
  ] as const)(
    '%s: the error names the sample and the position of a bad value: %i, %s',
    async ([encoding, sample, value, fault]) => {
      await withEncoder(device, { encoding, qubits: 3, precision: 'f64', batch: 4 }, async (encoder) => {
        const { length } = encoder.plan.shape;
        const values = Float64Array.from({ length: 3 * length }, (_, i) => 0.1 + i);
        values[sample * length + 1] = value;
        const { buffer, after, free } = await present(values);
        const error = await refusal(encoder.encodeFromDevice({ buffer, samples: 3, after, first: 10 }));
        expect(error).toMatchObject({ fault, sample: 10 + sample });
        if (encoding !== 'amplitude') expect(error.position).toBe(1);
        // The encoder still works.
        expect((await encoder.encodeBatch(values.fill(1))).shape).toEqual([3, 8]);
        free();
      });
    },
  );

  test('for basis are whole numbers, and each is checked', async () => {
    await withEncoder(device, { encoding: 'basis', qubits: 3, precision: 'f32' }, async (encoder) => {
      const { buffer, after, free } = await present(Uint32Array.of(7, 0, 5, 8));
      const states = await encoder.encodeFromDevice({ buffer, samples: 3, after });
      const read = await states.read();
      expect([read[14], read[16], read[42], Array.from(read).filter((x) => x !== 0).length]).toEqual([1, 1, 1, 3]);
      expect(await refusal(encoder.encodeFromDevice({ buffer, samples: 4 }))).toMatchObject({
        fault: 'range',
        sample: 3,
      });
      expect(await refusal(encoder.encodeFromDevice({ buffer, samples: 5 }))).toMatchObject({ fault: 'size' });
      expect(await refusal(encoder.encodeFromDevice({ buffer, samples: 0 }))).toMatchObject({ fault: 'samples' });
      expect((await refusal(encoder.encodeFromDevice({ buffer, samples: 1, after: 1 }))).fault).toBe('handover');
      free();
    });
  });

  test('states without a pointer are not handed to other libraries', () =>
    withEncoder(device, { encoding: 'angle', qubits: 2 }, async (encoder) => {
      const states = await encoder.encode([1, 2]);
      expect(states.pointer).toBeUndefined();
      expect((await refusal(states.handOverTensor())).fault).toBe('handover');
      states.release();
    }));
});

describe.skipIf(missing !== undefined)(`states for other libraries${missing ? `: ${missing}` : ''}`, () => {
  const options = { encoding: 'amplitude', qubits: 10, precision: 'f64', batch: 2 } as const;
  const values = Float64Array.from({ length: 2048 }, (_, i) => Math.cos(i));

  test('C code takes them as a DLPack tensor and releases them once', async () => {
    if ('reason' in compiler) return;
    const library = join(folder, 'taker.so');
    const flags = ['-O1', '-shared', '-fPIC', '-o', library, here('tensor-taker.c')];
    execFileSync(compiler.path, [...compiler.arguments, ...flags], { stdio: 'pipe' });
    const taker = koffi.load(library);
    const probability = taker.func('double taker_probability(uint64_t tensor, int64_t row)');
    const release = taker.func('void taker_release(uint64_t tensor)');
    const device = await openDevice('native');
    try {
      await withEncoder(device, options, async (encoder) => {
        const states = await encoder.encodeBatch(values);
        const tensor = await states.handOverTensor();
        expect(tensor.fields).toMatchObject({ shape: [2, 1024], strides: [1024, 1], code: 5, bits: 128, lanes: 1 });
        for (const row of [0, 1]) expect(probability(tensor.address, row)).toBeCloseTo(1, 12);
        expect(probability(tensor.address, 2)).toBe(-1);
        await expect(states.handOverTensor()).rejects.toThrow(/handed over already/);
        await expect(states.read()).rejects.toThrow(/handed over already/);
        expect(tensor.isReleased).toBe(false);
        release(tensor.address);
        expect(tensor.isReleased).toBe(true);
        tensor.release();
        // A tensor that is not taken is released here.
        const other = await (await encoder.encodeBatch(values)).handOverTensor();
        other.release();
        expect(other.isReleased).toBe(true);
      });
    } finally {
      await device.close();
    }
  });

  test.skipIf(isShort)('NumPy takes them without a copy', (ctx) => {
    const asked = [
      'import numpy, os, sysconfig',
      'v = lambda name: sysconfig.get_config_var(name) or ""',
      'places = [v("LIBDIR"), os.path.join(v("LIBDIR"), v("MULTIARCH"))]',
      'found = [os.path.join(p, v("INSTSONAME")) for p in places]',
      'print(next((f for f in found if ".so" in f and os.path.isfile(f)), ""))',
    ].join('\n');
    const { stdout, status } = spawnSync('python3', ['-c', asked], { encoding: 'utf8' });
    const library = (stdout ?? '').trim();
    if (status !== 0 || library === '') return ctx.skip('no shared library of a Python with NumPy');
    const run = spawnSync(process.execPath, [here('numpy.mjs'), library], { encoding: 'utf8' });
    if (run.status === 3) return ctx.skip('this Python finds no NumPy when embedded');
    expect([run.status, run.stderr]).toEqual([0, '']);
    const [array, tensor] = run.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(array).toMatchObject({ shape: [2, 8], dtype: 'complex128', strides: [128, 16], at: tensor.pointer });
    const half = Math.SQRT1_2 / 2;
    const expected = [0.6, 0, 0.8, 0, 0, 0, 0, 0, half, half, half, half, -half, -half, -half, -half];
    for (const [i, value] of expected.entries()) expect(array.re[i]).toBeCloseTo(value, 15);
    expect(array.im.every((im: number) => im === 0)).toBe(true);
    expect(tensor).toMatchObject({ before: false, after: true });
  });
});

describe('on the fake CUDA', () => {
  test('memory of another library is encoded in place, after the work on its stream', async (ctx) => {
    const fake = await buildFake();
    if ('reason' in fake) return ctx.skip(fake.reason);
    const lines: string[] = [];
    const device = await openCuda('cuda:0', { log: (line) => lines.push(line) });
    try {
      const options = { encoding: 'amplitude', qubits: 4, precision: 'f64', batch: 2 } as const;
      await withEncoder(device, options, async (encoder) => {
        const values = Float64Array.from({ length: 32 }, (_, i) => i + 1);
        const owner = await device.alloc(256); // stands in for another library's buffer
        const stream = device.stream();
        stream.write(owner, values);
        await stream.mark().done;
        expect(owner.pointer).toBeGreaterThan(0);
        const buffer = await device.adopt!(owner.pointer!, 256);
        const [, handle = ''] = /stream \d+ is (0x[0-9a-f]+)/.exec(lines.findLast((line) => line.includes(' is 0x'))!)!;
        fake.clearCalls();
        const states = await encoder.encodeFromDevice({ buffer, samples: 2, after: Number(handle) });
        const ordered = fake
          .calls()
          .filter(({ name }) => /^(cuEventRecord|cuStreamWaitEvent|cuLaunchKernel)$/.test(name));
        const [recorded, waited] = ordered.slice(ordered.findIndex(({ text }) => text.includes(`on ${handle}`)));
        expect(waited!.name).toBe('cuStreamWaitEvent');
        expect(waited!.text).toContain(/0x[0-9a-f]+/.exec(recorded!.text)![0]);
        expect(states.calls).toMatchObject({ copies: 0, waits: 1 });
        expect(await states.read()).toEqual(await (await encoder.encodeBatch(values)).read());
        buffer.free();
        const tensor = await states.handOverTensor();
        expect(tensor.fields).toMatchObject({ device: { type: 2, ordinal: 0 }, pointer: states.pointer });
        tensor.release();
        // Adopted memory is not freed: its owner still has it.
        const back = new Float64Array(32);
        stream.read(owner, back);
        await stream.mark().done;
        expect(back).toEqual(values);
        await expect(device.adopt!(3, 256)).rejects.toThrow(/multiples of 16/);
        stream.close();
      });
      // Plain arrays large enough for helpers are copied through page-locked memory in pieces.
      const large = { ...options, qubits: 16, batch: 3 };
      await withEncoder(device, large, async (encoder) => {
        const values = Float64Array.from({ length: 3 * 65_536 }, (_, i) => Math.sin(i));
        const states = await (await encoder.encodeBatch(values)).read();
        for (const sample of [0, 1, 2]) {
          const own = values.subarray(sample * 65_536, (sample + 1) * 65_536);
          const norm = Math.sqrt(own.reduce((sum, x) => sum + x * x, 0));
          const from = sample * 131_072;
          const off = own.reduce((max, x, i) => Math.max(max, Math.abs(x / norm - states[from + 2 * i]!)), 0);
          expect(off).toBeLessThan(1e-15);
        }
      });
      expect(fake.calls().filter(({ name }) => name === 'MISUSE')).toEqual([]);
    } finally {
      await device.close();
      await fake.remove();
    }
  });
});
