import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { withRing } from '../abi/harness.js';
import { checkProgram } from '../ir/check.js';
import { interpret } from '../ir/interpret.js';
import { read, rw } from '../language/buffers.js';
import { breakWhen, cell, loop, table, when, whileTrue } from '../language/control.js';
import { items } from '../language/items.js';
import { bitSelect, select } from '../language/operations.js';
import type { Kernel } from '../language/signature.js';
import { u32, u64 } from '../language/types.js';
import { renderIr } from '../render/ir.js';
import { fold } from './arithmetic/fold.js';
import { floatingProgram } from './floating.js';
import { makeGang } from './shape/gang.js';
import { hoist } from './shape/hoist.js';
import { placeNodes } from './shape/place-nodes.js';
import { mergeTernaryLogic } from './shape/ternary.js';

const placed = (kernel: Kernel) => placeNodes(floatingProgram(kernel.trace()));
/** The body lines of a placed kernel's IR. */
const body = (kernel: Kernel) =>
  renderIr(placed(kernel))
    .split('\n')
    .filter((line) => !/^kernel|^ {2}(job|chunk|buffer|table) |job words/.test(line))
    .join('\n')
    .trimEnd();

describe('fold', () => {
  it('turns division by any constant into an exact multiplication', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 0xffff_ffff }),
        fc.array(fc.integer({ min: 0, max: 0xffff_ffff }), { minLength: 1, maxLength: 8 }),
        (divisor, values) => {
          const kernel = items('div', { buffers: { x: read(u32), q: rw(u32), r: rw(u32) } }, ({ item, buffers }) => {
            buffers.q.set(item, buffers.x.at(item).div(divisor));
            buffers.r.set(item, buffers.x.at(item).rem(divisor));
          });
          // multiples of the divisor and their neighbours are where a wrong inverse shows
          const near = values.flatMap((x) => [x, x - (x % divisor), Math.max(0, x - (x % divisor) - 1)]);
          const x = Uint32Array.from([...near, 0xffff_ffff, 0]);
          const [q, r] = [new Uint32Array(x.length), new Uint32Array(x.length)];
          const bytes = (array: Uint32Array) => new Uint8Array(array.buffer);
          const program = placed(kernel);
          expect(renderIr(program)).not.toMatch(/ (div|rem) /);
          interpret(program, { job: {}, count: x.length, buffers: { x: bytes(x), q: bytes(q), r: bytes(r) } });
          expect([...q]).toEqual([...x].map((value) => Math.floor(value / divisor)));
          expect([...r]).toEqual([...x].map((value) => value % divisor));
        },
      ),
      { numRuns: byTier(80, 400) },
    );
  });

  it('adds constants and job values up before the launch', () => {
    const kernel = items('sum', { job: { a: u32, b: u32 }, buffers: { out: rw(u32) } }, ({ job, item, buffers }) => {
      buffers.out.set(item, item.add(5).add(job.a).add(item.mul(3)).add(7).add(job.b));
    });
    expect(body(kernel)).toMatchInlineSnapshot(`
      "  %0: u32 = mul item, 3
        %1: u32 = add item, %0
        %2: u32 = add %1, job_0
        out[item] := %2"
    `);
  });

  it('removes cells that are only names, keeps those that loops change', () => {
    const kernel = items('cells', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const name = cell(u32, item);
      name.set(name.add(1));
      const sum = cell(u32, name);
      loop(4, (i) => sum.set(sum.add(i)));
      buffers.out.set(item, sum.add(name));
    });
    expect(body(kernel)).toMatchInlineSnapshot(`
      "  %0: u32 = add item, 1
        cell0: u32 := %0
        loop %1: u32 < 4
          %2: u32 = cell0
          %3: u32 = add %2, %1
          cell0 := %3
        %4: u32 = cell0
        %5: u32 = add %4, %0
        out[item] := %5"
    `);
  });

  it('compares without the addition, and drops unused values', () => {
    const kernel = items('early', { buffers: { x: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
      buffers.x.at(item.add(1)); // the result is unused
      when(item.xor(1).add(10).byteSwap().eq(0x0b000000), () => buffers.out.set(item, 1));
      when(item.sub(item).eq(1), () => buffers.out.set(item, 2));
    });
    expect(body(kernel)).toMatchInlineSnapshot(`
      "  %0: bool = eq item, 0
        when %0
          out[item] := 1"
    `);
  });
});

describe('hoist', () => {
  const kernel = items(
    'early',
    { job: { key: [u32, 4] }, chunk: { step: u32 }, buffers: { out: rw(u32) } },
    ({ job, chunk, item, index, buffers }) => {
      const [a, b, c, d] = job.key;
      const mixed = a.mul(b).xor(c.rotl(3)).add(d);
      buffers.out.set(item, item.add(mixed).mul(chunk.step.add(mixed)).xor(index.hi));
    },
  );

  it('leaves one word for values that depend only on the job', () => {
    const program = placed(kernel);
    expect(program.params.map((param) => param.name)).toEqual(['job_0', 'chunk_1', 'base_1']);
    expect(program.jobWords).toBe(1);
  });

  it('can be turned off, with the same results', () => {
    const run = { job: { key: [3, 5, 7, 11] }, chunk: { step: 9 }, base: 7n << 32n, count: 5 };
    const results = [true, false].map((compute) => {
      const out = new Uint32Array(5);
      interpret(placeNodes(hoist(fold(withRing(kernel.trace())), compute)), {
        ...run,
        buffers: { out: new Uint8Array(out.buffer) },
      });
      return [...out];
    });
    const mixed = ((3 * 5) ^ (7 << 3)) + 11;
    expect(results[0]).toEqual([0, 1, 2, 3, 4].map((item) => (Math.imul(item + mixed, 9 + mixed) ^ 7) >>> 0));
    expect(results[1]).toEqual(results[0]);
  });
});

describe('placeNodes', () => {
  it('sinks values that only a branch needs, and lifts values that a loop does not change', () => {
    const kernel = items('where', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const costly = item.mul(item).mul(17);
      const steady = item.rotl(9);
      when(item.lt(10), () => {
        loop(item, (i) => buffers.out.set(i, costly.add(steady.xor(5)).add(i)));
      });
    });
    expect(body(kernel)).toMatchInlineSnapshot(`
      "  %0: bool = lt item, 10
        when %0
          %1: u32 = mul item, item
          %2: u32 = mul %1, 17
          %3: u32 = rotr item, 23
          %4: u32 = xor %3, 5
          %5: u32 = add %2, %4
          loop %6: u32 < item
            %7: u32 = add %5, %6
            out[%6] := %7"
    `);
  });

  it('does not move a look-up out of its guard', () => {
    const kernel = items('guarded', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const squares = table(u32, [0, 1, 4, 9]);
      loop(2, () => when(item.lt(4), () => buffers.out.set(item, squares.at(item))));
    });
    const text = body(kernel);
    expect(text.indexOf('lookup')).toBeGreaterThan(text.indexOf('when'));
    const out = new Uint32Array(8);
    interpret(placed(kernel), { job: {}, count: 8, buffers: { out: new Uint8Array(out.buffer) } });
    expect([...out]).toEqual([0, 1, 4, 9, 0, 0, 0, 0]);
  });
});

describe('every pass leaves a valid program', () => {
  it('with branches, loops, breaks, tables and wide values', () => {
    const kernel = items(
      'mixed',
      { job: { k: [u32, 3] }, buffers: { x: read(u32), out: rw(u64) }, hit: { at: u64 } },
      ({ job, item, index, buffers, emit }) => {
        const t = table(u32, [...job.k, 4]);
        const best = cell(u64, index);
        const n = cell(u32, buffers.x.at(item));
        whileTrue(
          () => n.ne(1),
          () => {
            breakWhen(best.gt(1n << 40n));
            n.set(select(n.and(1).eq(0), n.shr(1), n.mul(3).add(1)));
            best.set(best.add(t.at(n.and(3)).to(u64)));
          },
        );
        when(best.and(7n).eq(0), () => emit({ at: best }));
        buffers.out.set(item, best);
      },
    );
    const raw = kernel.trace();
    checkProgram(raw);
    checkProgram(withRing(raw));
    const done = placeNodes(floatingProgram(raw));
    checkProgram(done);
    checkProgram(placeNodes(mergeTernaryLogic(floatingProgram(raw))));
    checkProgram(makeGang(done, 4).program);

    const run = (program: Parameters<typeof interpret>[0]) => {
      const x = Uint32Array.from([27, 1, 6, 97, 871]);
      const out = new BigUint64Array(5);
      const ring = new Uint32Array(4 + 3 * 5);
      const bytes = (array: { buffer: ArrayBuffer }) => new Uint8Array(array.buffer);
      interpret(program, {
        job: { k: [5, 6, 7] },
        base: 1n << 33n,
        count: 5,
        buffers: { x: bytes(x), out: bytes(out) },
        ring: bytes(ring),
      });
      return { out: [...out], ring: [...ring] };
    };
    const expected = run(raw);
    expect(expected.out[1]).toBe((1n << 33n) + 1n);
    expect(run(done).out).toEqual(expected.out);
  });
});

describe('mergeTernaryLogic', () => {
  it('merges a majority, a choice and a three-way xor into one operation each', () => {
    const kernel = items('logic', { buffers: { x: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
      const [a, b, c] = [0, 1, 2].map((i) => buffers.x.at(item.add(i))) as [typeof item, typeof item, typeof item];
      buffers.out.set4(item, [a.and(b).or(c.and(a.or(b))), a.xor(b).xor(c), bitSelect(a, b, c), a.and(b.not())]);
    });
    const text = renderIr(placeNodes(mergeTernaryLogic(floatingProgram(kernel.trace()))));
    expect(text.match(/logic3 0x[0-9a-f]+/g)?.sort()).toEqual(
      ['logic3 0x96', 'logic3 0xca', 'logic3 0xe8', 'logic3 0x30'].sort(),
    );
    const out = new Uint32Array(4);
    const x = Uint32Array.of(0b11110000, 0b11001100, 0b10101010);
    interpret(placeNodes(mergeTernaryLogic(floatingProgram(kernel.trace()))), {
      job: {},
      count: 1,
      buffers: { x: new Uint8Array(x.buffer), out: new Uint8Array(out.buffer) },
    });
    expect([...out]).toEqual([0b11101000, 0b10010110, 0b11001010, 0b00110000]);
  });
});
