import type { Type, Value } from '../../../kernel/index.js';
import type { Device } from '../../device.js';
import { hasAbility } from '../case.js';
import { isSameValue } from '../rig.js';
import { isNormalOrZero } from '../values/edges.js';
import { type Operation, slotType } from '../values/operations.js';

/** True if a result is acceptable. */
export type ResultCheck = (
  operation: Operation,
  args: readonly Value[],
  expected: Value,
  got: Value | undefined,
) => boolean;

/** Accepts only the model's value; on devices whose floats are not exact, any value that WGSL allows. */
export const resultCheckFor = (device: Device): ResultCheck =>
  hasAbility(device, 'exact-floats') ? isExact : isWithinBounds;

/** The bits of a NaN are unspecified. */
const isExact: ResultCheck = (operation, args, expected, got) =>
  isSameValue(got, expected) || (operation.name.startsWith('bits.') && Number.isNaN(args[0] as number));

/** Accepts any result if NaN, infinities, -0 or denormals go in or should come out: WGSL specifies none of them. */
const isWithinBounds: ResultCheck = (operation, args, expected, got) => {
  const odd = operation.uses.some(
    (slot, i) => isSmallFloat(slotType(slot, operation.on)) && !isNormalOrZero(args[i] as number),
  );
  if (odd) return true;
  if (!isSmallFloat(operation.result)) return isExact(operation, args, expected, got);
  const value = expected as number;
  if (operation.result === 'f16') return isNearHalf(operation, args, value, got as number);
  // Around the smallest normal number a device may flush before or after rounding.
  if (!Number.isFinite(value) || (value !== 0 && Math.abs(value) <= 2 ** -126)) return true;
  const [name = ''] = operation.name.split(`.${operation.on}`);
  return Math.abs((got as number) - value) <= (maxErrors[name] ?? noError)(value, args as readonly number[]);
};

const isSmallFloat = (type: Type): boolean => type === 'f32' || type === 'f16';

/** An f16 is an f32 that is rounded again: where WGSL permits two f32, they may be rounded to two neighbours. */
function isNearHalf({ name }: Operation, args: readonly Value[], expected: number, got: number): boolean {
  if (!Number.isFinite(expected)) return true;
  const unit = (x: number): number => 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), -14) - 10);
  const error = Math.abs(got - expected);
  if (!/^mix\./.test(name))
    return error === 0 || (/^(add|sub|mul|div|sqrt|fma|to)\./.test(name) && error <= unit(expected));
  const [a = 0, b = 0, t = 0] = args as readonly number[];
  return error <= Math.abs(a) * unit(1 - t) + unit(a * (1 - t)) + unit(b * t) + unit(expected);
}

/** Returns the maximum error of a result. */
type MaxError = (expected: number, args: readonly number[]) => number;

const ulp = (x: number): number => 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), -126) - 23);
const noError: MaxError = () => 0;
/** Correctly rounded in a direction that the device chooses. */
const roundedEitherWay: MaxError = (expected) => ulp(expected);

/** Errors by operation; operations not listed are exact. */
const maxErrors: Readonly<Record<string, MaxError>> = {
  add: roundedEitherWay,
  sub: roundedEitherWay,
  mul: roundedEitherWay,
  'to.f32': roundedEitherWay,
  // The bound holds for divisors from 2^-126 to 2^126.
  div: (expected, [, b = 1]) => (Math.abs(b) <= 2 ** 126 ? 2.5 * ulp(expected) : Number.POSITIVE_INFINITY),
  // As 1 / inverseSqrt(x): 2 units of that, 2.5 of the division.
  sqrt: (expected) => 4.5 * ulp(expected),
  // As a·b + c, with a product that may be flushed to 0 if it is very small, or overflow.
  fma: (expected, [a = 0, b = 0]) => {
    const product = Math.abs(a * b);
    return product < 2 ** 128 ? ulp(product) + ulp(expected) + 2 ** -126 : Number.POSITIVE_INFINITY;
  },
  // As a·(1 − t) + b·t: the error of 1 − t reaches the product with a, and each product may be flushed to 0.
  mix: (expected, [a = 0, b = 0, t = 0]) => {
    const [first, second] = [Math.abs(a * (1 - t)), Math.abs(b * t)];
    if (Math.max(first, second) >= 2 ** 127) return Number.POSITIVE_INFINITY;
    return Math.abs(a) * ulp(1 - t) + 2 * ulp(first) + ulp(second) + ulp(expected) + 2 ** -125;
  },
};
