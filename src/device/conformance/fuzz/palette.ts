import type { Numeric, Type, Unsigned, Value } from '../../../kernel/index.js';
import { languageSets } from '../../../kernel/ir/ops.js';
import type { Device } from '../../device.js';
import { hasAbility, needsOfType } from '../case.js';
import type { Random } from '../model/random.js';
import { edges, randomValue } from '../values/edges.js';
import { type Operation, operations } from '../values/operations.js';

/** The types and operations of random kernels: on each device, those whose result is exact to the last bit. */
export interface Palette {
  readonly scalars: readonly Type[];
  readonly numeric: readonly Numeric[];
  /** Types that tiles add up. */
  readonly sums: readonly Numeric[];
  /** Types of atomic accesses. */
  readonly atomics: readonly Unsigned[];
  readonly operations: readonly Operation[];
  readonly comparisons: readonly Operation[];
  /** Returns a literal, a job value or an element of a buffer. */
  value(type: Type, random: Random): Value;
}

export function paletteOf(device: Device): Palette {
  const types = fullPalette.scalars.filter((type) => needsOfType(type).every((ability) => hasAbility(device, ability)));
  const exact = hasAbility(device, 'exact-floats');
  const wideAtomics = hasAbility(device, 'u64-atomics');
  return types.includes('f64') && exact && wideAtomics ? fullPalette : newPalette(types, exact, wideAtomics);
}

function newPalette(scalars: readonly Type[], exact: boolean, wideAtomics: boolean): Palette {
  const numeric = scalars.filter((type): type is Numeric => type !== 'bool');
  const isLoose = (type: Type) => !exact && (type === 'f16' || type === 'f32' || type === 'f64');
  const all = operations.filter(
    ({ name, on, result }) =>
      scalars.includes(on) &&
      scalars.includes(result) &&
      (!isLoose(on) || inexactFloatOperations.test(name)) &&
      !madeUp(on, result),
  );
  function madeUp(on: Type, result: Type): boolean {
    return isLoose(result) && !isLoose(on);
  }
  return {
    scalars,
    numeric,
    sums: numeric.filter((type) => !isLoose(type)),
    atomics: wideAtomics ? ['u32', 'u64'] : ['u32'],
    operations: all,
    comparisons: all.filter(({ result, uses }) => result === 'bool' && uses.length === 2),
    value: (type, random) =>
      isLoose(type)
        ? random.pick(smallFloats)
        : random.chance(0.65)
          ? random.pick(edges(type))
          : randomValue(type, random),
  };
}

/**
 * If floats are not exact they are only moved, compared and converted to integers. `abs` and `floor` of the small floats are
 * exact; the other roundings give -0.
 */
const inexactFloatOperations = /^(eq|ne|lt|le|gt|ge|min|max|clamp|abs|floor|select|to\.(u32|i32|u64|i64|bool))\./;
/** Small whole numbers and halves: sums of a few of them are exact however they are rounded. */
const smallFloats: readonly number[] = [0, 1, 2, 3, 0.5, 1.5, 7, 40, 255, 1000, -1, -2, -0.5, -300];

/** The palette of a device that supports the whole language. */
export const fullPalette: Palette = newPalette(languageSets.any, true, true);
