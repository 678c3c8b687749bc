import type { Note, Watched } from '../../console/monitor/status.js';
import { duration, plural } from '../../console/output/format.js';
import type { Output } from '../../console/output/output.js';
import type { Engine } from '../../engine/index.js';
import type { Miner, MinerOptions } from './miner.js';
import type { Mined, MinedWork, Told, Verdict, WorkSource } from './source.js';
import type { Tally } from './tally.js';
import { Throttle } from './throttle.js';

/** How a coin's results are described. */
export interface Terms<Share extends Mined> {
  /** The command's name. */
  readonly name: string;
  /** The unit of a try: H, or int. */
  readonly unit: string;
  difficulties(work: Share['work']): OfBoth;
  /** Expected number of tries. */
  tries(work: Share['work']): OfBoth;
  told(share: Share): ToldShare;
}

export interface OfBoth {
  readonly share: number;
  readonly block: number;
}

export interface ToldShare {
  /** The block's hash, as explorers show it. */
  readonly hash: string;
  readonly difficulty: number;
  /** The coin-specific fields of the `mined` event. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** For the log. */
  readonly figures: string;
}

/** Reports mining to the terminal and as events. */
export class Reporter<Share extends Mined> {
  readonly #output: Output;
  readonly #source: WorkSource<Share>;
  readonly #engine: Engine;
  readonly #terms: Terms<Share>;
  readonly #startedMs = performance.now();
  #server = '';
  #messages = 0;
  readonly #difficulties = new Throttle();
  readonly #refusals = new Throttle();

  constructor(output: Output, source: WorkSource<Share>, engine: Engine, terms: Terms<Share>) {
    this.#terms = terms;
    this.#output = output;
    this.#source = source;
    this.#engine = engine;
  }

  get hooks(): Pick<MinerOptions<Share>, 'onTold' | 'onSwitch' | 'onVerdict'> {
    return {
      onTold: (told) => this.#told(told),
      onSwitch: (work, isClean, ms) => this.#switched(work, isClean, ms),
      onVerdict: (share, verdict) => this.#judged(share, verdict),
    };
  }

  /** For the monitor. The odds are for blocks: a pool pays for a part of those. */
  watch(miner: Miner<Share>): Watched {
    const { name, unit, tries } = this.#terms;
    return {
      name,
      unit,
      progress: () => ({ done: miner.tally.tries }),
      devices: () => {
        // An item may be several tries, and not the same number in every work, so tries are split in proportion to items.
        const all = this.#engine.devices;
        const items = all.reduce((sum, device) => sum + device.items, 0n);
        const triesOf = (own: bigint): bigint => (items === 0n ? 0n : (miner.tally.tries * own) / items);
        return all.map((device) => ({ ...device, items: triesOf(device.items) }));
      },
      hits: () => miner.tally.counts.blocks,
      get chance() {
        return miner.work && 1 / tries(miner.work).block;
      },
      notes: () => this.#notes(miner),
    };
  }

  #notes({ tally, work }: Miner<Share>): Note[] {
    const { difficulties, tries } = this.#terms;
    const wrong = this.#engine.devices.reduce((sum, device) => sum + device.wrong + device.missed, 0);
    const { switchMs, longestSwitchMs = 0 } = tally;
    const mined = work && nameOf(work);
    const perSecond = Number(tally.tries) / ((performance.now() - this.#startedMs) / 1000);
    const due = work && perSecond > 0 ? `, one in about ${duration(tries(work).share / perSecond)}` : '';
    return [
      { label: 'server', text: this.#server === '' ? `${this.#source.name}, not connected` : this.#server },
      ...(work && mined !== undefined
        ? [
            {
              label: 'work',
              text: `${mined}, ${this.#source.unit}s of difficulty ${shown(difficulties(work).share)}${due}`,
            },
          ]
        : []),
      { label: `${this.#source.unit}s`, text: minedLine(tally, wrong) },
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

  #told({ state, server, message }: Told): void {
    const output = this.#output;
    if (state === 'message') {
      this.#messages += 1;
      if (this.#messages > MOST_MESSAGES) return;
    }
    // Each `work` event has its own difficulty.
    if (state === 'difficulty' && this.#difficulties.pass() === undefined) return;
    output.event('pool', { server, state, message });
    if (state === 'connected') this.#server = server;
    if (state === 'lost') this.#server = '';
    if (state === 'connected') output.say(`connected to ${server}: ${message}`);
    else if (state === 'difficulty') output.explain(`difficulty ${message}`);
    else if (state === 'message') output.say(`${server} says: ${message}`);
    else if (message.startsWith(server)) output.warn(message);
    else output.warn(`${server}: ${message}`);
  }

  #switched(work: Share['work'], isClean: boolean, ms: number): void {
    const { id, height } = work;
    const { share, block } = this.#terms.difficulties(work);
    this.#output.event('work', {
      id,
      height,
      clean: isClean,
      difficulty: share,
      blockDifficulty: block,
      switchSeconds: ms / 1000,
    });
    this.#output.explain(`${nameOf(work)}: begun in ${duration(ms / 1000)}`);
  }

  #judged(share: Share, { state, reason }: Verdict): void {
    const output = this.#output;
    const { work, isBlock } = share;
    const { id, height } = work;
    const { hash, difficulty, fields, figures } = this.#terms.told(share);
    output.event('mined', { state, reason, block: isBlock, work: id, height, hash, ...fields });
    output.diagnose?.(`share of ${id}: ${state}${reason === undefined ? '' : ` (${reason})`} ${figures}`);
    const what = isBlock ? `block${height === undefined ? '' : ` ${height}`}` : 'share';
    if (state !== 'accepted') this.#refused(`${what} ${state}: ${reason ?? 'no reason given'}`, isBlock);
    else if (isBlock) output.line(`${what}  ${hash}  ${output.style.good('accepted')}`);
    else output.explain(`share accepted: difficulty ${shown(difficulty)}`);
  }

  /** Warns of every rejected block, and of some rejected shares: there may be thousands. `mined` events have all. */
  #refused(text: string, isBlock: boolean): void {
    const dropped = isBlock ? 0 : this.#refusals.pass();
    if (dropped === undefined) return;
    this.#output.warn(dropped === 0 ? text : `${text} (and ${plural(dropped, 'more share')} before)`);
  }
}

/** The most server messages shown in one run; later ones are dropped. */
const MOST_MESSAGES = 100;

/** `12 accepted, 1 rejected (low difficulty 1), 0 stale, 0 hardware errors` */
export function minedLine({ counts, reasons }: Tally, hardwareErrors: number): string {
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

const shown = (difficulty: number): string =>
  difficulty >= 1000 ? difficulty.toExponential(3) : difficulty.toPrecision(4);

const nameOf = ({ id, height }: MinedWork): string => (height === undefined ? `job ${id}` : `height ${height}`);
