import { describe, expect, it } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { interpret } from '../ir/interpret.js';
import { read, rw } from './buffers.js';
import { items } from './items.js';
import { f16, f32, u8, u16 } from './types.js';

/** The conversions of f16, against arithmetic of doubles. test/conformance.test.ts runs packed buffers on every device. */
const floatOf = (bits: number): number => {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
};

const widen = items('widen', { buffers: { x: read(f16), y: rw(f32) } }, ({ item, buffers }) => {
  buffers.y.set(item, buffers.x.at(item).to(f32));
});
const narrow = items('narrow', { buffers: { x: read(f32), y: rw(f16) } }, ({ item, buffers }) => {
  buffers.y.set(item, buffers.x.at(item).to(f16));
});

/** Each value of f16, or in the short tier every 31st with both ends of each exponent's range. */
const chosen = (bits: number): boolean => byTier(bits % 31 === 0 || (bits + 1) % 1024 <= 1, true);

const bytesOf = ({ buffer }: { readonly buffer: ArrayBufferLike }): Uint8Array => new Uint8Array(buffer as ArrayBuffer);

function narrowed(values: readonly number[]): number[] {
  const [x, y] = [Float32Array.from(values), new Uint16Array(2 * Math.ceil(values.length / 2))];
  interpret(narrow.trace(), { job: {}, count: values.length, buffers: { x: bytesOf(x), y: bytesOf(y) } });
  return [...y.subarray(0, values.length)];
}

describe('f16', () => {
  it('every value is read exactly, and stored again with the same bits', () => {
    const all = Array.from({ length: 65_536 }, (_, bits) => bits).filter(chosen);
    const [x, y] = [new Uint16Array(2 * Math.ceil(all.length / 2)), new Float32Array(all.length)];
    x.set(all);
    interpret(widen.trace(), { job: {}, count: all.length, buffers: { x: bytesOf(x), y: bytesOf(y) } });
    expect([...y]).toEqual(all.map(floatOf));
    const numbers = all.filter((bits) => !Number.isNaN(floatOf(bits)));
    expect(narrowed(numbers.map(floatOf))).toEqual(numbers);
  });

  it('a store rounds to the nearest, ties to even', () => {
    // Between each value and the next: a quarter, the middle, three quarters.
    for (const sign of [1, -1]) {
      const bits = Array.from({ length: 0x7bff }, (_, at) => at).filter(chosen);
      const between = (part: number) => bits.map((at) => sign * (floatOf(at) + part * (floatOf(at + 1) - floatOf(at))));
      const signed = (list: readonly number[]) => list.map((at) => (sign < 0 ? at | 0x8000 : at));
      expect(narrowed(between(1 / 4))).toEqual(signed(bits));
      expect(narrowed(between(3 / 4))).toEqual(signed(bits.map((at) => at + 1)));
      expect(narrowed(between(1 / 2))).toEqual(signed(bits.map((at) => at + (at % 2))));
    }
  });

  it('what is too large becomes infinite, and NaN stays NaN', () => {
    const inputs = [65_519, 65_520, 70_000, 3e38, Number.POSITIVE_INFINITY, -65_520, Number.NaN, 2 ** -25, 2 ** -149];
    expect(narrowed(inputs)).toEqual([0x7bff, 0x7c00, 0x7c00, 0x7c00, 0x7c00, 0xfc00, 0x7e00, 0, 0]);
  });
});

it('u8 and u16 keep the low bits, leave their neighbours, and know their length', () => {
  const kernel = items('low', { buffers: { a: rw(u8), b: rw(u16), n: rw('u32') } }, ({ item, buffers }) => {
    buffers.a.set(item.mul(2), 0x1234);
    buffers.b.set(item.mul(2), 0x12345);
    buffers.n.set(0, buffers.a.length);
    buffers.n.set(1, buffers.b.length);
  });
  const [a, b, n] = [new Uint8Array(8).fill(9), new Uint16Array(8).fill(9), new Uint32Array(2)];
  interpret(kernel.trace(), { job: {}, count: 4, buffers: { a, b: bytesOf(b), n: bytesOf(n) } });
  expect([...a]).toEqual([0x34, 9, 0x34, 9, 0x34, 9, 0x34, 9]);
  expect([...b]).toEqual([0x2345, 9, 0x2345, 9, 0x2345, 9, 0x2345, 9]);
  expect([...n]).toEqual([8, 8]);
});
