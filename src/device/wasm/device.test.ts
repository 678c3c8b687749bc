import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { processSize } from '../../../test/process-size.mjs';
import { byTier, isShort } from '../../../test/tier.js';
import { items, type Kernel, read, rw, std, tiles } from '../../kernel/index.js';
import { type Data, type LaunchSetup, runKernel } from '../conformance/rig.js';
import type { Device } from '../device.js';
import { InterpreterDevice } from '../interpreter/device.js';
import { open, probe, type WasmDevice } from './device.js';

/** Covers what conformance and contract tests do not: memory, transfers, errors and tiles of this device. */
const found = await probe();
const absent = 'reason' in found ? found.reason : undefined;
if (absent) console.warn(`skipped, no wasm device: ${absent}`);

describe.skipIf(absent)('wasm', () => {
  let device: WasmDevice;
  let interpreter: Device;
  beforeAll(async () => {
    device = await open('wasm', { threads: 3 }); // may exceed the cores: more interleavings
    interpreter = new InterpreterDevice();
  });
  afterAll(async () => {
    await device?.close();
    await interpreter?.close();
  });

  const copy = items('copy', { buffers: { from: read('u32'), to: rw('u32') } }, ({ item, buffers }) => {
    buffers.to.set(item, buffers.from.at(item));
  });

  test('transfers larger than a turn arrive complete and in order, and do not block other work', async () => {
    const words = 5 * 2 ** 20 + 3;
    const data = new Uint32Array(words);
    for (let i = 0; i < words; i++) data[i] = Math.imul(i, 0x9e3779b1);
    const [a, b] = [await device.alloc(words * 4), await device.alloc(words * 4)];
    const [one, two] = [device.stream(), device.stream()];
    const into = new Uint32Array(words);
    one.write(a, data);
    one.launch({ job: (await device.compile(copy)).bind({}), count: words, buffers: { from: a, to: b } });
    one.fill(a, 7);
    one.read(b, into);
    two.fill(await device.alloc(64), 1);
    let turns = 0;
    const turn = setInterval(() => turns++, 0);
    await Promise.all([one.mark().done, two.mark().done]);
    clearInterval(turn);
    expect(Buffer.compare(Buffer.from(into.buffer), Buffer.from(data.buffer))).toBe(0);
    expect(turns).toBeGreaterThan(0);
    a.free();
    b.free();
    one.close();
    two.close();
  });

  test.runIf(process.platform === 'linux')('code of closed programs is unmapped in all threads', async () => {
    const own = await open('wasm', { threads: 2 });
    const stream = own.stream();
    const x = await own.alloc(4 * 4096);
    const run = async (from: number, to: number): Promise<number> => {
      for (let i = from; i < to; i++) {
        const kernel = items(`k${i}`, { buffers: { x: rw('u32') } }, ({ item, buffers }) => {
          buffers.x.set(item, item.mul(2 * i + 1).xor(i));
        });
        const program = await own.compile(kernel);
        const into = new Uint32Array(4096);
        stream.launch({ job: program.bind({}), count: 4096, buffers: { x } });
        stream.read(x, into);
        const { done } = stream.mark();
        program.close(); // the next program reuses its memory
        await done;
        expect(into[4095]).toBe((Math.imul(4095, 2 * i + 1) ^ i) >>> 0);
      }
      await processSize();
      return readFileSync('/proc/self/maps', 'utf8').match(/ rwxp /g)?.length ?? 0;
    };
    const before = await run(0, 10);
    // That many more if none is unmapped. Each of the two threads may keep 32 until it collects its garbage.
    expect(await run(10, 10 + byTier(100, 150))).toBeLessThan(before + 80);
    await own.close();
  });

  test('random transfers on several streams match sequential execution', { timeout: 120_000 }, async () => {
    const BYTES = 3 * 2 ** 19; // three pieces
    const range = fc.record({ at: fc.nat(BYTES / 4 - 1), words: fc.nat(BYTES / 4) });
    const command = fc.record({
      stream: fc.nat(2),
      kind: fc.constantFrom('write', 'read', 'fill', 'copy'),
      range: fc.oneof(
        range,
        range.map(({ at, words }) => ({ at, words: words & 63 })),
      ),
      mark: fc.boolean(),
    });
    const run = async (commands: readonly (typeof command extends fc.Arbitrary<infer T> ? T : never)[]) => {
      const lines = await Promise.all(
        [0, 1, 2].map(async () => ({
          stream: device.stream(),
          buffers: [await device.alloc(BYTES), await device.alloc(BYTES)] as const,
          models: [new Uint32Array(BYTES / 4), new Uint32Array(BYTES / 4)] as const,
        })),
      );
      const checks: (() => void)[] = [];
      const marks: Promise<unknown>[] = [];
      for (const [n, { stream: line, kind, range: wanted, mark }] of commands.entries()) {
        const { stream, buffers, models } = lines[line]!;
        const words = Math.min(wanted.words, BYTES / 4 - wanted.at);
        const [from, to] = [wanted.at, wanted.at + words];
        if (kind === 'write') {
          const data = new Uint32Array(words).fill(n + 1);
          stream.write(buffers[0], data, from * 4);
          models[0].set(data, from);
        } else if (kind === 'fill') {
          stream.fill(buffers[0], n + 0x1000, from * 4, words * 4);
          models[0].fill(n + 0x1000, from, to);
        } else if (kind === 'copy') {
          stream.copy(buffers[0], buffers[1], words * 4, from * 4, from * 4);
          models[1].set(models[0].subarray(from, to), from);
        } else {
          const into = new Uint32Array(words);
          const expected = models[1].slice(from, to);
          stream.read(buffers[1], into, from * 4);
          checks.push(() => expect(Buffer.compare(Buffer.from(into.buffer), Buffer.from(expected.buffer))).toBe(0));
        }
        if (mark) marks.push(stream.mark().done);
      }
      for (const { stream } of lines) marks.push(stream.mark().done);
      await Promise.all(marks);
      for (const check of checks) check();
      for (const { stream, buffers } of lines) {
        for (const buffer of buffers) buffer.free();
        stream.close();
      }
    };
    await fc.assert(fc.asyncProperty(fc.array(command, { maxLength: 60 }), run), { numRuns: byTier(10, 40) });
  });

  test('reused memory is zero again, small and large', async () => {
    const stream = device.stream();
    for (const bytes of [60, 3 * 2 ** 20 + 2]) {
      const used = await device.alloc(bytes);
      stream.fill(used, 0xffffffff, 0, Math.floor(bytes / 4) * 4);
      await stream.mark().done;
      used.free();
      const fresh = await device.alloc(bytes);
      const into = new Uint8Array(bytes).fill(1);
      stream.read(fresh, into);
      await stream.mark().done;
      expect(into.every((byte) => byte === 0)).toBe(true);
      fresh.free();
    }
    stream.close();
  });

  test('reports the free memory when it runs out, and transfers still work', async () => {
    const own = await open('wasm', { threads: 1 });
    const stream = own.stream();
    const small = await own.alloc(2 ** 21);
    stream.fill(small, 3);
    const half = await own.alloc(2 ** 31);
    await expect(own.alloc(2 ** 31)).rejects.toMatchObject({
      code: 'device-memory',
      message: expect.stringMatching(/2\.0 GiB.*are free/s),
    });
    await expect(own.alloc(2 ** 33)).rejects.toMatchObject({ code: 'device-memory' });
    stream.read(small, new Uint8Array(4));
    await stream.mark().done;
    for (let bytes = 2 ** 31; bytes >= 64; bytes /= 2) await own.alloc(bytes).catch(() => undefined);
    const into = new Uint32Array(2 ** 19);
    stream.read(small, into);
    await stream.mark().done;
    expect(into.every((word) => word === 3)).toBe(true);
    half.free();
    await own.close();
  });

  test('an access outside all memory fails its mark, and the device keeps working', async () => {
    const far = items('far', { buffers: { x: rw('u32') } }, ({ item, buffers }) => {
      buffers.x.set(item.add(2 ** 29), 1);
    });
    const x = await device.alloc(64);
    const stream = device.stream();
    stream.launch({ job: (await device.compile(far)).bind({}), count: 1, buffers: { x } });
    await expect(stream.mark().done).rejects.toMatchObject({
      code: 'kernel-bounds',
      message: expect.stringContaining('kernel far: an access is outside all memory'),
    });
    stream.fill(x, 1);
    expect((await stream.mark().done).complete).toBe(true);
    stream.close();
    x.free();
  });

  test.skipIf(isShort).each([1, 4])('a native body in WAT, with %i lanes', async (lanes) => {
    const triple = std({
      name: 'triple',
      results: () => ['u32'],
      generic: () => {
        throw new Error('there is a native body');
      },
      native: {
        wat: {
          prelude: '(func $triple (param $x i32) (result i32) (i32.mul (local.get $x) (i32.const 3)))',
          text: ({ lanes: count, args, results }) =>
            count === 1
              ? `(local.set ${results[0]} (call $triple (local.get ${args[0]})))`
              : `(local.set ${results[0]} (i32x4.mul (local.get ${args[0]}) (i32x4.splat (i32.const 3))))`,
        },
      },
    });
    const kernel = items('triples', { buffers: { x: read('u32'), y: rw('u32') } }, ({ item, buffers }) => {
      const [tripled] = triple(buffers.x.at(item));
      buffers.y.set(item, tripled as never);
    });
    const x = Uint32Array.of(0, 1, 7, 0x5555_5555, 0x5555_5556, 0xffff_ffff);
    const { buffers } = await runKernel(device, kernel as Kernel, { count: x.length, buffers: { x, y: x } }, { lanes });
    expect(buffers.y).toEqual(Uint32Array.of(0, 3, 21, 0xffff_ffff, 2, 0xffff_fffd));
  });

  test('a syntax error in the text is reported with its line', async () => {
    const { text, ...program } = await device.compile(copy);
    const source = {
      ...program,
      text: text.replace('(i32.load offset=8', '(i32.lod offset=8'),
      lineOrigins: [],
      sites: [],
    };
    await expect(
      device.load({ ...source, parameters: () => ({ words: () => new Uint32Array(1) }) }),
    ).rejects.toMatchObject({
      code: 'device-compile',
      message: expect.stringMatching(/kernel copy: wabt rejected[\s\S]*text: {3}line \d+: .*i32\.lod/),
    });
  });

  describe.each([1, 4, 8, 16])('with %i lanes', (lanes) => {
    /** Expects the same bits on both devices. */
    const agree = async (kernel: Kernel, setup: LaunchSetup): Promise<void> => {
      const [mine, wanted] = await Promise.all([
        runKernel(device, kernel, setup, { lanes }),
        runKernel(interpreter, kernel, setup),
      ]);
      for (const [name, data] of Object.entries(wanted.buffers))
        expect(bits(mine.buffers[name]!), name).toEqual(bits(data));
    };
    const bits = (data: Data): number[] => [...new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
    const numbers = (length: number): number[] => Array.from({ length }, (_, i) => Math.sin(i + 1) * 10 ** (i % 9));

    test('tiles sum floats of both widths and words in the defined order', async () => {
      const kernel = tiles(
        'sums',
        { buffers: { n: read('u32'), x: read('f64'), y: read('f32'), d: rw('f64'), f: rw('f32'), w: rw('u32') } },
        ({ tile, sum, once, buffers }) => {
          const n = buffers.n.at(tile);
          const d = sum('f64', n, (i) => buffers.x.at(i).mul(3));
          const f = sum('f32', n, (i) => buffers.y.at(i));
          const w = sum('u32', n, (i) => i.mul(i));
          once(() => {
            buffers.d.set(tile, d);
            buffers.f.set(tile, f);
            buffers.w.set(tile, w);
          });
        },
      );
      const n = Uint32Array.of(0, 1, 3, 255, 256, 257, 1000, 777);
      await agree(kernel, {
        count: n.length,
        buffers: {
          n,
          x: Float64Array.from(numbers(1000)),
          y: Float32Array.from(numbers(1000)),
          d: new Float64Array(n.length),
          f: new Float32Array(n.length),
          w: new Uint32Array(n.length),
        },
      });
    });

    test('tiles share near arrays: a histogram and its scan', async () => {
      const kernel = tiles(
        'sort',
        { buffers: { x: read('u32'), out: rw('u32'), totals: rw('u32') } },
        ({ tile, near, each, scan, once, buffers }) => {
          const counts = near('u32', 16);
          const x = buffers.x.slice(tile.mul(25));
          const out = buffers.out.slice(tile.mul(4));
          each(16, (i) => counts.set(i, 0));
          each(97, (i) => void counts.add(x.at(i).and(15), 1));
          const total = scan(16, counts);
          each(16, (i) => out.set(i, counts.at(i)));
          once(() => buffers.totals.set(tile, total));
        },
      );
      await agree(kernel, {
        count: 5,
        buffers: {
          x: Uint32Array.from({ length: 600 }, (_, i) => Math.imul(i, 0x9e3779b1) >>> 7),
          out: new Uint32Array(80),
          totals: new Uint32Array(5),
        },
      });
    });
  });
});
