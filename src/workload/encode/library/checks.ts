import {
  type Expr,
  f64,
  i64,
  items,
  lit,
  read,
  rw,
  select,
  tiles,
  u32,
  type WideFloat,
} from '../../../kernel/index.js';

/** The largest angle whose remainder has a meaning, 2^40; see `job/validate.ts`. */
export const MAX_ANGLE_BITS = 40;

/** Bits of a sample's flags; for basis as the specification has them. */
export const Flag = { notFinite: 1, negative: 2, fraction: 4, range: 8 } as const;

/** Sets a flag for each sample of angles that has a value which is not finite or too large. */
export function angleFlags() {
  const buffers = { x: read(f64), flags: rw(u32) };
  return tiles(
    'qdp-angles',
    { job: { length: u32 }, buffers, lanes: 1 },
    ({ tile, job, sum, once, buffers: { x, flags } }) => {
      const bad = sum(u32, job.length, (i) => select(isBadAngle(x.at(tile.mul(job.length).add(i))), lit('u32', 1), 0));
      once(() => flags.set(tile, bad));
    },
  );
}

/** Widens values of f32: of samples on the device. */
export function widenedValues() {
  const buffers = { x: read('f32'), values: rw(f64) };
  return items('qdp-widen', { buffers }, ({ item, buffers: { x, values } }) => values.set(item, x.at(item).to(f64)));
}

/** Turns the numbers of basis states into indices, and sets flags for those that are none. */
export function basisIndices(type: WideFloat | 'i64') {
  const job = { qubits: u32 } as const;
  if (type === 'i64') {
    const buffers = { x: read(i64), index: rw(u32), flags: rw(u32) };
    return items('qdp-index', { job, buffers }, ({ item, job: { qubits }, buffers: { x, index, flags } }) => {
      const value = x.at(item);
      const limit = lit(u32, 1).shl(qubits).to(i64);
      const flag = select(value.lt(0n), lit(u32, Flag.negative), select(value.ge(limit), lit(u32, Flag.range), 0));
      flags.set(item, flag);
      index.set(item, select(flag.eq(0), value.to(u32), 0));
    });
  }
  const buffers = { x: read(type), index: rw(u32), flags: rw(u32) };
  return items('qdp-index', { job, buffers }, ({ item, job: { qubits }, buffers: { x, index, flags } }) => {
    const value = x.at(item).to(f64);
    const limit = lit(u32, 1).shl(qubits).to(f64);
    // The order of the tests is that of the messages: a value that is no number is nothing else.
    const ordered = select(
      value.lt(0),
      lit(u32, Flag.negative),
      select(value.floor().ne(value), lit(u32, Flag.fraction), select(value.ge(limit), lit(u32, Flag.range), 0)),
    );
    const flag = select(isAbove(value, Number.MAX_VALUE), lit(u32, Flag.notFinite), ordered);
    flags.set(item, flag);
    index.set(item, select(flag.eq(0), value.to(u32), 0));
  });
}

const isBadAngle = (value: Expr<'f64'>): Expr<'bool'> => isAbove(value, 2 ** MAX_ANGLE_BITS);

/** True if |value| > max, infinite or NaN: without the sign, bits are ordered as values are. */
function isAbove(value: Expr<'f64'>, max: number): Expr<'bool'> {
  const limit = new DataView(new ArrayBuffer(8));
  limit.setFloat64(0, max);
  const bits = value.bits('u64');
  const high = bits.hi.and(0x7fff_ffff);
  return high.gt(limit.getUint32(0)).or(high.eq(limit.getUint32(0)).and(bits.lo.gt(limit.getUint32(4))));
}
