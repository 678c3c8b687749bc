import type { Note } from '../../../console/monitor/status.js';
import { duration, percent, rate } from '../../../console/output/format.js';
import type { Output } from '../../../console/output/output.js';
import type { Engine } from '../../../engine/index.js';
import type { Recorder } from '../../../engine/telemetry/record.js';
import { Tally } from '../../../engine/telemetry/tally.js';
import type { PieceWork } from './flow.js';

/** The expected frequency of results. */
export interface Odds {
  /** ln of the numbers. */
  readonly logarithm: number;
  /** The probability that an index is a gap that counts. */
  readonly chance: number;
  /** Integers per index: 1, or the distance between two intervals of a set. */
  readonly perIndex: number;
  /** Number of indices searched. */
  readonly indices: number;
  /** What is searched for: a gap, or a block. */
  readonly resultName: string;
}

/** Sums over a search: for the status, for the end, and for sizing batches. */
export class SearchStats {
  readonly totals = { tests: 0, primes: 0, windows: 0, candidates: 0, bytes: 0 };
  done = 0n;
  /** Searched, but not confirmed by a canary yet. */
  unconfirmed = 0n;
  gaps = 0;
  readonly #odds: Odds;
  readonly #tally = new Tally();
  readonly #batches = new Map<string, DeviceBatches>();
  readonly #started = performance.now();

  constructor(odds: Odds, records: Recorder) {
    this.#odds = odds;
    records.listen((record) => {
      if (record.outcome !== 'audit') this.#tally.add(record);
    });
  }

  get seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }

  addPiece(work: PieceWork): void {
    for (const key of ['tests', 'primes', 'windows', 'candidates', 'bytes'] as const) this.totals[key] += work[key];
    const { id } = work.device.info;
    const batches = this.#batches.get(id) ?? { pieces: 0, windows: 0, candidates: 0, tests: 0, depths: [] };
    this.#batches.set(id, batches);
    batches.pieces++;
    for (const key of ['windows', 'candidates', 'tests'] as const) batches[key] += work[key];
    batches.depths[work.windows] = (batches.depths[work.windows] ?? 0) + 1;
  }

  /** Rates, the expected time to a result, and the share of time lost by waiting. */
  notes(): Note[] {
    const { logarithm, chance, perIndex, indices, resultName } = this.#odds;
    const { seconds } = this;
    const perSecond = Number(this.done) / seconds;
    const starved = [...this.#tally].reduce((all, { ns }) => all + ns.starved, 0) / 1e9;
    const isLikely = chance * (indices - Number(this.done)) >= 0.5;
    const expected = [{ label: 'expected', text: `${resultName} in ${duration(1 / (perSecond * chance))}` }];
    return [
      { label: 'tests', text: rate(this.totals.tests / seconds, 'tests') },
      // A search of intervals only meets the primes that end them.
      ...(perIndex === 1 ? [{ label: 'primes', text: rate(perSecond / logarithm, 'primes') }] : []),
      { label: 'gaps', text: rate(this.gaps / seconds, 'gaps') },
      ...(this.done > 0n && isLikely ? expected : []),
      { label: 'starved', text: `${percent(starved / seconds)} of the time` },
    ];
  }

  /** Events for programs: how pieces were batched, their contents, and where time was spent. */
  reportBatches(output: Output, { streams, slots }: Engine): void {
    for (const { device, depths: queued, partial, ns, bytesToDevice, bytesToHost } of this.#tally) {
      const batches = this.#batches.get(device);
      if (batches === undefined) continue;
      const { pieces, windows, candidates, tests, depths } = batches;
      output.event('batches', {
        device,
        streams,
        slots: streams * slots,
        pieces,
        windows,
        depths: Array.from(depths, (count = 0) => count),
        queued: Array.from(queued, (count = 0) => count),
        partial,
        candidatesPerWindow: candidates / windows,
        testsPerWindow: tests / windows,
        bytesToDevice,
        bytesToHost,
        kernelSeconds: ns.compute / 1e9,
        copySeconds: ns.copy / 1e9,
        waitSeconds: (ns.queued + ns.waited) / 1e9,
        starvedSeconds: ns.starved / 1e9,
      });
    }
  }
}

interface DeviceBatches {
  pieces: number;
  windows: number;
  candidates: number;
  tests: number;
  /** Number of pieces by their number of windows. */
  readonly depths: number[];
}
