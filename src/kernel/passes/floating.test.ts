import { describe, expect, test } from 'vitest';
import { items } from '../language/items.js';
import { u32 } from '../language/types.js';
import { sha256 } from '../std/hash/sha256.js';
import { cachedFloatingProgram, prepareKernel } from './floating.js';

const kernel = (body: (count: number) => void = () => undefined) => {
  let traces = 0;
  return items('k', { hit: { word: u32 } }, ({ index, emit }) => {
    body(++traces);
    emit({ word: sha256.hash([index.lo])[0] });
  });
};

// Programs are compared with ===: expect would take minutes to print them.
describe('a kernel is traced and folded once', () => {
  test('for all targets without a native body', () => {
    let traces = 0;
    const one = kernel((count) => {
      traces = count;
    });
    prepareKernel(one);
    const first = cachedFloatingProgram(one);
    // This kernel has no native body for CUDA, nor for a CPU without SHA-256 instructions.
    expect(cachedFloatingProgram(one, new Set(['cuda'])) === first).toBe(true);
    expect(cachedFloatingProgram(one, new Set(['c-int128', 'c-vaes'])) === first).toBe(true);
    expect(traces).toBe(1);
  });

  test('but again for a native body, or if values are not hoisted', () => {
    const one = kernel();
    const [plain, native, kept] = [
      cachedFloatingProgram(one),
      cachedFloatingProgram(one, new Set(['c-shani'])),
      cachedFloatingProgram(one, new Set(), false),
    ];
    const kinds = (body: readonly { readonly kind: string }[]) => new Set(body.map(({ kind }) => kind));
    expect(kinds(plain.traced.body)).not.toContain('native');
    expect(kinds(native.traced.body)).toContain('native');
    expect(kept.program === plain.program).toBe(false);
    expect(cachedFloatingProgram(one, new Set(['c-shani', 'cuda'])) === native).toBe(true);
    expect(cachedFloatingProgram(one, new Set(), false) === kept).toBe(true);
  });

  test('separately from an equal kernel', () => {
    const [one, other] = [cachedFloatingProgram(kernel()), cachedFloatingProgram(kernel())];
    expect(one === other).toBe(false);
  });

  test('for each call of a factory, with its arguments', () => {
    const times = (factor: number) =>
      items('times', { hit: { word: u32 } }, ({ index, emit }) => emit({ word: index.lo.mul(factor) }));
    const factors = [3, 5, 3].map((factor) =>
      cachedFloatingProgram(times(factor)).traced.body.flatMap((statement) =>
        statement.kind === 'let' && statement.node.op === 'mul' ? statement.node.args[1]?.detail.value : [],
      ),
    );
    expect(factors).toEqual([[3], [5], [3]]);
  });
});
