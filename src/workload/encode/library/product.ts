import {
  cell,
  type Expr,
  f64,
  lit,
  loop,
  max,
  min,
  type Near,
  read,
  select,
  sincos,
  tiles,
  u32,
  type WideFloat,
} from '../../../kernel/index.js';
import { type Amplitude, amplitudesPerQuad, statesOf, storeQuad } from '../kernel/kernel.js';
import { type EngineSpec, eachQuad, PIECE_BITS, pieceOf, qubitsJob } from './geometry.js';

/** Bits of the table over low qubits; see `kernel/product.ts`. */
const LOW_BITS = 8;
const HIGHS = 2 ** (PIECE_BITS - LOW_BITS);
const MAX_QUBITS = 30;
const unused = { qubits: 1, wide: 'f64', order: 'little', pieceBits: PIECE_BITS } as const;

/** angle, phase and iqp-z: products with one factor per qubit. `scale` is that of all amplitudes. */
export function productStates(encoding: 'angle' | 'phase' | 'iqp-z', spec: EngineSpec) {
  const { real } = spec;
  const isReal = encoding === 'angle';
  const buffers = { x: read(f64), states: statesOf({ ...spec, ...unused }) };
  const job = { qubits: u32, scale: f64 } as const;
  return tiles(`qdp-${encoding}`, { job, buffers, lanes: 1 }, ({ tile, job, near, each, buffers: { x, states } }) => {
    const { qubits } = job;
    const own = pieceOf(tile, qubits, real);
    const table = (type: WideFloat, length: number): FactorTable => ({
      re: near(type, length),
      im: isReal ? undefined : near(type, length),
    });
    const [factors, lows, high] = [table(f64, 2 * MAX_QUBITS), table(real, 2 ** LOW_BITS), table(real, HIGHS)];

    // Qubits that a small state lacks have the factor 1: their bits are 0 in every index.
    each(max(qubits, LOW_BITS), (bit) => {
      const isOwn = bit.lt(qubits);
      const pair = factorsOf[encoding](x.at(own.sample.mul(qubits).add(select(isOwn, bit, 0))));
      pair.forEach(({ re, im }, which) => {
        storeFactor(
          factors,
          bit.mul(2).add(which),
          { re: select(isOwn, re, 1), ...(im && { im: select(isOwn, im, 0) }) },
          f64,
        );
      });
    });
    each(2 ** LOW_BITS, (i) => {
      let value = factorAt(factors, i.and(1));
      for (let bit = 1; bit < LOW_BITS; bit++)
        value = multiply(
          value,
          factorAt(
            factors,
            i
              .shr(bit)
              .and(1)
              .add(2 * bit),
          ),
        );
      storeFactor(lows, i, value, real);
    });
    const highBits = max(qubits, LOW_BITS).sub(LOW_BITS);
    const highs = lit('u32', 1).shl(min(highBits, PIECE_BITS - LOW_BITS));
    each(highs, (i) => {
      const index = own.piece.mul(HIGHS).add(i);
      const re = cell(f64, job.scale);
      const im = isReal ? undefined : cell(f64, 0);
      loop(highBits, (bit) => {
        const factor = factorAt(factors, index.shr(bit).and(1).add(bit.add(LOW_BITS).mul(2)));
        const product = multiply({ re: re.get(), ...(im && { im: im.get() }) }, factor);
        re.set(product.re as Expr<'f64'>);
        if (im && product.im) im.set(product.im as Expr<'f64'>);
      });
      storeFactor(high, i, { re: re.get(), ...(im && { im: im.get() }) }, real);
    });

    const perQuad = amplitudesPerQuad(real);
    if (spec.store === 'quads') {
      eachQuad(each, own, real, (quad) => {
        const amplitudes = Array.from({ length: perQuad }, (_, k) => {
          const index = quad.mul(perQuad).add(k);
          return multiply(factorAt(lows, index.and(2 ** LOW_BITS - 1)), factorAt(high, index.shr(LOW_BITS)));
        });
        storeQuad(states, own.firstQuad, quad, amplitudes);
      });
      return;
    }
    // A table times a number is a loop that compilers vectorize. States below 2^8 amplitudes are a case of their own.
    const isLarge = select(qubits.ge(LOW_BITS), lit('u32', 1), 0);
    const store = (base: Expr<'u32'>, above: Amplitude) => (quad: Expr<'u32'>) => {
      const amplitudes = Array.from({ length: perQuad }, (_, k) =>
        multiply(factorAt(lows, quad.mul(perQuad).add(k)), above),
      );
      storeQuad(states, base, quad, amplitudes);
    };
    loop(highs.mul(isLarge), (row) => {
      const quads = 2 ** LOW_BITS / perQuad;
      each(quads, store(own.firstQuad.add(row.mul(quads)), factorAt(high, row)));
    });
    loop(lit('u32', 1).sub(isLarge), () => each(own.quads, store(own.firstQuad, factorAt(high, lit('u32', 0)))));
  });
}

/** basis: 1 at the index, 0 elsewhere. */
export function basisStates(spec: EngineSpec) {
  const { real } = spec;
  const buffers = { index: read(u32), states: statesOf({ ...spec, ...unused }) };
  return tiles(
    'qdp-basis',
    { job: qubitsJob, buffers, lanes: 1 },
    ({ tile, job, each, buffers: { index, states } }) => {
      const own = pieceOf(tile, job.qubits, real);
      const value = index.at(own.sample);
      eachQuad(each, own, real, (quad) => {
        const amplitudes = Array.from({ length: amplitudesPerQuad(real) }, (_, k) => ({
          re: select(own.indexOf(quad, k).eq(value), lit(real, 1), 0),
        }));
        storeQuad(states, own.firstQuad, quad, amplitudes);
      });
    },
  );
}

interface FactorTable {
  readonly re: Near<WideFloat>;
  readonly im: Near<WideFloat> | undefined;
}

/** The factors of a qubit for bit 0 and for bit 1. */
const factorsOf: Readonly<Record<'angle' | 'phase' | 'iqp-z', (x: Expr<'f64'>) => readonly [Amplitude, Amplitude]>> = {
  angle: (x) => {
    const { sin, cos } = sincos(x);
    return [{ re: cos }, { re: sin }];
  },
  phase: (x) => {
    const { sin, cos } = sincos(x);
    return [
      { re: lit(f64, 1), im: lit(f64, 0) },
      { re: cos, im: sin },
    ];
  },
  'iqp-z': (x) => {
    const { sin, cos } = sincos(x);
    const one = lit(f64, 1);
    return [
      { re: one.add(cos).mul(0.5), im: sin.mul(0.5) },
      { re: one.sub(cos).mul(0.5), im: sin.mul(-0.5) },
    ];
  },
};

const factorAt = ({ re, im }: FactorTable, index: Expr<'u32'>): Amplitude => ({
  re: re.at(index),
  ...(im && { im: im.at(index) }),
});

function storeFactor({ re, im }: FactorTable, index: Expr<'u32'>, value: Amplitude, type: WideFloat): void {
  re.set(index, value.re.to(type));
  if (im && value.im) im.set(index, value.im.to(type));
}

function multiply(a: Amplitude, b: Amplitude): Amplitude {
  if (a.im === undefined || b.im === undefined) return { re: a.re.mul(b.re) };
  return { re: a.re.mul(b.re).sub(a.im.mul(b.im)), im: a.re.mul(b.im).add(a.im.mul(b.re)) };
}
