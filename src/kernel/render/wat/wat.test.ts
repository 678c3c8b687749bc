import { describe, expect, it } from 'vitest';
import { kernelText } from '../../abi/lower.js';
import { atomic, read, rw } from '../../language/buffers.js';
import { cell, loop, table, when } from '../../language/control.js';
import { items } from '../../language/items.js';
import { u32 } from '../../language/types.js';
import { watLiteral } from './scalar-forms.js';

/** Returns the text inside the loop over items. */
function body(text: string): string {
  const lines = text.split('\n');
  const from = lines.findIndex((line) => line.includes('(i32.atomic.load (local.get $control))'));
  const to = lines.findLastIndex((line) => line.startsWith('  (local.set $first0 '));
  return lines.slice(from + 1, to).join('\n');
}

const collatz = items(
  'collatz',
  { job: { least: u32 }, buffers: { x: read(u32), out: rw(u32), seen: atomic() }, hit: { steps: u32 } },
  ({ job, item, buffers, emit }) => {
    const odd = table(u32, [1, 3]);
    const n = cell(u32, buffers.x.at(item));
    const steps = cell(u32, 0);
    loop(100, () => {
      when(n.ne(1), () => {
        when(n.and(1).eq(0), () => n.set(n.shr(1))).otherwise(() => n.set(n.mul(odd.at(1)).add(1)));
        steps.set(steps.add(1));
      });
    });
    buffers.out.set(item, steps);
    buffers.seen.add(0, 1);
    when(steps.ge(job.least), () => emit({ steps }));
  },
);

describe('WAT', () => {
  it('has plain values with one lane', () => {
    expect(body(kernelText(collatz, { target: 'wat', lanes: 1 }))).toMatchInlineSnapshot(`
      "  (local.set $v0 (i32.load (i32.add (local.get $b_x) (i32.shl (local.get $item) (i32.const 2)))))
        (local.set $c0 (local.get $v0))
        (local.set $c1 (i32.const 0))
        (local.set $v1 (i32.const 0))
        (block $break1 (loop $again1
          (br_if $break1 (i32.ge_u (local.get $v1) (i32.const 100)))
          (local.set $v2 (local.get $c0))
          (if (i32.ne (local.get $v2) (i32.const 1)) (then
            (if (i32.eq (i32.and (local.get $v2) (i32.const 1)) (i32.const 0)) (then
              (local.set $c0 (i32.shr_u (local.get $v2) (i32.const 1)))
            ) (else
              (local.set $c0 (i32.add (i32.mul (local.get $v2) (i32.const 3)) (i32.const 1)))
            ))
            (local.set $v3 (local.get $c1))
            (local.set $c1 (i32.add (local.get $v3) (i32.const 1)))
          ))
          (local.set $v1 (i32.add (local.get $v1) (i32.const 1)))
          (br $again1)
        ))
        (local.set $v4 (local.get $c1))
        (i32.store (i32.add (local.get $b_out) (i32.shl (local.get $item) (i32.const 2))) (local.get $v4))
        (drop (i32.atomic.rmw.add (local.get $b_seen) (i32.const 1)))
        (if (i32.le_u (local.get $p_least) (local.get $v4)) (then
          (local.set $v5 (i32.atomic.rmw.add (local.get $b_ring) (i32.const 1)))
          (if (i32.lt_u (local.get $v5) (local.get $p_ringCapacity)) (then
            (local.set $v6 (i32.shl (local.get $v5) (i32.const 1)))
            (i32.atomic.store (i32.add (local.get $b_ring) (i32.shl (i32.add (local.get $v6) (i32.const 4)) (i32.const 2))) (local.get $item))
            (i32.atomic.store (i32.add (local.get $b_ring) (i32.shl (i32.add (local.get $v6) (i32.const 5)) (i32.const 2))) (local.get $v4))
          ))
        ))"
    `);
  });

  it('has registers and masks in a gang', () => {
    const text = body(kernelText(collatz, { target: 'wat', lanes: 4 }));
    expect(text.slice(0, text.indexOf('(i32.atomic.rmw'))).toMatchInlineSnapshot(`
      "  (local.set $v0 (i32x4.add (i32x4.splat (local.get $b_x)) (v128.and (i32x4.shl (local.get $item) (i32.const 2)) (local.get $active))))
        (if (i32.and (local.get $whole) (i32.le_u (i32x4.extract_lane 0 (local.get $item)) (i32.const 0xfffffffc))) (then
          (local.set $v1 (v128.load (i32x4.extract_lane 0 (local.get $v0))))
        ) (else
          (local.set $v1 (v128.load32_lane 3 (i32x4.extract_lane 3 (local.get $v0)) (v128.load32_lane 2 (i32x4.extract_lane 2 (local.get $v0)) (v128.load32_lane 1 (i32x4.extract_lane 1 (local.get $v0)) (v128.load32_zero (i32x4.extract_lane 0 (local.get $v0)))))))
        ))
        (local.set $c0 (local.get $v1))
        (local.set $c1 (v128.const i32x4 0 0 0 0))
        (local.set $v2 (i32.const 0))
        (block $break1 (loop $again1
          (br_if $break1 (i32.ge_u (local.get $v2) (i32.const 100)))
          (local.set $v3 (local.get $c0))
          (local.set $v4 (v128.and (local.get $active) (i32x4.ne (local.get $v3) (v128.const i32x4 1 1 1 1))))
          (if (v128.any_true (local.get $v4)) (then
            (local.set $v5 (i32x4.eq (v128.and (local.get $v3) (v128.const i32x4 1 1 1 1)) (v128.const i32x4 0 0 0 0)))
            (local.set $v6 (v128.and (local.get $v4) (local.get $v5)))
            (if (v128.any_true (local.get $v6)) (then (local.set $c0 (v128.bitselect (i32x4.shr_u (local.get $v3) (i32.const 1)) (local.get $c0) (local.get $v6)))))
            (local.set $v7 (v128.and (local.get $v4) (v128.not (local.get $v5))))
            (if (v128.any_true (local.get $v7)) (then (local.set $c0 (v128.bitselect (i32x4.add (i32x4.mul (local.get $v3) (v128.const i32x4 3 3 3 3)) (v128.const i32x4 1 1 1 1)) (local.get $c0) (local.get $v7)))))
            (local.set $v8 (local.get $c1))
            (local.set $c1 (v128.bitselect (i32x4.add (local.get $v8) (v128.const i32x4 1 1 1 1)) (local.get $c1) (local.get $v4)))
          ))
          (local.set $v2 (i32.add (local.get $v2) (i32.const 1)))
          (br $again1)
        ))
        (local.set $v9 (local.get $c1))
        (local.set $v10 (i32x4.add (i32x4.splat (local.get $b_out)) (i32x4.shl (local.get $item) (i32.const 2))))
        (if (i32.and (local.get $whole) (i32.le_u (i32x4.extract_lane 0 (local.get $item)) (i32.const 0xfffffffc))) (then
          (v128.store (i32x4.extract_lane 0 (local.get $v10)) (local.get $v9))
        ) (else
          (if (i32x4.extract_lane 0 (local.get $active)) (then (v128.store32_lane 0 (i32x4.extract_lane 0 (local.get $v10)) (local.get $v9))))
          (if (i32x4.extract_lane 1 (local.get $active)) (then (v128.store32_lane 1 (i32x4.extract_lane 1 (local.get $v10)) (local.get $v9))))
          (if (i32x4.extract_lane 2 (local.get $active)) (then (v128.store32_lane 2 (i32x4.extract_lane 2 (local.get $v10)) (local.get $v9))))
          (if (i32x4.extract_lane 3 (local.get $active)) (then (v128.store32_lane 3 (i32x4.extract_lane 3 (local.get $v10)) (local.get $v9))))
        ))
        (if (i32x4.extract_lane 0 (local.get $active)) (then (drop "
    `);
  });

  it('writes constants exactly', () => {
    expect(watLiteral('u32', 0xffff_ffff)).toBe('(i32.const 0xffffffff)');
    expect(watLiteral('u64', 1n << 63n)).toBe('(i64.const 0x8000000000000000)');
    expect(watLiteral('i32', -2147483648)).toBe('(i32.const -2147483648)');
    expect(watLiteral('f64', 0.1)).toBe('(f64.const 0x1.999999999999ap-4)');
    expect(watLiteral('f64', -0)).toBe('(f64.const -0)');
    expect(watLiteral('f64', 5e-324)).toBe('(f64.const 0x0.0000000000001p-1022)');
    expect(watLiteral('f32', 3)).toBe('(f32.const 3)');
    expect(watLiteral('f32', Number.NEGATIVE_INFINITY)).toBe('(f32.const -inf)');
  });

  it('gives the same text for the same kernel', () => {
    const text = (): string => kernelText(collatz, { target: 'wat', lanes: 4 });
    expect(text()).toBe(text());
  });
});
