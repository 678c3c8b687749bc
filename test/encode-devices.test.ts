import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasAbility } from '../src/device/conformance/case.js';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import { openEncoder } from '../src/workload/encode/job/encoder.js';
import {
  type Encoding,
  encodings,
  lengthOf,
  type Precision,
  type QubitOrder,
  type StateShape,
} from '../src/workload/encode/kernel/encoding.js';
import { bindingOf, planFor } from '../src/workload/encode/kernel/plan.js';
import { referenceStates } from '../src/workload/encode/kernel/reference.js';
import { byTier, isLong, isShort, patience } from './tier.js';

/** The kernels on every available device: published vectors, random samples against the reference, equal bits. */

const { devices, absent } = await listDevices();
const names = ['native', 'wasm', 'opencl', 'webgpu', 'cuda'];
const arrays = { f64: Float64Array, f32: Float32Array };

interface Asked {
  readonly shape: StateShape;
  readonly precision: Precision;
  readonly order?: QubitOrder;
  readonly shared?: boolean;
  readonly as?: 'cpu' | 'gpu';
  /** Accesses outside a buffer are errors. */
  readonly checked?: boolean;
}

/** Runs one batch through a plan. */
async function statesOn(
  device: Device,
  { shape, checked = false, ...options }: Asked,
  samples: number,
  values: ArrayLike<number>,
) {
  const plan = planFor(device.info, shape, options);
  const stream = device.stream();
  const buffers = Object.fromEntries(
    await Promise.all(
      Object.entries(plan.bytes).map(
        async ([name, bytes]) => [name, await device.alloc(Math.ceil((bytes * samples) / 16) * 16)] as const,
      ),
    ),
  );
  try {
    const array = arrays[plan.precision];
    stream.write(buffers.x!, shape.encoding === 'basis' ? Uint32Array.from(values) : array.from(values));
    for (const { kernel, tilesPerSample } of plan.launches) {
      const program = await device.compile(plan.kernels[kernel]!, { checked });
      const bound = program.bindings.map(({ name }) => [name, buffers[bindingOf(plan, kernel, name)]!] as const);
      stream.launch({
        job: program.bind({}),
        count: tilesPerSample * samples,
        buffers: Object.fromEntries(bound),
      });
    }
    const states = new array(samples * 2 ** shape.qubits * 2);
    stream.read(buffers.states!, states);
    await stream.mark().done;
    return states;
  } finally {
    for (const buffer of Object.values(buffers)) buffer.free();
    stream.close();
  }
}

const worst = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let max = a.length === b.length ? 0 : Number.NaN;
  for (let i = 0; i < a.length; i++) {
    const off = Math.abs(a[i]! - b[i]!);
    if (!(off <= max)) max = off;
  }
  return max;
};

/** Pseudorandom numbers, the same on every machine. */
function numbers(count: number, max: number, seed = 1): Float64Array {
  let state = seed;
  return Float64Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 31 - 1) * max;
  });
}

function sampleOf(encoding: Encoding, qubits: number, samples: number, length = lengthOf(encoding, qubits)) {
  const shape = { encoding, qubits, length };
  const raw = numbers(samples * length, encoding === 'amplitude' ? 3 : 7, qubits);
  return { shape, values: encoding === 'basis' ? raw.map((x) => Math.floor(Math.abs(x / 7) * 2 ** qubits)) : raw };
}

const vectors = (encoding: Encoding): Vector[] => {
  const url = new URL(`./data/encode/${encoding.replace('-', '_')}.json`, import.meta.url);
  const { single, batch } = JSON.parse(readFileSync(url, 'utf8'));
  return [...single, ...batch];
};

interface Vector {
  readonly num_qubits: number;
  readonly num_samples?: number;
  readonly input: number[];
  readonly re: number[];
  readonly im: number[];
}

const more: [Encoding, number, number, number?][] = [
  ['amplitude', 5, 3],
  ['amplitude', 5, 3, 21],
  ['amplitude', 14, 2],
  // More than 64 sums: a separate kernel adds them.
  ['amplitude', 20, 1, 2 ** 20 - 3],
  ['angle', 9, 2],
  ['angle', 14, 2],
  ['basis', 14, 3],
  ['phase', 7, 3],
  ['iqp-z', 14, 1],
  ['iqp', 5, 2],
  ['iqp', 13, 1],
  ...(isLong
    ? ([
        ['iqp', 21, 1],
        ['amplitude', 21, 1],
        ['amplitude', 22, 1],
      ] as [Encoding, number, number][])
    : []),
];

describe.each(names)('%s', { timeout: patience(600_000) }, (name) => {
  const info = devices.find(({ kind }) => kind === name);
  const id = info?.id;
  const missing = absent.find((kind) => kind.id === name)?.reason ?? `there is no ${name}`;
  const precisions = (['f64', 'f32'] as const).filter((precision) => info && hasAbility({ info }, precision));
  let device: Device;
  beforeAll(async () => {
    if (id !== undefined) device = await openDevice(id);
  });
  afterAll(() => device?.close());

  // Each shape is a program, which takes up to a second to compile: wasm gets all of them, the others some.
  const isThorough = isLong || (name === 'wasm' && !isShort);
  const few = (all: Vector[]) => (isThorough ? all : all.filter(({ num_qubits }) => num_qubits === 2).slice(-1));
  /** A short run compiles two shapes of several tiles, with and without sums shared between tiles; wasm has all. */
  const isBrief = isShort && name !== 'wasm';
  test.for(encodings)('matches the vectors of %s', async (encoding, { skip }) => {
    if (id === undefined) return skip(missing);
    const isEmulated = name === 'opencl' || name === 'webgpu';
    if (isBrief && isEmulated && encoding !== 'amplitude' && encoding !== 'iqp')
      return skip('covered by native and wasm: npm run test:all');
    for (const { num_qubits: qubits, num_samples: samples = 1, input, re, im } of few(vectors(encoding))) {
      const shape = { encoding, qubits, length: input.length / samples };
      const expected = re.flatMap((value, i) => [value, im[i]!]);
      for (const precision of precisions) {
        if (precision === 'f32' && !isThorough && name !== 'webgpu' && (isShort || encoding !== 'phase')) continue;
        // Skips vectors with values that a float cannot hold.
        if (precision === 'f32' && input.some((x) => x !== 0 && !(Math.abs(x) > 1e-18 && Math.abs(x) < 1e18))) continue;
        const off = worst(await statesOn(device, { shape, precision }, samples, input), expected);
        expect(off).toBeLessThanOrEqual(precision === 'f32' ? 1e-6 : encoding === 'iqp' ? 2e-15 : 1e-15);
      }
    }
  });

  const shapes: [Encoding, number, number, number?][] = [
    ['amplitude', 15, 2, 20_001],
    ['phase', 14, 2],
    ['iqp', 12, 2],
    ...(isThorough ? more : []),
  ];
  test.for(shapes)('encodes %s of %i qubits, %i samples', async ([encoding, qubits, samples, length], { skip }) => {
    if (id === undefined) return skip(missing);
    // Its compiler takes ten seconds for two passes; the vectors above have one.
    if (name === 'webgpu' && encoding === 'iqp' && !isLong) return skip('only in the long run: npm run test:long');
    if (isBrief && encoding === 'phase') return skip('covered by its vectors and by amplitude: npm run test:all');
    if (isBrief && encoding === 'iqp') return skip('covered by wasm: npm run test:all');
    const { shape, values } = sampleOf(encoding, qubits, samples, length);
    for (const precision of isThorough ? precisions : precisions.slice(0, 1)) {
      const expected = referenceStates(shape, samples, values, { precision });
      const off = worst(await statesOn(device, { shape, precision }, samples, values), expected);
      expect(off).toBeLessThanOrEqual(precision === 'f32' ? 1e-6 : 2e-15);
    }
  });

  test.for(encodings)('encodes %s with the qubits in the other order', async (encoding, { skip }) => {
    if (id === undefined) return skip(missing);
    if (!isThorough && name !== 'wasm') return skip('only in the long run');
    const [precision = 'f32'] = precisions;
    for (const qubits of byTier([12], [3, 12])) {
      const { shape, values } = sampleOf(encoding, qubits, 2);
      const expected = referenceStates(shape, 2, values, { precision, order: 'big' });
      const states = await statesOn(device, { shape, precision, order: 'big' }, 2, values);
      expect(worst(states, expected)).toBeLessThanOrEqual(precision === 'f32' ? 1e-6 : 2e-15);
    }
  });

  // GPUs split a sample between kernels and store 16 bytes at a time; CPUs use one kernel and store floats.
  const both: [Encoding, number, number?][] = isThorough
    ? [
        ['amplitude', 15, 20_001],
        ['amplitude', 14],
        ['angle', 9],
        ['basis', 5],
        ['phase', 10],
        ['iqp-z', 1],
        ['iqp', 12],
      ]
    : [['amplitude', 15, 20_001]];
  test.for(both)(
    'gives the same bits for %s of %i qubits by the kernels for CPUs and for GPUs',
    async ([encoding, qubits, length], { skip }) => {
      if (id === undefined) return skip(missing);
      if (isBrief && name !== 'native') return skip('covered by native and wasm: npm run test:all');
      const { shape, values } = sampleOf(encoding, qubits, 2, length);
      for (const precision of isThorough ? precisions : precisions.slice(0, 1)) {
        const [one, two] = [
          await statesOn(device, { shape, precision, as: 'cpu' }, 2, values),
          await statesOn(device, { shape, precision, as: 'gpu' }, 2, values),
        ];
        expect(worst(one, two)).toBe(0);
      }
    },
  );

  test('probabilities of 16 qubits add up to 1, in f32 too', async (ctx) => {
    if (id === undefined) return ctx.skip(missing);
    if (isBrief && name !== 'native') return ctx.skip('covered by native and wasm: npm run test:all');
    const { shape, values } = sampleOf('amplitude', 16, 1);
    for (const precision of isBrief ? precisions.slice(-1) : precisions) {
      const states = await statesOn(device, { shape, precision }, 1, values);
      const total = Array.from(states).reduce((sum, part) => sum + part * part, 0);
      // WGSL has no doubles to accumulate in.
      expect(Math.abs(total - 1)).toBeLessThanOrEqual(precision === 'f64' ? 1e-13 : name === 'webgpu' ? 1e-6 : 1e-7);
    }
  });

  test('names the sample of a value from the host that is not finite', async (ctx) => {
    if (id === undefined) return ctx.skip(missing);
    if (isBrief && name !== 'native' && name !== 'webgpu') return ctx.skip('covered by native: npm run test:all');
    const qubits = byTier(2, 14);
    const length = 2 ** qubits;
    const encoder = await openEncoder(device, { encoding: 'amplitude', qubits, precision: 'f32', batch: 3 });
    try {
      for (const [value, position] of [
        [Number.NaN, 0],
        [Number.NEGATIVE_INFINITY, length / 2 + 1],
        [Number.MAX_VALUE, length - 1], // infinite as a float
      ] as const) {
        const values = new Float64Array(3 * length).fill(0.1);
        values[length + position] = value;
        const bad = encoder.encodeBatch(values, 3, 7);
        const good = encoder.encodeBatch(values.subarray(0, length));
        // Where the norm shows it, only the sample is known.
        const where = device.info.capabilities.includes('exact-floats') ? {} : { position };
        await expect(bad).rejects.toMatchObject({ fault: 'finite', sample: 8, ...where });
        expect((await (await good).read())[0]).toBeCloseTo(2 ** (-qubits / 2), 6);
      }
    } finally {
      encoder.close();
    }
  });

  test('rejects f64 on a device without 64-bit floats', async (ctx) => {
    if (id === undefined) return ctx.skip(missing);
    if (name !== 'webgpu') return ctx.skip('it has 64-bit floats');
    const { shape } = sampleOf('angle', 3, 1);
    expect(() => planFor(device.info, shape, { precision: 'f64' })).toThrow(/no 64-bit floats: WGSL/);
  });
});

test('no kernel reads or writes outside its buffers', async () => {
  const device = await openDevice('wasm');
  try {
    for (const as of ['cpu', 'gpu'] as const) {
      for (const encoding of encodings) {
        for (const qubits of [1, encoding === 'amplitude' ? 14 : 9].slice(byTier(1, 0))) {
          const { shape, values } = sampleOf(encoding, qubits, 2);
          for (const precision of byTier(['f64'] as const, ['f64', 'f32'] as const)) {
            const expected = referenceStates(shape, 2, values, { precision });
            const states = await statesOn(device, { shape, precision, as, checked: true }, 2, values);
            expect(worst(states, expected)).toBeLessThanOrEqual(precision === 'f32' ? 1e-6 : 2e-15);
          }
        }
      }
    }
  } finally {
    await device.close();
  }
});

test('devices agree to the bit', { timeout: patience(600_000) }, async (ctx) => {
  const exact = devices.filter(
    ({ kind, capabilities }) => kind !== 'interpreter' && capabilities.includes('exact-floats'),
  );
  if (exact.length < 2) return ctx.skip('there is only one device');
  const opened = await Promise.all(exact.map(({ id }) => openDevice(id)));
  try {
    for (const [encoding, qubits] of byTier<readonly (readonly [Encoding, number])[]>(
      [['iqp', 2]],
      [
        ['amplitude', 15],
        ['phase', 14],
        ['iqp', 12],
      ],
    )) {
      const { shape, values } = sampleOf(encoding, qubits, 2);
      const [first, ...others] = await Promise.all(
        opened.map((device) => statesOn(device, { shape, precision: 'f64' }, 2, values)),
      );
      for (const other of others) expect(worst(other, first!)).toBe(0);
    }
  } finally {
    await Promise.all(opened.map((device) => device.close()));
  }
});
