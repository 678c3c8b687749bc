import { describe, expect, test } from 'vitest';
import { items } from '../language/items.js';
import { u32 } from '../language/types.js';
import { sha256 } from '../std/hash/sha256.js';
import { floatingOf } from './floating.js';

const kernel = (body: (count: number) => void = () => undefined) => {
  let traces = 0;
  return items('k', { hit: { word: u32 } }, ({ index, emit }) => {
    body(++traces);
    emit({ word: sha256.hash([index.lo])[0] });
  });
};

// A failure would print whole programs, for minutes: so they are compared here, and not by expect.
describe('a kernel is traced and folded once', () => {
  test('for all that would get the same', () => {
    let traces = 0;
    const one = kernel((count) => {
      traces = count;
    });
    const first = floatingOf(one);
    // No body of this kernel is there for CUDA, nor on a CPU that has none for SHA-256.
    expect(floatingOf(one, new Set(['cuda'])) === first).toBe(true);
    expect(floatingOf(one, new Set(['c-int128', 'c-vaes'])) === first).toBe(true);
    expect(traces).toBe(1);
  });

  test('but not where a native body is there, or values are not hoisted', () => {
    const one = kernel();
    const [plain, native, kept] = [
      floatingOf(one),
      floatingOf(one, new Set(['c-shani'])),
      floatingOf(one, new Set(), false),
    ];
    const kinds = (body: readonly { readonly kind: string }[]) => new Set(body.map(({ kind }) => kind));
    expect(kinds(plain.traced.body)).not.toContain('native');
    expect(kinds(native.traced.body)).toContain('native');
    expect(kept.program === plain.program).toBe(false);
    expect(floatingOf(one, new Set(['c-shani', 'cuda'])) === native).toBe(true);
    expect(floatingOf(one, new Set(), false) === kept).toBe(true);
  });

  test('and another kernel is another', () => {
    const [one, other] = [floatingOf(kernel()), floatingOf(kernel())];
    expect(one === other).toBe(false);
  });
});
