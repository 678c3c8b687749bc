import type { LineCompletion } from '../../completion.js';
import type { Report } from '../../device.js';
import type { TurnShare } from '../../turn.js';
import { Kind } from '../wire/commands.js';
import { Fifo } from '../wire/fifo.js';
import type { Lane } from './lane.js';
import { Stage, type StagedRead, type StageOwner } from './stage.js';

/** How a mark ended. */
export type End = { readonly report: Report } | { readonly error: Error };

/** A mark on its way, with what is let go of when it has passed. */
interface Sent {
  /** Undefined for a mark that only notes how far things are. */
  readonly completion: LineCompletion | undefined;
  readonly number: number;
  /** Arrays that commands use by their address. */
  readonly held: readonly unknown[];
  readonly reads: Fifo<StagedRead> | undefined;
  readonly staged: number;
  end: End | undefined;
}

/** The main thread's side of one stream: what commands hold until a mark has passed, and the marks themselves. */
export class Queue implements StageOwner {
  readonly lane: Lane;
  readonly share: TurnShare;
  readonly announce: StageOwner['announce'];
  readonly #unsettled = new Set<LineCompletion>();
  readonly #sent = new Fifo<Sent>();
  #stage: Stage | undefined;
  #held: unknown[] = [];
  #reads: Fifo<StagedRead> | undefined;
  /** Marks noted, modulo 2^32, and how far the stage had been used at the last mark of either sort. */
  #notes: number;
  #covered = 0;

  /** `notes`: how many earlier streams noted on this line. */
  constructor(lane: Lane, share: TurnShare, announce: StageOwner['announce'], notes: number) {
    this.lane = lane;
    this.share = share;
    this.announce = announce;
    this.#notes = notes;
  }

  /** Marks that have not settled, or commands that are not on their way yet: reasons to stay. */
  get busy(): boolean {
    return this.#unsettled.size > 0 || this.lane.spilling;
  }

  get notes(): number {
    return this.#notes;
  }

  /** For transfers that the worker cannot do by itself. */
  get stage(): Stage {
    this.#stage ??= new Stage(this);
    return this.#stage;
  }

  /** The number of the memory that the stage is in, once the worker knows it. */
  get shared(): number | undefined {
    return this.#stage?.number;
  }

  /** Keeps it until a later mark has passed. */
  hold(data: unknown): void {
    this.#held.push(data);
  }

  mark(completion: LineCompletion): void {
    const held = this.#held;
    this.#held = [];
    this.#unsettled.add(completion);
    this.lane.later(() => this.#send(completion, completion.number, held));
  }

  note(): boolean {
    if (this.#covered === this.#stage?.position) return true;
    const number = (this.#notes + 1) | 0;
    if (!this.#send(undefined, number, [])) return false;
    this.#notes = number;
    return true;
  }

  expect(read: StagedRead): void {
    this.#reads ??= new Fifo();
    this.#reads.push(read);
  }

  /** The mark of this number, asked for or noted, has ended. */
  settle(role: 'asked' | 'noted', number: number, end: End): void {
    for (const sent of this.#sent) {
      if (sent.number !== number || (sent.completion ? 'asked' : 'noted') !== role) continue;
      sent.end = end;
      break;
    }
    this.advance();
  }

  /** Settles marks in their order, as far as their bytes have been handed over; then moves up what was kept. */
  advance(): void {
    for (let sent = this.#sent.first; sent?.end; sent = this.#sent.first) {
      if (!this.#deliver(sent)) return;
      this.#sent.shift();
      this.#stage?.release(sent.staged);
      if (!sent.completion) continue;
      this.#unsettled.delete(sent.completion);
      if ('error' in sent.end) sent.completion.fail(sent.end.error);
      else sent.completion.pass(sent.end.report);
    }
    this.lane.flush();
    if (!this.lane.spilling) return;
    this.lane.wantRoom();
    this.lane.flush();
  }

  /** Everything unsettled fails. What commands hold is kept: the worker may still be at it. */
  fail(error: Error): void {
    for (const completion of this.#unsettled) completion.fail(error);
    this.#unsettled.clear();
  }

  #send(completion: LineCompletion | undefined, number: number, held: readonly unknown[]): boolean {
    if (!this.lane.hasRoom(0)) return false;
    this.lane.begin(completion ? Kind.mark : Kind.note, 0);
    this.lane.send();
    const staged = this.#stage?.position ?? 0;
    this.#sent.push({ completion, number, held, reads: this.#reads, staged, end: undefined });
    this.#reads = undefined;
    this.#covered = staged;
    return true;
  }

  #deliver({ reads, end }: Sent): boolean {
    if (end && 'error' in end) return true;
    for (let read = reads?.first; read; read = reads?.first) {
      if (!this.#stage?.deliver(read)) return false;
      reads?.shift();
    }
    return true;
  }
}
