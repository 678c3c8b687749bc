import { describe, expect, it } from 'vitest';
import { MillraceError } from '../error.js';
import { interpret } from '../ir/interpret.js';
import { floatingProgram } from '../passes/floating.js';
import { placeNodes } from '../passes/shape/place-nodes.js';
import { atomic, read, rw } from './buffers.js';
import { cell, loop, when, whileTrue } from './control.js';
import { type Expr, lit } from './expr.js';
import type { Kernel } from './signature.js';
import { tiles } from './tiles.js';
import { f32, f64, u32 } from './types.js';

const bytes = (array: { buffer: ArrayBufferLike }) => new Uint8Array(array.buffer);

/** Runs a kernel's trace and the output of the passes; both must leave the same memory. */
function both(
  kernel: Kernel,
  count: number,
  buffers: Record<string, Float64Array | Float32Array | Uint32Array>,
): typeof buffers {
  const runs = [kernel.trace(), placeNodes(floatingProgram(kernel.trace()))].map((program) => {
    const copies = Object.fromEntries(Object.entries(buffers).map(([name, array]) => [name, array.slice()]));
    interpret(program, {
      job: {},
      count,
      buffers: Object.fromEntries(Object.entries(copies).map(([name, array]) => [name, bytes(array)])),
    });
    return copies;
  });
  expect(runs[1]).toEqual(runs[0]);
  return runs[0] as typeof buffers;
}

/** Sums in the order that the language defines, implemented independently. */
function fixedSum(values: readonly number[], round: (x: number) => number): number {
  const partials = Array<number>(256).fill(0);
  values.forEach((value, i) => {
    partials[i % 256] = round((partials[i % 256] as number) + value);
  });
  for (let half = 128; half >= 1; half >>= 1)
    for (let i = 0; i < half; i++) partials[i] = round((partials[i] as number) + (partials[i + half] as number));
  return partials[0] as number;
}

describe('tiles', () => {
  it('sum in a fixed order for any length', () => {
    const kernel = tiles(
      'sums',
      { buffers: { x: read(f32), n: read(u32), out: rw(f32) } },
      ({ tile, sum, once, buffers }) => {
        const total = sum(f32, buffers.n.at(tile), (i) => buffers.x.at(i).mul(buffers.x.at(i)));
        once(() => buffers.out.set(tile, total));
      },
    );
    const n = Uint32Array.of(0, 1, 255, 256, 257, 1000, 777);
    const x = Float32Array.from({ length: 1000 }, (_, i) => Math.sin(i) * 10 ** (i % 7));
    const { out } = both(kernel, n.length, { x, n, out: new Float32Array(n.length) });
    expect([...(out as Float32Array)]).toEqual(
      [...n].map((length) =>
        fixedSum(
          [...x.slice(0, length)].map((v) => Math.fround(v * v)),
          Math.fround,
        ),
      ),
    );
  });

  it('normalise vectors', () => {
    const size = 300;
    const kernel = tiles('norm', { buffers: { x: read(f64), out: rw(f64) } }, ({ tile, sum, each, buffers }) => {
      const x = buffers.x.slice(tile.mul(size / 4));
      const out = buffers.out.slice(tile.mul(size / 4));
      const length = sum(f64, size, (i) => x.at(i).mul(x.at(i))).sqrt();
      each(size, (i) => out.set(i, x.at(i).div(length)));
    });
    const x = Float64Array.from({ length: 3 * size }, (_, i) => Math.cos(i * 1.7));
    const { out } = both(kernel, 3, { x, out: new Float64Array(3 * size) });
    for (let tile = 0; tile < 3; tile++) {
      const own = [...x.slice(tile * size, (tile + 1) * size)];
      const length = Math.sqrt(
        fixedSum(
          own.map((v) => v * v),
          (v) => v,
        ),
      );
      expect([...(out as Float64Array).slice(tile * size, (tile + 1) * size)]).toEqual(own.map((v) => v / length));
    }
  });

  it('share near arrays between regions: a sieve', () => {
    const limit = 2048;
    const kernel = tiles('sieve', { buffers: { out: rw(u32) } }, ({ near, each, buffers }) => {
      const marks = near(u32, limit / 32);
      each(limit / 32, (i) => marks.set(i, 0));
      each(44, (k) => {
        const p = k.add(2);
        const at = cell(u32, p.mul(p));
        whileTrue(
          () => at.lt(limit),
          () => {
            marks.or(at.shr(5), lit(u32, 1).shl(at.and(31)));
            at.set(at.add(p));
          },
        );
      });
      each(limit / 32, (i) => buffers.out.set(i, marks.at(i).not()));
    });
    const { out } = both(kernel, 1, { out: new Uint32Array(limit / 32) });
    const primes = [...Array(limit).keys()].filter((n) => n > 1 && ((out?.[n >> 5] as number) >>> (n & 31)) & 1);
    expect(primes.length).toBe(309); // primes below 2048
    expect(primes.at(-1)).toBe(2039);
  });

  it('scan counts, and compact with the result', () => {
    const words = 64;
    const kernel = tiles(
      'compact',
      { buffers: { map: read(u32), out: rw(u32), total: rw(u32) } },
      ({ near, each, scan, once, buffers }) => {
        const counts = near(u32, words);
        each(words, (i) => counts.set(i, buffers.map.at(i).popcount()));
        const total = scan(words, counts);
        once(() => buffers.total.set(0, total));
        each(words, (i) => {
          const rest = cell(u32, buffers.map.at(i));
          const to = cell(u32, counts.at(i));
          whileTrue(
            () => rest.ne(0),
            () => {
              const lowest = rest.and(rest.neg());
              buffers.out.set(to, i.mul(32).add(lit(u32, 31).sub(lowest.clz())));
              rest.set(rest.xor(lowest));
              to.set(to.add(1));
            },
          );
        });
      },
    );
    const map = Uint32Array.from({ length: words }, (_, i) => Math.imul(i + 1, 0x9e3779b9) & 0x11111111);
    const expected = [...Array(words * 32).keys()].filter((n) => ((map[n >> 5] as number) >>> (n & 31)) & 1);
    const { out, total } = both(kernel, 1, { map, out: new Uint32Array(words * 32), total: new Uint32Array(1) });
    expect(total?.[0]).toBe(expected.length);
    expect([...(out as Uint32Array).slice(0, expected.length)]).toEqual(expected);
  });

  it('allow uniform control flow between regions', () => {
    const kernel = tiles(
      'uniform',
      { buffers: { out: rw(u32), hits: atomic() } },
      ({ tile, near, each, once, buffers }) => {
        const a = near(u32, 8);
        each(8, (i) => a.set(i, i.add(tile)));
        loop(tile, (round) => {
          each(8, (i) => a.set(i, a.at(i).mul(3).add(round)));
        });
        when(a.at(0).gt(2), () => once(() => buffers.hits.add(0, 1)));
        each(8, (i) => buffers.out.set(tile.mul(8).add(i), a.at(i)));
      },
    );
    const { out, hits } = both(kernel, 4, { out: new Uint32Array(32), hits: new Uint32Array(1) });
    const expected = [0, 1, 2, 3].flatMap((tile) =>
      [...Array(8).keys()].map((i) => [...Array(tile).keys()].reduce((x, round) => x * 3 + round, i + tile)),
    );
    expect([...(out as Uint32Array)]).toEqual(expected);
    expect(hits?.[0]).toBe([0, 1, 2, 3].filter((tile) => (expected[tile * 8] as number) > 2).length);
  });
});

describe('a tile rejects', () => {
  const failure = (body: Parameters<typeof tiles>[2]): MillraceError => {
    try {
      tiles('faulty', { buffers: { out: rw(u32) } }, body as never).trace();
    } catch (error) {
      if (error instanceof MillraceError) return error;
      throw error;
    }
    throw new Error('tracing succeeded');
  };

  it('effects that every thread would repeat', () => {
    expect(
      failure(({ buffers }) => (buffers as unknown as { out: { set(i: number, v: number): void } }).out.set(0, 1))
        .message,
    ).toContain('outside each() and once()');
  });
  it('nested regions, and effects in sums', () => {
    expect(failure(({ each }) => each(4, () => each(4, () => {}))).message).toContain('each() is inside each()');
    expect(
      failure(({ sum, near }) => {
        const a = near(u32, 4);
        sum(u32, 4, (i) => {
          a.set(i, 1);
          return i;
        });
      }).message,
    ).toContain('inside sum()');
  });
  it('setting an outer cell in a region', () => {
    const error = failure(({ each }) => {
      const outside = cell(u32, 0);
      each(4, (i) => outside.set(i));
    });
    expect(error.code).toBe('kernel-scope');
    expect(error.message).toContain('a cell from outside is set in each()');
  });
  it('values used outside their region', () => {
    expect(
      failure(({ each }) => {
        let leaked: Expr<'u32'> | undefined;
        each(4, (i) => {
          leaked = i.add(1);
        });
        leaked?.add(1);
      }).message,
    ).toContain('outside the each that made it');
  });
});
