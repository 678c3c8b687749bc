import {
  addChain,
  type Expr,
  items,
  min,
  montgomery,
  read,
  rw,
  select,
  type Unsigned,
  when,
} from '../../../kernel/index.js';
import { limbsOf, type NumberShape, numberAt } from '../kernel/chain-kernel.js';
import { TallyIndex } from '../kernel/sieve-kernels.js';
import { limbs } from './sieve-stage.js';

/** A candidate as its device computes with it, to compare devices. Words are 32 bits wide, least significant first. */
export interface CandidateTrace {
  /** The odd number that is added to the piece's base. */
  readonly added: number;
  /** The words of base + added, as tested. */
  readonly words: Uint32Array;
  /** The carry out of each limb of the sum, 0 or 1; the last is out of the number. */
  readonly carries: Uint32Array;
  /** 2^(n−1) mod n: 1 if n passes. */
  readonly residue: Uint32Array;
}

/** Candidates traced per piece: as many as known miners dump of a batch. */
export const MAX_TRACES = 8;

/** Traces candidates spread evenly over the list, from the first on. Fewer than `MAX_TRACES` if the list is shorter. */
export const traces = <L extends Unsigned>(shape: { readonly limb: L; readonly bits: number }) =>
  items(
    'gaps-trace',
    {
      chunk: { base: [shape.limb, limbsOf(shape)] as [L, number], room: 'u32' },
      buffers: { candidate: read('u32'), tally: read('u32'), trace: rw('u32') },
      lanes: 1, // eight items: a gang would only add code
    },
    ({ item, chunk, buffers: { candidate, tally, trace } }) => {
      const { limb, bits } = shape;
      const base = chunk.base as unknown as readonly Expr<L>[];
      const { room } = chunk as unknown as { readonly room: Expr<'u32'> };
      const total = min(tally.at(TallyIndex.candidates), room);
      when(item.lt(total), () => {
        const place = candidate.at(item.mul(select(total.lt(MAX_TRACES), 1, total.div(MAX_TRACES))));
        const number = numberAt(limb, base, place);
        const residue = montgomery(limb, bits).fermat(number);
        const words = [place, ...wordsOf(limb, number), ...carriesOf(limb, base, place), ...wordsOf(limb, residue)];
        const first = item.mul(traceWords(shape));
        words.forEach((word, i) => {
          trace.set(first.add(i), word);
        });
      });
    },
  );

/** Words of one trace. */
export const traceWords = (shape: NumberShape): number => 1 + limbsOf(shape) * (2 * perLimb(shape) + 1);

/** Reads the traces of a piece that has `total` candidates. */
export function tracesIn(trace: Uint32Array, shape: NumberShape, total: number): CandidateTrace[] {
  const [limbCount, each] = [limbsOf(shape), traceWords(shape)];
  const wordCount = limbCount * perLimb(shape);
  return Array.from({ length: Math.min(total, MAX_TRACES) }, (_, item) => {
    const own = trace.slice(item * each, (item + 1) * each);
    const carries = 1 + wordCount;
    return {
      added: 2 * (own[0] ?? 0) + 1,
      words: own.subarray(1, carries),
      carries: own.subarray(carries, carries + limbCount),
      residue: own.subarray(carries + limbCount),
    };
  });
}

/** Computes the same sum with bigints. */
export function expectedTrace(
  shape: NumberShape,
  base: bigint,
  added: number,
): Pick<CandidateTrace, 'words' | 'carries'> {
  const [limbCount, width] = [limbsOf(shape), 32 * perLimb(shape)];
  const carries = Array.from({ length: limbCount }, (_, i) => {
    const bits = width * (i + 1);
    return Number((BigInt.asUintN(bits, base) + BigInt(added)) >> BigInt(bits));
  });
  return { words: wordsFrom(base + BigInt(added), limbCount * perLimb(shape)), carries: Uint32Array.from(carries) };
}

export const wordsFrom = (n: bigint, count: number): Uint32Array => Uint32Array.from(limbs(n, 32, count), Number);

const perLimb = ({ limb }: NumberShape): number => (limb === 'u32' ? 1 : 2);

function wordsOf<L extends Unsigned>(limb: L, number: readonly Expr<L>[]): Expr<'u32'>[] {
  return number.flatMap((one) => (limb === 'u32' ? [one.to('u32')] : [one.to('u32'), one.shr(32).to('u32')]));
}

/** The carry out of each limb, which is added to the next. */
function carriesOf<L extends Unsigned>(limb: L, base: readonly Expr<L>[], place: Expr<'u32'>): Expr<'u32'>[] {
  let carry = place.shl(1).add(1).to(limb);
  return base.map((one) => {
    carry = addChain([one], [carry]).out;
    return carry.to('u32');
  });
}
