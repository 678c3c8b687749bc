import type { FleetWorkload } from '../../../fleet/workload.js';
import { fieldReader } from '../../../network/fields.js';
import { searchGaps } from './search.js';
import { GapVerifier } from './verifier.js';

/** What a search for gaps depends on, as it travels. */
export interface FleetGapParams {
  /** In decimal. */
  readonly start: string;
  readonly length: string;
  readonly minGap: number;
}

/** Gaps on a fleet: an index is a distance from the start. The number of primes is each worker's own. */
export const fleetGaps: FleetWorkload = {
  name: 'gaps',
  version: 1,

  search: (params, { engine, space, source, signal }) =>
    searchGaps({ ...numbersOf(params), space }, { engine, source, signal }),

  check: async (params, hits) => {
    const { start, minGap } = numbersOf(params);
    const verifier = new GapVerifier();
    try {
      for (const { index } of hits) {
        const { passes, end } = await verifier.call('gapAt', start + index);
        if (!passes) return `${start + index} is composite`;
        if (end - start - index < BigInt(minGap)) return `${end} is prime`;
      }
      return undefined;
    } finally {
      verifier.close();
    }
  },
};

export const fleetGapParams = (start: bigint, length: bigint, minGap: number): FleetGapParams => ({
  start: String(start),
  length: String(length),
  minGap,
});

function numbersOf(params: Readonly<Record<string, unknown>>): { start: bigint; length: bigint; minGap: number } {
  const read = fieldReader('a search for gaps', 'use the same version of Millrace on every machine of the fleet');
  const decimal = (value: unknown, field: string): bigint => {
    const text = read.text(value, field, MAX_DIGITS);
    return /^(0|[1-9]\d*)$/.test(text) ? BigInt(text) : read.bigInteger(text, field, 0n, 0n);
  };
  return {
    start: decimal(params.start, 'start'),
    length: decimal(params.length, 'length'),
    minGap: read.integer(params.minGap, 'minGap', 2, 2 ** 20),
  };
}

/** Of the largest numbers that a search takes, some thousand bits. */
const MAX_DIGITS = 2000;
