import {
  cell,
  type Expr,
  f64,
  lit,
  loop,
  min,
  type ReadBuffer,
  read,
  rw,
  select,
  type TileContext,
  tiles,
  u32,
  u64Of,
  type WideFloat,
  when,
} from '../../../kernel/index.js';
import { amplitudesPerQuad, statesOf, storeQuad } from '../kernel/kernel.js';
import { type EngineSpec, PIECE_BITS, pieceOf, wholeQuads } from './geometry.js';

/** x / ‖x‖ for samples of `input`, in states of `real`. Norms are sums over pieces of 8192 values, as in `kernel/amplitude.ts`. */
export interface AmplitudeSpec extends EngineSpec {
  readonly input: WideFloat;
}

const PIECE = 2 ** PIECE_BITS;
/** Partial sums of the language's `sum`. */
const PARTIALS = 256;
/** Values that a GPU thread loads before it uses the first. */
const LOADS_IN_FLIGHT = 8;

const lengthJob = { length: u32 } as const;
const scaleJob = { qubits: u32, length: u32, sums: u32 } as const;

/** The sum of squares of each piece of each sample: tile = sample × pieces + piece. */
export function pieceSums({ input, store }: Pick<AmplitudeSpec, 'input' | 'store'>) {
  const buffers = { x: read(input), sums: rw(f64) };
  return tiles('qdp-sums', { job: lengthJob, buffers, lanes: 1 }, (context) => {
    const { tile, job, once } = context;
    const { x, sums } = context.buffers;
    const pieces = job.length.add(PIECE - 1).shr(PIECE_BITS);
    const start = tile.rem(pieces).shl(PIECE_BITS);
    const count = min(job.length.sub(start), PIECE);
    const total = cell(f64, 0);
    const first = tile.div(pieces).mul(job.length).add(start);
    const isWhole = select(count.eq(PIECE), lit('u32', 1), 0);
    loop(isWhole, () => total.set(wholeSum(context, x, store, first)));
    loop(lit('u32', 1).sub(isWhole), () => total.set(context.sum(f64, count, (i) => square(x.at(first.add(i))))));
    once(() => sums.set(tile, total));
  });
}

/** Adds the sums of a sample's pieces: a tile per sample. Used for more than 64. */
export function sampleSums() {
  return tiles(
    'qdp-totals',
    { job: { pieces: u32 }, buffers: { sums: read(f64), totals: rw(f64) }, lanes: 1 },
    ({ tile, job, sum, once, buffers: { sums, totals } }) => {
      const first = tile.mul(job.pieces);
      const total = sum(f64, job.pieces, (i) => sums.at(first.add(i)));
      once(() => totals.set(tile, total));
    },
  );
}

/** Divides by the norm, on GPUs: a tile per piece of a state. `sums` are the sample's, added in order. */
export function scaledPieces(spec: AmplitudeSpec) {
  const { real, input } = spec;
  const buffers = { x: read(input), sums: read(f64), norms: rw(f64), states: statesOf({ ...spec, ...unused }) };
  return tiles('qdp-amplitude', { job: scaleJob, buffers, lanes: 1 }, ({ tile, job, each, once, buffers: given }) => {
    const { x, sums, norms, states } = given;
    const own = pieceOf(tile, job.qubits, real);
    const total = cell(f64, 0);
    loop(job.sums, (i) => total.set(total.add(sums.at(own.sample.mul(job.sums).add(i)))));
    once(() => {
      when(own.piece.eq(0), () => norms.set(own.sample, total));
    });
    const inverse = lit(f64, 1).div(total.sqrt());
    const perQuad = amplitudesPerQuad(real);
    const isFull = select(job.length.eq(lit('u32', 1).shl(job.qubits)), own.isWhole, 0);
    const quads = wholeQuads(real);
    const together = Math.min(LOADS_IN_FLIGHT, quads / PARTIALS);
    loop(isFull, () => {
      each(quads / together, (i) => {
        const loaded = range(together).map((k) => {
          const quad = i.add(k * (quads / together));
          const values = range(perQuad).map((part) =>
            cell(input, x.at(tile.shl(PIECE_BITS).add(quad.mul(perQuad)).add(part))),
          );
          return { quad, values };
        });
        const zero = zeroAfter(
          loaded.flatMap(({ values }) => values),
          inverse,
          real,
        );
        loaded.forEach(({ quad, values }, which) => {
          const amplitudes = values.map((value, k) => ({
            re: value.to(f64).mul(inverse).to(real),
            ...(which === 0 && k === 0 && { im: zero }),
          }));
          storeQuad(states, own.firstQuad, quad, amplitudes);
        });
      });
    });
    loop(lit('u32', 1).sub(isFull), () => {
      each(own.quads, (quad) => {
        const amplitudes = range(perQuad).map((k) => {
          const index = own.indexOf(quad, k);
          const value = x.at(own.sample.mul(job.length).add(min(index, job.length.sub(1))));
          return { re: select(index.lt(job.length), value.to(f64).mul(inverse).to(real), 0) };
        });
        storeQuad(states, own.firstQuad, quad, amplitudes);
      });
    });
  });
}

/** The same on CPUs: a tile per sample, which is in the cache when it is read again. `sums` is not used. */
export function wholeSamples(spec: AmplitudeSpec) {
  const { real, input, store } = spec;
  const buffers = { x: read(input), sums: read(f64), norms: rw(f64), states: statesOf({ ...spec, ...unused }) };
  return tiles('qdp-amplitude', { job: scaleJob, buffers, lanes: 1 }, (context) => {
    const { tile, job, each, once } = context;
    const { x, norms, states } = context.buffers;
    const { length } = job;
    const first = tile.mul(length);
    const total = cell(f64, 0);
    const full = length.shr(PIECE_BITS);
    // Slices begin at multiples of four values.
    const isAligned = select(length.and(3).eq(0), lit('u32', 1), 0);
    loop(full.mul(isAligned), (piece) =>
      total.set(total.add(wholeSum(context, x, store, first.add(piece.shl(PIECE_BITS))))),
    );
    const done = full.mul(isAligned).shl(PIECE_BITS);
    loop(
      length
        .sub(done)
        .add(PIECE - 1)
        .shr(PIECE_BITS),
      (piece) => {
        const start = done.add(piece.shl(PIECE_BITS));
        const count = min(length.sub(start), PIECE);
        total.set(total.add(context.sum(f64, count, (i) => square(x.at(first.add(start).add(i))))));
      },
    );
    once(() => norms.set(tile, total));
    const inverse = lit(f64, 1).div(total.sqrt());
    const perQuad = amplitudesPerQuad(real);
    const whole = full.mul(isAligned);
    const firstQuad = tile.shl(job.qubits).shr(perQuad - 1);
    loop(whole, (piece) => {
      const from = x.slice(first.add(piece.shl(PIECE_BITS)).shr(2));
      const base = firstQuad.add(piece.mul(wholeQuads(real)));
      each(wholeQuads(real), (quad) => {
        const amplitudes = range(perQuad).map((k) => ({
          re: from.at(quad.mul(perQuad).add(k)).to(f64).mul(inverse).to(real),
        }));
        storeQuad(states, base, quad, amplitudes);
      });
    });
    const begun = whole.mul(wholeQuads(real));
    const quads = lit('u32', 1)
      .shl(job.qubits)
      .shr(perQuad - 1);
    each(quads.sub(begun), (rest) => {
      const quad = begun.add(rest);
      const amplitudes = range(perQuad).map((k) => {
        const index = quad.mul(perQuad).add(k);
        const value = x.at(first.add(min(index, length.sub(1))));
        return { re: select(index.lt(length), value.to(f64).mul(inverse).to(real), 0) };
      });
      storeQuad(states, firstQuad, quad, amplitudes);
    });
  });
}

/** `statesOf` looks at neither. */
const unused = { qubits: 1, wide: 'f64', order: 'little', pieceBits: PIECE_BITS } as const;

type SumContext = Pick<
  TileContext<Record<never, never>, Record<never, never>, Record<never, never>, Record<never, never>>,
  'sum' | 'each' | 'near'
>;

const square = (value: Expr<WideFloat>): Expr<'f64'> => {
  const wide = value.to(f64);
  return wide.mul(wide);
};

/** The language's `sum` over 8192 values, in the same order and in forms that suit the processor better. */
function wholeSum(
  { sum, each, near }: SumContext,
  x: ReadBuffer<WideFloat>,
  store: EngineSpec['store'],
  first: Expr<'u32'>,
): Expr<'f64'> {
  const partial = near(f64, PARTIALS);
  if (store === 'quads') {
    each(PARTIALS, (i) => {
      const total = cell(f64, 0);
      for (let row = 0; row < PIECE / PARTIALS; row += LOADS_IN_FLIGHT) {
        const loaded = range(LOADS_IN_FLIGHT).map((k) => cell(x.type, x.at(first.add(i).add((row + k) * PARTIALS))));
        for (const one of loaded) total.set(total.add(square(one)));
      }
      partial.set(i, total);
    });
    return sum(f64, PARTIALS, (i) => partial.at(i));
  }
  const from = x.slice(first.shr(2));
  each(PARTIALS, (i) => partial.set(i, square(from.at(i))));
  loop(PIECE / PARTIALS - 1, (row) => {
    const before = row.add(1).mul(PARTIALS);
    each(PARTIALS, (i) => partial.set(i, partial.at(i).add(square(from.at(before.add(i))))));
  });
  return sum(f64, PARTIALS, (i) => partial.at(i));
}

/** Returns 0, computed so that it depends on all of these values; see `kernel/amplitude.ts`. */
function zeroAfter(values: readonly Expr<WideFloat>[], inverse: Expr<'f64'>, real: WideFloat): Expr<WideFloat> {
  const word = (value: Expr<WideFloat>): Expr<'u32'> =>
    value.type === 'f32' ? value.bits('u32') : value.bits('u64').lo;
  const any = values.map(word).reduce((all, one) => all.or(one));
  const none = select(inverse.lt(0), any, 0);
  return real === 'f32' ? none.bits('f32') : u64Of(none, 0).bits('f64');
}

const range = (count: number): number[] => Array.from({ length: count }, (_, k) => k);
