import type { Float, Type, Value } from '../../../kernel/index.js';
import { nearestTo } from '../model/float-model.js';
import { Random } from '../model/random.js';
import { conversionEdges, edges, randomValue, roundingTraps, shiftCounts } from './edges.js';
import type { Operation, Slot } from './operations.js';

/** One set of operands for all operations on a type. */
export type Row = Readonly<Record<Slot, Value>>;

export const slots: readonly Slot[] = ['a', 'b', 'c', 'd', 'n', 'p'];

/** Returns every pair of edge values, with other operands in turn, then special cases of the type and random values. */
export function allRows(type: Type): Row[] {
  const random = new Random(1 + type.length);
  const list = edges(type);
  const rows: Row[] = [];
  const add = (a: Value, b: Value, more: Partial<Row> = {}) => {
    const i = rows.length;
    rows.push({
      a,
      b,
      c: random.pick(list),
      d: random.pick(list),
      n: shiftCounts[i % shiftCounts.length] as number,
      p: i % 3 === 0,
      ...more,
    });
  };
  for (const a of list) for (const b of list) add(a, b);
  if (type !== 'f16') for (const a of list) for (const n of shiftCounts) add(a, random.pick(list), { n });
  if (type === 'u64') for (const a of roundingTraps) add(a, random.pick(list));
  if (type === 'i64')
    for (const a of roundingTraps)
      for (const x of [a, -a]) add(BigInt.asIntN(64, x), random.pick(list), { c: random.pick(list) });
  if (type === 'f32' || type === 'f64') {
    for (const a of conversionEdges(type)) add(a, random.pick(list));
  }
  if (type === 'f16' || type === 'f32' || type === 'f64')
    for (const [a, b, c] of fusedTraps(type, random)) add(a, b, { c });
  for (let i = 0; i < 100; i++) {
    const any = () => randomValue(type, random);
    add(any(), any(), { c: any(), d: any(), n: random.u32(), p: random.chance(0.5) });
  }
  return rows;
}

/** Returns a sample for forms that cost a compilation or a launch per row. */
export function someRows(type: Type, count: number): Row[] {
  const rows = allRows(type);
  const random = new Random(7);
  return rows.length <= count ? rows : Array.from({ length: count }, () => random.pick(rows));
}

export const argsOf = (operation: Operation, row: Row): Value[] => operation.uses.map((slot) => row[slot]);

/**
 * Returns operands of a·b + c for which two roundings give a wrong result: the rounded product cancels against c, or c
 * breaks a tie of the product.
 */
function fusedTraps(type: Float, random: Random): [number, number, number][] {
  const round = (x: number): number => nearestTo(type, x);
  const [ulp, largest, small, smallest] = limits[type];
  const traps: [number, number, number][] = [
    [1 + ulp, 1 + ulp, -(1 + 2 * ulp)],
    [1 + ulp, 1 - ulp / 2, -1],
    [1 + ulp, 1, ulp / 2],
    [1 + ulp, 1 + ulp, ulp / 4],
    [1 + ulp, 1 + 2 ** -12, ulp * ulp],
    [1 + ulp, 1 + 2 ** -12, -ulp * ulp],
    [largest, 2, -largest],
    [small, small, smallest],
    [0, 1, -0],
    [-0, 1, -0],
    [-1, 1, 1],
  ];
  for (let i = 0; i < 60; i++) {
    const a = round(1 + random.u32() * 2 ** -32);
    const b = round(1 + random.u32() * 2 ** -32);
    traps.push(
      [a, b, round(-a * b)],
      [a, b, round((random.chance(0.5) ? 1 : -1) * ulp * ulp * (1 + random.below(8)))],
      [a, round(b * 2 ** -random.below(60)), round(random.u32() * 2 ** -40)],
    );
  }
  return traps.map(([a, b, c]) => [round(a), round(b), round(c)]);
}

/** The unit of 1, the largest power of two, one whose square is half of the smallest denormal, and that denormal. */
const limits: Readonly<Record<Float, readonly [number, number, number, number]>> = {
  f16: [2 ** -10, 2 ** 15, 2 ** -12 * Math.SQRT1_2, 2 ** -24],
  f32: [2 ** -23, 2 ** 127, 2 ** -75, 2 ** -149],
  f64: [2 ** -52, 2 ** 1023, 2 ** -538, 2 ** -1074],
};
