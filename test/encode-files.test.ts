import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Field,
  FixedSizeList,
  Float64,
  Int32,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableFromIPC,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, describe, expect, test } from 'vitest';

import { openDevice } from '../src/device/registry.js';
import { Engine } from '../src/engine/index.js';
import { percentile, reportName, reportText } from '../src/workload/encode/bench/statistics.js';
import { openSink } from '../src/workload/encode/files/sink.js';
import { syntheticBatches } from '../src/workload/encode/files/synthetic.js';
import { encodeRows } from '../src/workload/encode/job/encode.js';
import { EncodeError } from '../src/workload/encode/job/errors.js';
import type { StateShape } from '../src/workload/encode/kernel/encoding.js';
import { referenceStates } from '../src/workload/encode/kernel/reference.js';
import { openSource, type SourceOptions } from '../src/workload/encode/source/source.js';
import { millrace } from './command-line.js';
import { byTier, isShort } from './tier.js';

/** Reads samples from files and writes states to files, through the engine. */
const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const given = (name: string): string => new URL(`./data/encode/files/${name}`, import.meta.url).pathname;
const { matrix, read, reject } = JSON.parse(
  readFileSync(new URL('./data/encode/files.json', import.meta.url), 'utf8'),
) as { matrix: number[][]; read: Record<string, [number, number]>; reject: Record<string, string> };

async function valuesIn(path: string, options?: SourceOptions): Promise<{ length: number; values: number[] }> {
  const source = await openSource(path, options);
  try {
    const values: number[] = [];
    for await (const part of source.batches()) values.push(...part);
    return { length: source.length, values };
  } finally {
    await source.close();
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

async function fileOf(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

describe('sources', () => {
  test.each(Object.entries(read))('%s has the expected values', async (name, [samples, length]) => {
    const found = await valuesIn(given(name), { batch: 2 });
    expect(found.length).toBe(length);
    expect(found.values).toEqual(matrix.slice(0, samples).flat());
  });

  test.each(Object.entries(reject))('%s is rejected: %s', async (name) => {
    const { fault, message } = await refusal(valuesIn(given(name)));
    expect(['dtype', 'rank', 'format']).toContain(fault);
    expect(message).toContain(name);
  });

  test('raw binary files have samples of the given length', async () => {
    const path = await fileOf('raw.f64', new Uint8Array(Float64Array.from(matrix.flat()).buffer));
    const read = { length: 4, values: matrix.flat() };
    expect(await valuesIn(path, { length: 4 })).toEqual(read);
    const doubles = await fileOf('raw.bin', new Uint8Array(Float64Array.from(matrix.flat()).buffer));
    const floats = await fileOf('raw.f32', new Uint8Array(Float32Array.from(matrix.flat()).buffer));
    expect(await valuesIn(doubles, { length: 4 })).toEqual(read);
    expect((await valuesIn(floats, { length: 4 })).values).toEqual(read.values.map(Math.fround));
    expect((await refusal(valuesIn(path, { length: 5 }))).message).toMatch(/not a whole number of samples/);
    expect(await refusal(valuesIn(path))).toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/do not contain the length/),
    });
  });

  test('a file is read once; other formats and missing files are errors', async () => {
    const source = await openSource(given('content_3x4.pb'));
    source.batches();
    expect(() => source.batches()).toThrow(/read already/);
    expect((await refusal(openSource('x.pt'))).message).toMatch(/numpy.save/);
    expect((await refusal(openSource('x.csv'))).message).toMatch(/\.npy.*\.parquet/);
    await expect(openSource(join(folder, 'none.npy'))).rejects.toMatchObject({ code: 'io' });
  });

  test('truncated files are rejected', async () => {
    for (const name of ['c_order_3x4_f64.npy', 'content_3x4.pb']) {
      const whole = await readFile(given(name));
      for (const left of [5, 60, whole.length - 4]) {
        const error = await refusal(valuesIn(await fileOf(name, whole.subarray(0, left))));
        expect(['format', 'dtype']).toContain(error.fault);
      }
    }
  });
});

const lists = [
  { name: 'root', num_children: 1 },
  { name: 'x', repetition_type: 'OPTIONAL', converted_type: 'LIST', num_children: 1 },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
] as const;

function parquetOf(data: unknown[], type: 'DOUBLE' | 'FLOAT' = 'DOUBLE'): Uint8Array {
  const schema = lists.map((one) => (one.name === 'element' ? { ...one, type } : { ...one }));
  return new Uint8Array(parquetWriteBuffer({ columnData: [{ name: 'x', data }], schema, rowGroupSize: 2 }));
}

describe('Parquet', () => {
  test.each(['DOUBLE', 'FLOAT'] as const)('lists of %s are read in batches', async (type) => {
    const path = await fileOf(`${type}.parquet`, parquetOf(matrix, type));
    const values = type === 'DOUBLE' ? matrix.flat() : matrix.flat().map(Math.fround);
    for (const batch of [1, 2, 100]) expect(await valuesIn(path, { batch })).toEqual({ length: 4, values });
  });

  test('a row may be one number', async () => {
    const columnData = [{ name: 'index', data: [3, 1, 2], type: 'DOUBLE' as const }];
    const path = await fileOf('index.parquet', new Uint8Array(parquetWriteBuffer({ columnData })));
    expect(await valuesIn(path)).toEqual({ length: 1, values: [3, 1, 2] });
  });

  test('nulls become zeros, or an error', async () => {
    const path = await fileOf('nulls.parquet', parquetOf([[1, null], null, [2, 3]]));
    expect((await valuesIn(path)).values).toEqual([1, 0, 0, 0, 2, 3]);
    expect(await refusal(valuesIn(path, { nulls: 'reject' }))).toMatchObject({ sample: 0, position: 1 });
  });

  test('other shapes, other types and truncated files are rejected', async () => {
    const uneven = await fileOf('uneven.parquet', parquetOf([[1, 2], [3, 4], [5]]));
    expect(await refusal(valuesIn(uneven))).toMatchObject({ fault: 'size', sample: 2 });
    const both = [
      { name: 'a', data: [1], type: 'DOUBLE' as const },
      { name: 'b', data: [1], type: 'DOUBLE' as const },
    ];
    const two = await fileOf('two.parquet', new Uint8Array(parquetWriteBuffer({ columnData: both })));
    expect((await refusal(valuesIn(two))).message).toMatch(/2 columns/);
    const text = await fileOf(
      'text.parquet',
      new Uint8Array(parquetWriteBuffer({ columnData: [{ name: 'a', data: ['x'], type: 'STRING' }] })),
    );
    expect((await refusal(valuesIn(text))).fault).toBe('dtype');
    const cut = await fileOf('cut.parquet', parquetOf(matrix).subarray(0, 100));
    expect((await refusal(valuesIn(cut))).fault).toBe('format');
  });
});

describe('Arrow', () => {
  const listOf = (rows: (readonly (number | null)[] | null)[]): Uint8Array => {
    const column = vectorFromArray(rows, new List(new Field('item', new Float64(), true)));
    return tableToIPC(new Table({ x: column }), 'file');
  };

  test('lists and fixed-size lists are read', async () => {
    expect(await valuesIn(await fileOf('lists.arrow', listOf(matrix)))).toEqual({ length: 4, values: matrix.flat() });
    const type = new FixedSizeList(4, new Field('item', new Float64(), false));
    const child = makeData({ type: new Float64(), data: Float64Array.from(matrix.flat()) });
    const schema = new Schema([new Field('x', type)]);
    const column = makeData({ type, child, length: 3, nullCount: 0 });
    const rows = makeData({ type: new Struct(schema.fields), children: [column], length: 3 });
    const fixed = tableToIPC(new Table([new RecordBatch(schema, rows)]), 'file');
    expect((await valuesIn(await fileOf('fixed.feather', fixed))).values).toEqual(matrix.flat());
  });

  test('nulls become zeros, or an error', async () => {
    const path = await fileOf('nulls.arrow', listOf([[1, null], null, [2, 3]]));
    expect((await valuesIn(path)).values).toEqual([1, 0, 0, 0, 2, 3]);
    const type = new List(new Field('item', new Float64(), true));
    const parts = [[null, null], [[1, 2]], [[3, 4]]].map((rows) => new Table({ x: vectorFromArray(rows, type) }));
    const late = await fileOf('waiting.arrow', tableToIPC(parts[0]!.concat(...parts.slice(1)), 'file'));
    expect(await valuesIn(late)).toEqual({ length: 2, values: [0, 0, 0, 0, 1, 2, 3, 4] });
    expect(await refusal(valuesIn(path, { nulls: 'reject' }))).toMatchObject({ fault: 'format', sample: 0 });
  });

  test('files and streams from apache-arrow are read, with batches and nulls', async () => {
    const row = fc.option(fc.array(fc.option(fc.double({ noNaN: true }), { freq: 5 }), { minLength: 3, maxLength: 3 }));
    const batch = fc.array(row, { minLength: 1, maxLength: 20 });
    const type = new List(new Field('item', new Float64(), true));
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 4 }), fc.boolean(), async (batches, isFile) => {
        const [first, ...more] = batches.map((rows) => new Table({ x: vectorFromArray(rows, type) }));
        const bytes = tableToIPC(first!.concat(...more), isFile ? 'file' : 'stream');
        const path = await fileOf(isFile ? 'random.arrow' : 'random.ipc', bytes);
        const rows = batches.flat();
        if (rows.every((one) => one === null)) {
          expect((await refusal(valuesIn(path))).message).toMatch(/no values/);
          return;
        }
        const values = rows.flatMap((one) => (one ?? [0, 0, 0]).map((value) => value ?? 0));
        expect(await valuesIn(path, { batch: 7 })).toEqual({ length: 3, values });
      }),
      { numRuns: byTier(10, 50) },
    );
  });

  test('other types and other files are rejected', async () => {
    const whole = tableToIPC(new Table({ x: vectorFromArray([1, 2], new Int32()) }), 'file');
    expect((await refusal(valuesIn(await fileOf('whole.arrow', whole)))).fault).toBe('dtype');
    expect((await refusal(valuesIn(await fileOf('no.arrow', Buffer.from('not an arrow file'))))).fault).toBe('format');
  });
});

describe('through the engine', () => {
  const shape: StateShape = { encoding: 'amplitude', qubits: 6, length: 50 };

  async function allStates(name: string, source: Iterable<Float64Array>): Promise<Float64Array> {
    const device = await openDevice(name);
    const engine = new Engine([device], { streams: 2, slots: 2 });
    const parts: Uint8Array[] = [];
    let next = 0n;
    try {
      for await (const batch of encodeRows(source, { shape, precision: 'f64', engine, devices: [device], batch: 7 })) {
        expect(batch.start).toBe(next);
        next += BigInt(batch.count);
        parts.push(batch.bytes.slice());
        batch.release();
      }
    } finally {
      await engine.close();
      await device.close();
    }
    return new Float64Array(Uint8Array.from(Buffer.concat(parts)).buffer);
  }

  test('arrays of any length become states in order', async () => {
    const batches = [...syntheticBatches(shape, { batch: 13, batches: 9 })];
    const states = await allStates('wasm', batches);
    const expected = referenceStates(
      shape,
      117,
      batches.flatMap((one) => [...one]),
    );
    expect(states.length).toBe(expected.length);
    expect(Math.max(...states.map((x, i) => Math.abs(x - expected[i]!)))).toBeLessThanOrEqual(1e-15);
  });

  test('a loop left early ends the input and releases every array', async () => {
    const device = await openDevice('wasm');
    const engine = new Engine([device]);
    const out = new Set<ArrayBufferView>();
    let isEnded = false;
    function* samples(): Generator<Float64Array> {
      try {
        for (const values of syntheticBatches(shape, { batch: 13, batches: 1000 })) {
          out.add(values as Float64Array);
          yield values as Float64Array;
        }
      } finally {
        isEnded = true;
      }
    }
    const release = ({ buffer }: ArrayBufferView): void => {
      for (const values of out) if (values.buffer === buffer) out.delete(values);
    };
    try {
      const options = { shape, precision: 'f64', engine, devices: [device], batch: 7, release } as const;
      for await (const batch of encodeRows(samples(), options)) {
        expect(out.size).toBeGreaterThan(0);
        batch.release();
        break;
      }
      expect([isEnded, out.size]).toEqual([true, 0]);
    } finally {
      await engine.close();
      await device.close();
    }
  });

  test('the error names the first bad sample, whichever batch has it', async () => {
    const batches = [...syntheticBatches(shape, { batch: 10, batches: 8 })];
    batches[5]!.fill(0, 50 * 3, 50 * 4);
    batches[7]![0] = Number.NaN;
    expect(await refusal(allStates('wasm', batches))).toMatchObject({ fault: 'norm', sample: 53 });
    expect(await refusal(allStates('wasm', [new Float64Array(51)]))).toMatchObject({ fault: 'size' });
  });
});

describe('states in files', () => {
  const states = Float64Array.from({ length: 8 }, (_, i) => i / 8);

  test('a file appears only when it is complete', async () => {
    const path = join(folder, 'late.npy');
    const left = async () => (await readdir(folder)).filter((name) => name.includes('late'));
    const sink = await openSink(path, 1, 'f64');
    await sink.write(new Uint8Array(states.buffer));
    expect(await left()).not.toContain('late.npy');
    await sink.discard();
    expect(await left()).toEqual([]);
    const again = await openSink(path, 1, 'f64');
    await again.write(new Uint8Array(states.buffer));
    await again.finish();
    const bytes = await readFile(path);
    expect(bytes.toString('latin1', 10, 80)).toContain("'descr': '<c16', 'fortran_order': False, 'shape': (2, 2)");
    expect(new Float64Array(Uint8Array.from(bytes.subarray(128)).buffer)).toEqual(states);
  });

  test.each(['f64', 'f32'] as const)('apache-arrow reads Arrow files of %s', async (precision) => {
    const path = join(folder, `peer-${precision}.arrow`);
    const sink = await openSink(path, 1, precision);
    const parts = precision === 'f64' ? states : Float32Array.from(states);
    for (let k = 0; k < 3; k++) await sink.write(new Uint8Array(parts.buffer));
    await sink.finish();
    for (const bytes of [await readFile(path), (await readFile(path)).subarray(8)]) {
      const table = tableFromIPC(bytes); // as a file, and its content as a stream
      expect(`${table.schema}`).toBe(
        `Schema<{ 0: state: FixedSizeList[4]<${precision === 'f64' ? 'Float64' : 'Float32'}> }>`,
      );
      expect(table.batches.length).toBe(3);
      const column = table.getChild('state');
      expect([...column!].flatMap((list) => [...list.toArray()])).toEqual([...parts, ...parts, ...parts]);
    }
  });

  test('Arrow files are read back', async () => {
    const path = join(folder, 'states.arrow');
    const sink = await openSink(path, 1, 'f64');
    for (let k = 0; k < 3; k++) await sink.write(new Uint8Array(states.buffer));
    await sink.finish();
    expect(await valuesIn(path)).toEqual({ length: 4, values: [...states, ...states, ...states] });
  });
});

describe('the command', () => {
  test('encodes a file and reports what it did', async () => {
    const out = join(folder, 'out.npy');
    const args = ['encode', given('c_order_3x4_f64.npy'), '--device', 'wasm', '-o', out, '--json'];
    const { status, stderr, events } = await millrace(args);
    expect([status, stderr]).toEqual([0, '']);
    expect(events.at(-1)).toMatchObject({
      event: 'done',
      exit: 0,
      samples: 3,
      qubits: 2,
      encoding: 'amplitude',
      dtype: 'f64',
    });
    const found = new Float64Array(Uint8Array.from((await readFile(out)).subarray(128)).buffer);
    const expected = referenceStates({ encoding: 'amplitude', qubits: 2, length: 4 }, 3, matrix.flat());
    expect(Math.max(...found.map((x, i) => Math.abs(x - expected[i]!)))).toBeLessThanOrEqual(1e-15);
  });

  test('leaves no file when a sample is bad', async () => {
    const bad = await fileOf('bad.f64', new Uint8Array(new Float64Array(8).buffer));
    const out = join(folder, 'bad.npy');
    const { status, stderr } = await millrace(['encode', bad, '--length', '4', '--device', 'wasm', '-o', out]);
    expect(status).toBe(74);
    expect(stderr).toMatch(/norm of sample 0 is zero/);
    expect((await readdir(folder)).filter((name) => name.includes('bad.npy'))).toEqual([]);
  });

  test('an option that does not exist, or is missing, is an error of the command line', async () => {
    const raw = await fileOf('raw.f64', new Uint8Array(new Float64Array(8).buffer));
    const unknown = await millrace(['encode', given('c_order_3x4_f64.npy'), '--dtype', 'complex']);
    expect([unknown.status, unknown.stderr]).toEqual([
      64,
      expect.stringMatching(/unknown precision complex.*use f32/s),
    ]);
    const missing = await millrace(['encode', raw]);
    expect([missing.status, missing.stderr]).toEqual([64, expect.stringMatching(/length of a sample.*give --length/s)]);
  });
});

describe('the benchmark', () => {
  const small = ['--qubits', '4', '--batch-size', '2', '--batches', '4', '--trials', '3', '--source', 'plain'];

  test('compares gathered requests with a stream and single ones, and reports the commit', async () => {
    const prefix = join(folder, 'pr3');
    const args = ['bench', 'encode', '--device', 'wasm', ...small, '--use-coalesced', '--report', prefix];
    const { status, stderr } = await millrace(args);
    expect([status, stderr]).toEqual([0, '']);
    const names = (await readdir(folder)).filter((name) => name.startsWith('pr3_')).sort();
    expect(names).toEqual([
      expect.stringMatching(/^pr3_\d{8}_rep_config\.json$/),
      expect.stringMatching(/^pr3_\d{8}_rep_config\.md$/),
    ]);
    const [json, text] = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    expect(text).toMatch(/## Parameters[^#]*- qubits: 4\n- batch_size: 2\n[^#]*- mode: coalesced\n[^#]*## Results/);
    expect(text).toContain('- gathered: 4.0 requests of 256 B a batch, up to 8.00 MiB');
    for (const other of ['Stream', 'Per batch']) {
      const section = new RegExp(`## ${other}, by turns with it[^#]*Throughput[^#]*Ratio, trial by trial: \\d`);
      expect(text).toMatch(section);
    }
    const three = { length: 3 };
    const report = JSON.parse(json!);
    expect(report).toMatchObject({ vectorsPerSecond: three, perBatch: three, stream: three });
    expect(report.latencyMs.coalesced).toHaveLength(3 * 4);
    const root = new URL('..', import.meta.url).pathname;
    const git = spawnSync('git', ['-C', root, 'rev-parse', 'HEAD'], { encoding: 'utf8' });
    const built = join(root, 'dist', 'commit');
    const source =
      existsSync(join(root, '.git')) && git.status === 0
        ? git.stdout
        : existsSync(built) && readFileSync(built, 'utf8');
    const commit = source ? source.slice(0, 12) : 'unknown';
    expect(text).toContain(`- Git commit: ${commit}`);
    expect(text).toMatch(/- Build: \d+\.\d+\.\d+\+[0-9a-f]{12}\n/);
    const refused = await millrace(['bench', 'encode', '--coalesced', '--source', 'device', '--device', 'wasm']);
    expect(refused.status).toBe(64);
  });

  test('measures a loop end to end, with the same rows', async () => {
    const sizes = ['--qubits', '4', '--batch-size', '2', '--batches', '4', '--trials', '5', '--source', 'loop'];
    const { status, stdout } = await millrace(['bench', 'encode', '--device', 'wasm', ...sizes]);
    expect(status).toBe(0);
    for (const row of ['Throughput (vectors/sec)', 'Latency (ms/request), 16 in flight', '1 ÷ throughput (ms/vector)'])
      expect(stdout).toContain(`| ${row} |`);
    expect(stdout).toContain('- source: loop');
  });

  test.skipIf(isShort)('measures all sources in turns, with the rows of the Python benchmark', async () => {
    const sizes = ['--qubits', '4', '--batch-size', '2', '--batches', '4', '--trials', '5', '--source', 'all'];
    const { status, stdout } = await millrace(['bench', 'encode', '--device', 'wasm', ...sizes]);
    expect(status).toBe(0);
    expect(stdout).toContain('- this is end-to-end: engine\n');
    const section = (name: string): string => `## ${name}, by turns with it`;
    for (const name of [
      'end-to-end: engine, stream, 16 in flight',
      'end-to-end: engine, loader',
      'encode-only: engine, page-locked samples',
      'encode-only: engine, plain samples',
      'encode-only: engine, samples on the device',
    ])
      expect(stdout).toContain(section(name));
    for (const library of ['PyTorch', 'NumPy'])
      for (const name of [`end-to-end: ${library}`, `encode-only: ${library}, samples on the device`])
        expect(stdout.includes(section(name)) !== stdout.includes(`- not installed for python3: ${name}`)).toBe(true);
  });

  test('reports that nothing was gathered if two requests exceed the limit', async () => {
    const large = ['--device', 'wasm', '--qubits', '12', '--batch-size', '130', '--batches', '1', '--trials', '5'];
    const { status, stdout } = await millrace(['bench', 'encode', ...large, '--source', 'plain', '--coalesced']);
    expect(status).toBe(0);
    expect(stdout).toContain('- gathered: nothing. Two requests of 4.06 MiB exceed a batch of 8.00 MiB');
  });

  test('measures the latency of requests, and reports slots by option or variable', async () => {
    const args = ['bench', 'encode', '--device', 'wasm', ...small, '--prefetch', '3', '--slots', '2'];
    // The option is given below too.
    for (const { status, stdout, stderr } of [
      ...(isShort ? [] : [await millrace([...args, '--pool-metrics'])]),
      await millrace(args, { env: { MILLRACE_POOL_METRICS: '1' } }),
      await millrace(args, { env: { QDP_ENABLE_POOL_METRICS: 'true' } }),
    ]) {
      expect(status).toBe(0);
      // 16 batches of runs and 4 alone, three at a time in two slots.
      expect(stderr).toMatch(/wasm {2}slots: 0 to 2 free, 20 acquires, [1-9]\d* waits/);
      expect(stderr).toMatch(/raise --slots/);
      expect(stdout).toMatch(/\| Latency \(ms\/request\), 3 in flight \| \d+\.\d{3} \|/);
    }
    const { events } = await millrace([...args, '--pool-metrics', '--json']);
    const measured = events.find(({ event }) => event === 'measurement');
    expect(measured).toMatchObject({ pool: { min: 0, max: 2, acquires: 20 } });
    const { latencyMs } = measured as unknown as { latencyMs: Record<string, { median: number; p95: number }> };
    expect(Object.keys(latencyMs)).toEqual(['3 in flight', 'one at a time']);
    for (const { median, p95 } of Object.values(latencyMs)) expect(p95).toBeGreaterThanOrEqual(median);
  });

  test('an installed package knows the commit that it was built from', async () => {
    const dist = new URL('../dist/', import.meta.url).pathname;
    const place = join(folder, 'installed');
    await mkdir(join(place, 'dist', 'console', 'command'), { recursive: true });
    await copyFile(new URL('../package.json', import.meta.url), join(place, 'package.json'));
    await copyFile(
      join(dist, 'console', 'command', 'version.js'),
      join(place, 'dist', 'console', 'command', 'version.js'),
    );
    const { sourceCommit } = (await import(join(place, 'dist', 'console', 'command', 'version.js'))) as {
      sourceCommit(): string | undefined;
    };
    expect(sourceCommit()).toBeUndefined();
    await writeFile(join(place, 'dist', 'commit'), '0123456789ab\n');
    expect(sourceCommit()).toBe('0123456789ab');
    if (existsSync(new URL('../.git', import.meta.url))) {
      expect(await readFile(join(dist, 'commit'), 'utf8')).toMatch(/^[0-9a-f]{12}( with changes)?\n$/);
    }
  });
});

test('percentiles and reports match the published ones', () => {
  const { percentiles } = JSON.parse(
    readFileSync(new URL('./data/encode/statistics.json', import.meta.url), 'utf8'),
  ) as { percentiles: { values: number[]; median: number; p95_linear: number }[] };
  for (const { values, median, p95_linear } of percentiles) {
    expect(percentile(values, 0.5)).toBeCloseTo(median, 10);
    expect(percentile(values, 0.95)).toBeCloseTo(p95_linear, 10);
  }
  const date = new Date('2026-01-29T12:00:00Z');
  expect(reportName('pr3', date)).toBe('pr3_20260129_rep_config.md');
  const text = reportText({
    date,
    commit: undefined,
    build: '0.1.0',
    device: 'x',
    driver: undefined,
    runtime: undefined,
    parameters: { qubits: 16 },
    results: { trials: [1000, 2000], latencies: { 'one at a time': [3, 1, 2, 4] } },
  });
  expect(text).toContain('- Git commit: unknown');
  expect(text).toContain('| Throughput (vectors/sec) | 1500.0 | 1950.0 |');
  expect(text).toContain('| Latency (ms/request), one at a time | 2.500 | 3.850 |');
  expect(text).toContain('| 1 ÷ throughput (ms/vector) | 0.750 | 0.975 |');
});
