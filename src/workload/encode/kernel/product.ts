import { type Expr, lit, loop, type Near, read, select, sincos, tiles, type WideFloat } from '../../../kernel/index.js';
import {
  type Amplitude,
  amplitudesPerQuad,
  pieceOfState,
  reversedBits,
  type StateSpec,
  statesOf,
  storeQuad,
} from './kernel.js';

/**
 * The kernel of angle, phase and iqp-z: products with one factor per qubit. A tile computes a table of products over the low
 * qubits and one over the high qubits of its piece, and multiplies one entry of each: 16 sines per tile instead of 16 per
 * amplitude.
 */
export function productState(encoding: 'angle' | 'phase' | 'iqp-z', spec: StateSpec) {
  const { qubits, real, wide } = spec;
  const isReal = encoding === 'angle';
  const low = Math.min(qubits, LOW_BITS);
  const buffers = { x: read(real), states: statesOf(spec) };
  return tiles(`encode-${encoding}`, { buffers, lanes: 1 }, ({ tile, near, each, buffers: { x, states } }) => {
    const own = pieceOfState(tile, spec);
    const highs = (own.quads * amplitudesPerQuad(real)) / 2 ** low;
    const table = (type: WideFloat, length: number): FactorTable => ({
      re: near(type, length),
      im: isReal ? undefined : near(type, length),
    });
    const [factors, lows, high] = [table(wide, 2 * qubits), table(real, 2 ** low), table(real, highs)];

    each(qubits, (bit) => {
      const qubit = spec.order === 'big' ? lit('u32', qubits - 1).sub(bit) : bit;
      const pair = factorsOf[encoding](x.at(own.sample.mul(qubits).add(qubit)).to(wide));
      pair.forEach((factor, which) => {
        storeFactor(factors, bit.mul(2).add(which), factor, wide);
      });
    });
    /** Returns the product over bits `from` to `to`; bit 0 of `index` is bit `from`. */
    const over = (index: Expr<'u32'>, from: number, to: number, start: PartialProduct): PartialProduct => {
      let value = start;
      for (let bit = from; bit < to; bit++) {
        const one = factorAt(
          factors,
          index
            .shr(bit - from)
            .and(1)
            .add(2 * bit),
        );
        value = value === undefined ? one : multiply(value, one);
      }
      return value;
    };
    each(2 ** low, (i) => storeFactor(lows, i, over(i, 0, low, undefined), real));
    each(highs, (i) => {
      const scale = encoding === 'phase' ? Math.SQRT2 ** -(qubits % 2) * 2 ** -Math.floor(qubits / 2) : 1;
      const first: Amplitude = { re: lit(wide, scale), ...(!isReal && { im: lit(wide, 0) }) };
      storeFactor(
        high,
        i,
        over(own.piece.mul(highs).add(i), low, qubits, qubits > low && scale === 1 ? undefined : first),
        real,
      );
    });

    const perQuad = amplitudesPerQuad(real);
    if (spec.store === 'quads') {
      each(own.quads, (quad) => {
        const amplitudes = Array.from({ length: perQuad }, (_, k) => {
          const index = quad.mul(perQuad).add(k);
          return multiply(factorAt(lows, index.and(2 ** low - 1)), factorAt(high, index.shr(low)));
        });
        storeQuad(states, own.firstQuad, quad, amplitudes);
      });
      return;
    }
    // One product over high qubits at a time: a table times a number is a loop that compilers vectorize.
    loop(highs, (row) => {
      const above = factorAt(high, row);
      each(2 ** low / perQuad, (quad) => {
        const amplitudes = Array.from({ length: perQuad }, (_, k) =>
          multiply(factorAt(lows, quad.mul(perQuad).add(k)), above),
        );
        storeQuad(states, own.firstQuad.add(row.mul(2 ** low / perQuad)), quad, amplitudes);
      });
    });
  });
}

/** The kernel of basis: 1 at the index, 0 elsewhere. */
export function basisState(spec: StateSpec) {
  const { qubits, real, order } = spec;
  return tiles(
    'encode-basis',
    { buffers: { x: read('u32'), states: statesOf(spec) }, lanes: 1 },
    ({ tile, each, buffers }) => {
      const own = pieceOfState(tile, spec);
      const value = buffers.x.at(own.sample);
      const index = order === 'big' ? reversedBits(value, qubits) : value;
      each(own.quads, (quad) => {
        const amplitudes = Array.from({ length: amplitudesPerQuad(real) }, (_, k) => ({
          re: select(own.indexOf(quad, k).eq(index), lit(real, 1), 0),
        }));
        storeQuad(buffers.states, own.firstQuad, quad, amplitudes);
      });
    },
  );
}

/** 256 products over low qubits, 32 over high ones in a piece of 8192. */
const LOW_BITS = 8;

interface FactorTable {
  readonly re: Near<WideFloat>;
  readonly im: Near<WideFloat> | undefined;
}

type PartialProduct = Amplitude | undefined;

/** The factors of a qubit for bit 0 and for bit 1. */
const factorsOf: Readonly<
  Record<'angle' | 'phase' | 'iqp-z', (x: Expr<WideFloat>) => readonly [Amplitude, Amplitude]>
> = {
  angle: (x) => {
    const { sin, cos } = sincos(x);
    return [{ re: cos }, { re: sin }];
  },
  phase: (x) => {
    const { sin, cos } = sincos(x);
    return [
      { re: lit(x.type, 1), im: lit(x.type, 0) },
      { re: cos, im: sin },
    ];
  },
  'iqp-z': (x) => {
    const { sin, cos } = sincos(x);
    const one = lit(x.type, 1);
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

function storeFactor({ re, im }: FactorTable, index: Expr<'u32'>, value: PartialProduct, type: WideFloat): void {
  if (value === undefined) throw new TypeError('a product of no factors');
  re.set(index, value.re.to(type));
  if (im && value.im) im.set(index, value.im.to(type));
}

function multiply(a: Amplitude, b: Amplitude): Amplitude {
  if (a.im === undefined || b.im === undefined) return { re: a.re.mul(b.re) };
  return { re: a.re.mul(b.re).sub(a.im.mul(b.im)), im: a.re.mul(b.im).add(a.im.mul(b.re)) };
}
