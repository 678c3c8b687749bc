import { duration, plural } from '../../../console/format.js';
import type { Output } from '../../../console/output.js';
import type { Note, Watched } from '../../../console/status.js';
import type { Engine } from '../../../engine/index.js';
import { targetText } from '../reference.js';
import { difficultyOf, hashesFor } from './difficulty.js';
import type { Miner, MinerOptions } from './miner.js';
import type { Share } from './scan-work.js';
import type { Told, Verdict, WorkSource } from './source.js';
import type { Tally } from './tally.js';
import { extranonceText, type Work } from './work.js';

/** Tells people and programs how mining goes. */
export class Reporter {
  readonly #output: Output;
  readonly #source: WorkSource;
  readonly #engine: Engine;
  readonly #startedMs = performance.now();
  #server = '';
  #messages = 0;

  constructor(output: Output, source: WorkSource, engine: Engine) {
    this.#output = output;
    this.#source = source;
    this.#engine = engine;
  }

  get hooks(): Pick<MinerOptions, 'onTold' | 'onSwitch' | 'onVerdict'> {
    return {
      onTold: (told) => this.#told(told),
      onSwitch: (work, isClean, ms) => this.#switched(work, isClean, ms),
      onVerdict: (share, verdict) => this.#judged(share, verdict),
    };
  }

  /** For the monitor. Odds are about blocks: what a pool pays for is a share of those. */
  watch(miner: Miner): Watched {
    return {
      name: 'block mine',
      unit: 'H',
      progress: () => ({ done: miner.tally.hashes }),
      devices: () => {
        // An item may try several versions, not the same number in every work: its part of all headers is what counts.
        const all = this.#engine.devices;
        const items = all.reduce((sum, device) => sum + device.items, 0n);
        const hashesOf = (own: bigint): bigint => (items === 0n ? 0n : (miner.tally.hashes * own) / items);
        return all.map((device) => ({ ...device, items: hashesOf(device.items) }));
      },
      hits: () => miner.tally.counts.blocks,
      get chance() {
        return miner.work === undefined ? 0 : 1 / hashesFor(miner.work.blockTarget);
      },
      notes: () => this.#notes(miner),
    };
  }

  #notes({ tally, work }: Miner): Note[] {
    const wrong = this.#engine.devices.reduce((sum, device) => sum + device.wrong + device.missed, 0);
    const { switchMs, longestSwitchMs = 0 } = tally;
    const mined = work?.height === undefined ? work && `job ${work.id}` : `height ${work.height}`;
    const perSecond = Number(tally.hashes) / ((performance.now() - this.#startedMs) / 1000);
    const due = work && perSecond > 0 ? `, one in about ${duration(hashesFor(work.target) / perSecond)}` : '';
    return [
      { label: 'server', text: this.#server === '' ? `${this.#source.name}, not connected` : this.#server },
      ...(work && mined !== undefined
        ? [
            {
              label: 'work',
              text: `${mined}, ${this.#source.unit}s of difficulty ${shown(difficultyOf(work.target))}${due}`,
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
    output.event('pool', { server, state, message });
    if (state === 'connected') this.#server = server;
    if (state === 'lost') this.#server = '';
    if (state === 'connected') output.say(`connected to ${server}: ${message}`);
    else if (state === 'difficulty') output.explain(`difficulty ${message}`);
    else if (state === 'message') output.say(`${server} says: ${message}`);
    else if (message.startsWith(server)) output.warn(message);
    else output.warn(`${server}: ${message}`);
  }

  #switched(work: Work, isClean: boolean, ms: number): void {
    const { id, height, target, blockTarget } = work;
    this.#output.event('work', {
      id,
      height,
      clean: isClean,
      difficulty: difficultyOf(target),
      blockDifficulty: difficultyOf(blockTarget),
      switchSeconds: ms / 1000,
    });
    this.#output.explain(`${height === undefined ? `job ${id}` : `height ${height}`}: begun in ${duration(ms / 1000)}`);
  }

  #judged(share: Share, { state, reason }: Verdict): void {
    const output = this.#output;
    const { work, hash, isBlock, nonce, version, time, extranonce } = share;
    const { id, height, extranonceBytes } = work;
    output.event('mined', {
      state,
      reason,
      block: isBlock,
      work: id,
      height,
      hash,
      nonce,
      version,
      time,
      extranonce: extranonceText(extranonce, extranonceBytes),
    });
    const worth = difficultyOf(BigInt(`0x${hash}`));
    const ratio = (worth / difficultyOf(work.target)).toFixed(6);
    const figures = `hash ${hash} target ${targetText(work.target)} difficulty ${worth} ratio ${ratio}`;
    output.diagnose?.(`share of ${id}: ${state}${reason === undefined ? '' : ` (${reason})`} ${figures}`);
    const what = isBlock ? `block${height === undefined ? '' : ` ${height}`}` : 'share';
    if (state !== 'accepted') output.warn(`${what} ${state}: ${reason ?? 'no reason given'}`);
    else if (isBlock) output.line(`${what}  ${hash}  ${output.style.good('accepted')}`);
    else output.explain(`share accepted: difficulty ${shown(worth)}`);
  }
}

/** A server's own words that are shown in one run; one that talks without end is not listened to. */
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
