import { stripIn } from '../../console/live/live-task.js';
import type { MonitoredJob, Note } from '../../console/monitor/status.js';
import { duration, plural } from '../../console/output/format.js';
import type { Output } from '../../console/output/output.js';
import type { Engine } from '../../engine/index.js';
import type { Miner, MinerOptions } from './miner.js';
import type { MiningStats } from './mining-stats.js';
import type { ShareBase, SourceEvent, Verdict, WorkBase, WorkSource } from './source.js';
import { Throttle } from './throttle.js';

/** How a coin's results are described. */
export interface CoinDescription<Share extends ShareBase> {
  /** The command's name. */
  readonly name: string;
  /** The unit of a try: H, or int. */
  readonly unit: string;
  /** What the indices of a search are, as in "headers of the current work". */
  readonly indices: string;
  difficulties(work: Share['work']): ShareAndBlock;
  /** Expected number of tries. */
  expectedTries(work: Share['work']): ShareAndBlock;
  describe(share: Share): ShareDescription;
}

export interface ShareAndBlock {
  readonly share: number;
  readonly block: number;
}

export interface ShareDescription {
  /** The block's hash, as explorers show it. */
  readonly hash: string;
  readonly difficulty: number;
  /** The coin-specific fields of the `mined` event. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** For the log. */
  readonly logText: string;
}

/** Reports mining to the terminal and as events. */
export class Reporter<Share extends ShareBase> {
  readonly #output: Output;
  readonly #source: WorkSource<Share>;
  readonly #engine: Engine;
  readonly #description: CoinDescription<Share>;
  readonly #startedMs = performance.now();
  #server = '';
  #messages = 0;
  readonly #difficultyThrottle = new Throttle();
  readonly #rejectionThrottle = new Throttle();

  constructor(output: Output, source: WorkSource<Share>, engine: Engine, description: CoinDescription<Share>) {
    this.#description = description;
    this.#output = output;
    this.#source = source;
    this.#engine = engine;
  }

  get hooks(): Pick<MinerOptions<Share>, 'onSourceEvent' | 'onSwitch' | 'onVerdict'> {
    return {
      onSourceEvent: (event) => this.#reportEvent(event),
      onSwitch: (work, isClean, ms) => this.#reportSwitch(work, isClean, ms),
      onVerdict: (share, verdict) => this.#reportVerdict(share, verdict),
    };
  }

  /** For the monitor. The odds are for blocks: a pool pays for a part of those. */
  watch(miner: Miner<Share>): MonitoredJob {
    const { name, unit, expectedTries } = this.#description;
    return {
      name,
      unit,
      progress: () => ({ done: miner.tally.tries }),
      strip: () => stripIn(miner.space, this.#engine.coverage, this.#description.indices),
      devices: () => {
        // An item may be several tries, and not the same number in every work, so tries are split in proportion to items.
        const all = this.#engine.devices;
        const items = all.reduce((sum, device) => sum + device.items, 0n);
        const triesOf = (own: bigint): bigint => (items === 0n ? 0n : (miner.tally.tries * own) / items);
        return all.map((device) => ({ ...device, items: triesOf(device.items) }));
      },
      hits: () => miner.tally.counts.blocks,
      get chance() {
        return miner.work && 1 / expectedTries(miner.work).block;
      },
      notes: () => this.#notes(miner),
    };
  }

  #notes({ tally, work }: Miner<Share>): Note[] {
    const { difficulties, expectedTries } = this.#description;
    const wrong = this.#engine.devices.reduce((sum, device) => sum + device.wrong + device.missed, 0);
    const { switchMs, longestSwitchMs = 0 } = tally;
    const mined = work && workName(work);
    const perSecond = Number(tally.tries) / ((performance.now() - this.#startedMs) / 1000);
    const due = work && perSecond > 0 ? `, one in about ${duration(expectedTries(work).share / perSecond)}` : '';
    return [
      { label: 'server', text: this.#server === '' ? `${this.#source.name}, not connected` : this.#server },
      ...(work && mined !== undefined
        ? [
            {
              label: 'work',
              text: `${mined}, ${this.#source.unit}s of difficulty ${formatDifficulty(difficulties(work).share)}${due}`,
            },
          ]
        : []),
      { label: `${this.#source.unit}s`, text: resultsLine(tally, wrong) },
      ...(switchMs === undefined
        ? []
        : [
            {
              label: 'switch',
              text: `to new work in ${duration(switchMs / 1000)}, at most ${duration(longestSwitchMs / 1000)}`,
            },
          ]),
    ];
  }

  #reportEvent({ state, server, message }: SourceEvent): void {
    const output = this.#output;
    if (state === 'message') {
      this.#messages += 1;
      if (this.#messages > MAX_MESSAGES) return;
    }
    // Each `work` event has its own difficulty.
    if (state === 'difficulty' && this.#difficultyThrottle.tryPass() === undefined) return;
    output.event('pool', { server, state, message });
    if (state === 'connected') this.#server = server;
    if (state === 'lost') this.#server = '';
    if (state === 'connected') output.say(`connected to ${server}: ${message}`);
    else if (state === 'difficulty') output.explain(`difficulty ${message}`);
    else if (state === 'message') output.say(`${server} says: ${message}`);
    else if (message.startsWith(server)) output.warn(message);
    else output.warn(`${server}: ${message}`);
  }

  #reportSwitch(work: Share['work'], isClean: boolean, ms: number): void {
    const { id, height } = work;
    const { share, block } = this.#description.difficulties(work);
    this.#output.event('work', {
      id,
      height,
      clean: isClean,
      difficulty: share,
      blockDifficulty: block,
      switchSeconds: ms / 1000,
    });
    this.#output.explain(`${workName(work)}: started in ${duration(ms / 1000)}`);
  }

  #reportVerdict(share: Share, { state, reason }: Verdict): void {
    const output = this.#output;
    const { work, isBlock } = share;
    const { id, height } = work;
    const { hash, difficulty, fields, logText } = this.#description.describe(share);
    output.event('mined', { state, reason, block: isBlock, work: id, height, hash, ...fields });
    output.diagnose?.(`share of ${id}: ${state}${reason === undefined ? '' : ` (${reason})`} ${logText}`);
    const what = isBlock ? `block${height === undefined ? '' : ` ${height}`}` : 'share';
    if (state !== 'accepted') this.#warnRejected(`${what} ${state}: ${reason ?? 'no reason given'}`, isBlock);
    else if (isBlock) output.line(`${what}  ${hash}  ${output.style.good('accepted')}`);
    else output.explain(`share accepted: difficulty ${formatDifficulty(difficulty)}`);
  }

  /** Warns of every rejected block, and of some rejected shares: there may be thousands. `mined` events have all. */
  #warnRejected(text: string, isBlock: boolean): void {
    const dropped = isBlock ? 0 : this.#rejectionThrottle.tryPass();
    if (dropped === undefined) return;
    this.#output.warn(dropped === 0 ? text : `${text} (and ${plural(dropped, 'more share')} before)`);
  }
}

/** The most server messages shown in one run; later ones are dropped. */
const MAX_MESSAGES = 100;

/** `12 accepted, 1 rejected (low difficulty 1), 0 stale, 0 hardware errors` */
export function resultsLine({ counts, reasons }: MiningStats, hardwareErrors: number): string {
  const { accepted, rejected, stale, lost } = counts;
  const why = [...reasons].map(([reason, times]) => `${reason} ${times}`).join(', ');
  return [
    `${accepted} accepted`,
    `${rejected} rejected`,
    `${stale} stale`,
    ...(lost === 0 ? [] : [`${lost} lost`]),
    `${plural(hardwareErrors, 'hardware error')}${why === '' ? '' : ` (${why})`}`,
  ].join(', ');
}

const formatDifficulty = (difficulty: number): string =>
  difficulty >= 1000 ? difficulty.toExponential(3) : difficulty.toPrecision(4);

const workName = ({ id, height }: WorkBase): string => (height === undefined ? `job ${id}` : `height ${height}`);
