import type { Range } from '../../../engine/work/space.js';
import { type PackedJob, packWorkloadJob } from '../../../fleet/manifest/index.js';
import { checkSpace, type FleetWorkload } from '../../../fleet/workload.js';
import { fieldReader } from '../../../network/fields.js';
import { type ChineseSet, chineseSetOf, type Intervals, intervalsOf } from './chinese-set.js';
import { searchIntervals } from './interval-search.js';
import { searchGaps } from './search.js';
import { GapVerifier } from './verifier.js';

/**
 * Gaps on a fleet: an index is a distance from the start, or with a set the number of an interval. The number of primes is
 * each worker's own.
 */
export const fleetGaps: FleetWorkload = {
  name: 'gaps',
  version: 2,

  search: (params, { engine, space, source, signal }) => {
    const { start, length, minGap, crt } = numbersOf(params);
    checkSpace(space, crt?.intervals.count ?? length);
    const running = { engine, source, signal };
    if (crt) return searchIntervals({ ...crt, start, space }, running);
    return searchGaps({ start, length, minGap, space }, running);
  },

  check: async (params, hits) => {
    const { start, minGap, crt } = numbersOf(params);
    const verifier = new GapVerifier();
    try {
      for (const { index } of hits) {
        const wrong = crt
          ? await wrongInterval(verifier, crt.intervals, index)
          : await wrongGap(verifier, start + index, minGap);
        if (wrong !== undefined) return wrong;
      }
      return undefined;
    } finally {
      verifier.close();
    }
  },

  relax: (params, bits) => {
    const { start, minGap, crt } = numbersOf(params);
    // A set's intervals depend on the gap.
    return crt ? undefined : { ...params, minGap: weakerGap(start, minGap, bits) };
  },
};

/**
 * A gap that about one in 2^bits numbers begins: near n, one in ln n is prime, and e^-merit of those begin a gap of that merit.
 * At least 3/4 of the gap that is searched for: the search takes longer for smaller ones.
 */
function weakerGap(start: bigint, minGap: number, bits: number): number {
  const log = Math.max(1, start.toString(2).length * Math.LN2);
  const gap = log * (bits * Math.LN2 - Math.log(log));
  return Math.min(minGap, 2 * Math.ceil(Math.max(2, 0.75 * minGap, gap) / 2));
}

/** Packs a search for a fleet. */
export function fleetGapsJob(numbers: GapNumbers, set: ChineseSet | undefined, space: Range): PackedJob {
  const { start, length, minGap } = numbers;
  const shape = set && { primes: set.primes, size: set.size, candidates: set.candidates, offset: String(set.offset) };
  const params = { start: String(start), length: String(length), minGap, ...(shape && { set: shape }) };
  return packWorkloadJob(fleetGaps, params, space, 'all');
}

interface GapNumbers {
  readonly start: bigint;
  readonly length: bigint;
  readonly minGap: number;
}

async function wrongGap(verifier: GapVerifier, start: bigint, minGap: number): Promise<string | undefined> {
  const { passes, end } = await verifier.call('gapAt', start);
  if (!passes) return `${start} is composite`;
  return end - start < BigInt(minGap) ? `${end} is prime` : undefined;
}

async function wrongInterval(
  verifier: GapVerifier,
  { first, step, length }: Intervals,
  index: bigint,
): Promise<string | undefined> {
  const start = first + index * step;
  const { end } = await verifier.call('primesAround', start);
  return end - start > BigInt(length) ? undefined : `${end} is prime`;
}

/** Reads parameters that may come from anywhere. */
function numbersOf(
  params: Readonly<Record<string, unknown>>,
): GapNumbers & { readonly crt?: { readonly set: ChineseSet; readonly intervals: Intervals } } {
  const read = fieldReader('a search for gaps', 'use the same version of Millrace on every machine of the fleet');
  const decimal = (value: unknown, field: string): bigint => {
    const text = read.text(value, field, MAX_DIGITS);
    return /^(0|[1-9]\d*)$/.test(text) ? BigInt(text) : read.bigInteger(text, field, 0n, 0n);
  };
  const numbers: GapNumbers = {
    start: decimal(params.start, 'start'),
    length: decimal(params.length, 'length'),
    minGap: read.integer(params.minGap, 'minGap', 2, 2 ** 20),
  };
  if (params.set === undefined) return numbers;
  const fields = read.object(params.set, 'set');
  const whole = (field: string): number => read.integer(fields[field], `set.${field}`, 0, 2 ** 31);
  const set = chineseSetOf({
    primes: whole('primes'),
    size: whole('size'),
    candidates: whole('candidates'),
    offset: decimal(fields.offset, 'set.offset'),
  });
  return { ...numbers, crt: { set, intervals: intervalsOf(set, numbers, numbers.minGap) } };
}

/** Of the largest numbers that a search takes, some thousand bits. */
const MAX_DIGITS = 2000;
