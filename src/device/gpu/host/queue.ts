import type { LineCompletion } from '../../completion.js';
import type { Report } from '../../device.js';
import type { TurnShare } from '../../turn.js';
import { Kind } from '../wire/commands.js';
import { Fifo } from '../wire/fifo.js';
import type { Lane } from './lane.js';
import { Stage, type StagedRead, type StageOwner } from './stage.js';

/** How a mark ended. */
export type End = { readonly report: Report } | { readonly error: Error };

/** A mark in flight, and what is released when it has passed. */
interface Sent {
  /** Undefined for a note: a mark that only tracks progress. */
  readonly completion: LineCompletion | undefined;
  readonly number: number;
  /** Arrays that commands use by their address. */
  readonly held: readonly unknown[];
  readonly reads: Fifo<StagedRead> | undefined;
  readonly staged: number;
  end: End | undefined;
}

/** The main thread's side of one stream: the marks, and what commands hold until a mark has passed. */
export class Queue implements StageOwner {
  readonly lane: Lane;
  readonly share: TurnShare;
  readonly announce: StageOwner['announce'];
  readonly #unsettled = new Set<LineCompletion>();
  readonly #sent = new Fifo<Sent>();
  #stage: Stage | undefined;
  #held: unknown[] = [];
  #reads: Fifo<StagedRead> | undefined;
  /** Notes sent, modulo 2^32, and the stage's position at the last mark or note. */
  #notes: number;
  #covered = 0;

  /** `notes`: the number of notes that earlier streams sent on this line. */
  constructor(lane: Lane, share: TurnShare, announce: StageOwner['announce'], notes: number) {
    this.lane = lane;
    this.share = share;
    this.announce = announce;
    this.#notes = notes;
  }

  /** True if a mark has not settled or a command has not been sent yet: the process must stay alive. */
  get busy(): boolean {
    return this.#unsettled.size > 0 || this.lane.spilling;
  }

  get notes(): number {
    return this.#notes;
  }

  /** The stage, for transfers that the worker cannot do by itself. */
  get stage(): Stage {
    this.#stage ??= new Stage(this);
    return this.#stage;
  }

  /** The number of the stage's memory, once the worker knows it. */
  get shared(): number | undefined {
    return this.#stage?.number;
  }

  /** Keeps `data` until a later mark has passed. */
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

  /** Records the end of a mark (asked) or note (noted) with this number. */
  settle(role: 'asked' | 'noted', number: number, end: End): void {
    for (const sent of this.#sent) {
      if (sent.number !== number || (sent.completion ? 'asked' : 'noted') !== role) continue;
      sent.end = end;
      break;
    }
    this.advance();
  }

  /** Settles marks in order, as far as their bytes have been delivered; then sends what was kept. */
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

  /** Fails all unsettled marks. Keeps what commands hold: the worker may still be using it. */
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
