import { MillraceError } from '../../kernel/error.js';
import type { Buffers } from '../../kernel/index.js';

/** The typed array of each element type. Its memory may be shared with a device's threads. */
interface Arrays {
  readonly u8: Uint8Array;
  readonly u16: Uint16Array;
  /** Bits: not every host has an array of such floats. */
  readonly f16: Uint16Array;
  readonly u32: Uint32Array;
  readonly i32: Int32Array;
  readonly u64: BigUint64Array;
  readonly i64: BigInt64Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
}

const ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  f16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  f32: Float32Array,
  f64: Float64Array,
} satisfies Record<keyof Arrays, unknown>;

/** A type whose values an array of the host can hold. */
export type ElementType = keyof Arrays;

/** The typed array of a type; bytes for a type that the host has no array for. */
export type ArrayOf<T extends string> = T extends ElementType ? Arrays[T] : Uint8Array;

/** The names of the buffers that a kernel writes. */
export type WrittenBuffers<B extends Buffers> = {
  [K in keyof B]: B[K] extends { readonly kind: 'read' } ? never : K;
}[keyof B];

/** Returns the bytes of one element. */
export const elementBytes = (type: string): number => arrayClass(type).BYTES_PER_ELEMENT;

/** Returns the name of the typed array of a type. */
export const arrayName = (type: string): string => arrayClass(type).name;

/** Returns bytes as an array of a type: a view, or a copy if the bytes do not begin at a whole element. */
export function arrayView<T extends string>(type: T, bytes: Uint8Array): ArrayOf<T> {
  const Kind = arrayClass(type);
  const size = Kind.BYTES_PER_ELEMENT;
  if (bytes.byteLength % size !== 0) {
    throw new MillraceError({
      code: 'usage',
      message: `${bytes.byteLength} bytes are not a whole number of ${type}`,
      asked: `an array of ${type}`,
      advice: `choose a type whose size divides the bytes of a row; a ${type} has ${size} bytes`,
    });
  }
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % size === 0 ? bytes : bytes.slice();
  return new Kind(buffer as ArrayBuffer, byteOffset, byteLength / size) as ArrayOf<T>;
}

const arrayClass = (type: string): (typeof ARRAYS)[ElementType] =>
  Object.hasOwn(ARRAYS, type) ? ARRAYS[type as ElementType] : Uint8Array;
