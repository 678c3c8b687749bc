import fc from 'fast-check';
import { expect } from 'vitest';
import { MillraceError } from '../../src/kernel/error.js';

/** Values that servers should not send. */
export const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(undefined, null, -1, 2 ** 53, 1e308, Number.NaN, '', '0'.repeat(63), 'ff'.repeat(40), [], {}, [[]]),
  fc.constantFrom('__proto__', 'constructor', '1d00ffff', '00000000', 'ffffffff', '1dffffff', '0x207fffff', true),
);

/** Replaces one field of the value, or all of it. */
export function disturbed(value: unknown): fc.Arbitrary<unknown> {
  const paths = pathsIn(value);
  return fc.oneof(
    { weight: 1, arbitrary: odd },
    {
      weight: 9,
      arbitrary: fc.tuple(fc.constantFrom(...paths), odd).map(([path, other]) => replaced(value, path, other)),
    },
  );
}

function pathsIn(value: unknown, at: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, one]) => pathsIn(one, [...at, key]))];
}

function replaced(value: unknown, [key, ...rest]: readonly string[], other: unknown): unknown {
  if (key === undefined) return other;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = replaced(copy[key], rest, other);
  return copy;
}

/** A parser may reject a value with a MillraceError; any other class of error (a TypeError, say) is a bug. */
export function readOrRefused(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (error instanceof MillraceError) {
      expect(error.code).toBe('input-format');
      expect(error.message.length).toBeLessThan(1000);
    } else expect((error as Error).constructor).toBe(Error);
  }
}
