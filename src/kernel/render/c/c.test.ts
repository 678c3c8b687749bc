import { describe, expect, it } from 'vitest';
import { kernelText } from '../../abi/lower.js';
import { atomic, read, rw } from '../../language/buffers.js';
import { cell, loop, table, when } from '../../language/control.js';
import { items } from '../../language/items.js';
import { u32 } from '../../language/types.js';
import { cLiteral } from './literal.js';

/** Returns the text inside the loop over items. */
function body(text: string): string {
  const lines = text.split('\n');
  const from = lines.findIndex((line) => line.includes('const u32 item =') || line.includes('const i32v active ='));
  return lines.slice(from + 1, -4).join('\n');
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

describe('C text', () => {
  it('is plain C with one lane', () => {
    expect(body(kernelText(collatz, { target: 'c', lanes: 1 }))).toMatchInlineSnapshot(`
      "    if (((first - begin) & 1023) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
          const u32 v0 = b_x[item];
          u32 c0 = v0;
          u32 c1 = 0u;
          for (u32 v1 = 0; v1 < 100u; v1++) {
            const u32 v2 = c0;
            if (v2 != 1u) {
              if ((v2 & 1u) == 0u) {
                c0 = v2 >> 1;
              }
              else {
                c0 = (v2 * 3u) + 1u;
              }
              const u32 v3 = c1;
              c1 = v3 + 1u;
            }
          }
          const u32 v4 = c1;
          b_out[item] = v4;
          __atomic_fetch_add(&b_seen[0u], 1u, __ATOMIC_RELAXED);
          if (p_least <= v4) {
            u32 v5 = {0};
            v5 = __atomic_fetch_add(&b_ring[0u], 1u, __ATOMIC_RELAXED);
            if (v5 < p_ringCapacity) {
              const u32 v6 = v5 << 1;
              __atomic_store_n(&b_ring[(v6 + 4u)], item, __ATOMIC_RELAXED);
              __atomic_store_n(&b_ring[(v6 + 5u)], v4, __ATOMIC_RELAXED);
            }
          }"
    `);
  });

  it('has masks where lanes diverge', () => {
    expect(body(kernelText(collatz, { target: 'c', lanes: 4 }))).toMatchInlineSnapshot(`
      "    if (((first - begin) & 1023) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
          u32v v0 = {0};
          if (whole && item[0] <= 0xfffffffcu) __builtin_memcpy(&v0, &b_x[item[0]], sizeof v0);
          else for (int l = 0; l < LANES; l++) if (active[l]) { v0[l] = b_x[item[l]]; }
          u32v c0 = v0;
          u32v c1 = splat_u32(0u);
          for (u32 v1 = 0; v1 < 100u; v1++) {
            const u32v v2 = c0;
            const i32v v3 = active & ((i32v)(v2 != 1u));
            if (any(v3)) {
              const i32v v4 = (i32v)((v2 & 1u) == 0u);
              const i32v v5 = v3 & v4;
              if (any(v5)) {
                c0 = select_u32_v(v5, v2 >> 1, c0);
              }
              const i32v v6 = v3 & (~v4);
              if (any(v6)) {
                c0 = select_u32_v(v6, (v2 * 3u) + 1u, c0);
              }
              const u32v v7 = c1;
              c1 = select_u32_v(v3, v7 + 1u, c1);
            }
          }
          const u32v v8 = c1;
          if (whole && item[0] <= 0xfffffffcu) { const u32v all = v8; __builtin_memcpy(&b_out[item[0]], &all, sizeof all); }
          else for (int l = 0; l < LANES; l++) if (active[l]) { b_out[item[l]] = v8[l]; }
          for (int l = 0; l < LANES; l++) if (active[l]) { __atomic_fetch_add(&b_seen[0u], 1u, __ATOMIC_RELAXED); }
          const i32v v9 = active & ((i32v)(p_least <= v8));
          if (any(v9)) {
            u32v v10 = {0};
            for (int l = 0; l < LANES; l++) if (v9[l]) { v10[l] = __atomic_fetch_add(&b_ring[0u], 1u, __ATOMIC_RELAXED); }
            const i32v v11 = v9 & ((i32v)(v10 < p_ringCapacity));
            if (any(v11)) {
              const u32v v12 = v10 << 1;
              const u32v v13 = v12 + 4u;
              for (int l = 0; l < LANES; l++) if (v11[l]) { __atomic_store_n(&b_ring[v13[l]], item[l], __ATOMIC_RELAXED); }
              const u32v v14 = v12 + 5u;
              for (int l = 0; l < LANES; l++) if (v11[l]) { __atomic_store_n(&b_ring[v14[l]], v8[l], __ATOMIC_RELAXED); }
            }
          }"
    `);
  });

  it('writes constants exactly', () => {
    expect(cLiteral('u32', 0xffff_ffff)).toBe('0xffffffffu');
    expect(cLiteral('u64', 1n << 63n)).toBe('0x8000000000000000ull');
    expect(cLiteral('i32', -2147483648)).toBe('(-2147483647 - 1)');
    expect(cLiteral('f64', 0.1)).toBe('0x1.999999999999ap-4');
    expect(cLiteral('f64', -0)).toBe('(-0x0.0000000000000p-1022)');
    expect(cLiteral('f64', 5e-324)).toBe('0x0.0000000000001p-1022');
    expect(cLiteral('f32', 3)).toBe('3.0f');
    expect(cLiteral('f32', Number.NEGATIVE_INFINITY)).toBe('(-__builtin_inff())');
  });
});
