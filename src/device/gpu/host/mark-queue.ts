import type { LineCompletion } from '../../completion.js';
import type { Report } from '../../device.js';
import type { TurnBudget } from '../../turn.js';
import { CommandKind } from '../wire/commands.js';
import { Fifo } from '../wire/fifo.js';
import type { CommandWriter } from './command-writer.js';
import { type StagedRead, type StagingOwner, StagingRing } from './staging-ring.js';

/** How a mark ended. */
export type MarkOutcome = { readonly report: Report } | { readonly error: Error };

/** A mark in flight, and the data that is released when it has completed. */
interface SentMark {
  /** Undefined for a note: a mark that only tracks progress. */
  readonly completion: LineCompletion | undefined;
  readonly number: number;
  /** Arrays that commands use by their address. */
  readonly heldData: readonly unknown[];
  readonly reads: Fifo<StagedRead> | undefined;
  readonly stagedPosition: number;
  outcome: MarkOutcome | undefined;
}

/** The main thread's side of one stream: the marks, and the data that commands hold until a mark has completed. */
export class MarkQueue implements StagingOwner {
  readonly writer: CommandWriter;
  readonly turnBudget: TurnBudget;
  readonly shareMemory: StagingOwner['shareMemory'];
  readonly #unsettled = new Set<LineCompletion>();
  readonly #sent = new Fifo<SentMark>();
  #staging: StagingRing | undefined;
  #heldData: unknown[] = [];
  #reads: Fifo<StagedRead> | undefined;
  /** Notes sent, modulo 2^32, and the staging ring's position at the last mark or note. */
  #notes: number;
  #notedPosition = 0;

  /** `notes`: the number of notes that earlier streams sent on this line. */
  constructor(writer: CommandWriter, turnBudget: TurnBudget, shareMemory: StagingOwner['shareMemory'], notes: number) {
    this.writer = writer;
    this.turnBudget = turnBudget;
    this.shareMemory = shareMemory;
    this.#notes = notes;
  }

  /** True if a mark has not settled or a command has not been sent yet: the process must stay alive. */
  get isBusy(): boolean {
    return this.#unsettled.size > 0 || this.writer.hasOverflow;
  }

  get notes(): number {
    return this.#notes;
  }

  /** For transfers that the worker cannot do by itself. */
  get staging(): StagingRing {
    this.#staging ??= new StagingRing(this);
    return this.#staging;
  }

  /** The number of the staging ring's memory, once the worker has it. */
  get stagingNumber(): number | undefined {
    return this.#staging?.number;
  }

  /** Keeps `data` until a later mark has completed. */
  hold(data: unknown): void {
    this.#heldData.push(data);
  }

  mark(completion: LineCompletion): void {
    const heldData = this.#heldData;
    this.#heldData = [];
    this.#unsettled.add(completion);
    this.writer.sendInOrder(() => this.#send(completion, completion.number, heldData));
  }

  sendNote(): boolean {
    if (this.#notedPosition === this.#staging?.position) return true;
    const number = (this.#notes + 1) | 0;
    if (!this.#send(undefined, number, [])) return false;
    this.#notes = number;
    return true;
  }

  expectRead(read: StagedRead): void {
    this.#reads ??= new Fifo();
    this.#reads.push(read);
  }

  /** Records the end of a mark (asked) or note (noted) with this number. */
  settle(role: 'asked' | 'noted', number: number, end: MarkOutcome): void {
    for (const sent of this.#sent) {
      if (sent.number !== number || (sent.completion ? 'asked' : 'noted') !== role) continue;
      sent.outcome = end;
      break;
    }
    this.advance();
  }

  /** Settles marks in order, as far as their bytes have been delivered; then sends what was kept. */
  advance(): void {
    for (let sent = this.#sent.first; sent?.outcome; sent = this.#sent.first) {
      if (!this.#deliver(sent)) return;
      this.#sent.shift();
      this.#staging?.release(sent.stagedPosition);
      if (!sent.completion) continue;
      this.#unsettled.delete(sent.completion);
      if ('error' in sent.outcome) sent.completion.reject(sent.outcome.error);
      else sent.completion.resolve(sent.outcome.report);
    }
    this.writer.flush();
    if (!this.writer.hasOverflow) return;
    this.writer.requestSpaceNotice();
    this.writer.flush();
  }

  /** Fails all unsettled marks. Keeps what commands hold: the worker may still be using it. */
  fail(error: Error): void {
    for (const completion of this.#unsettled) completion.reject(error);
    this.#unsettled.clear();
  }

  #send(completion: LineCompletion | undefined, number: number, heldData: readonly unknown[]): boolean {
    if (!this.writer.hasSpace(0)) return false;
    this.writer.begin(completion ? CommandKind.mark : CommandKind.note, 0);
    this.writer.send();
    const stagedPosition = this.#staging?.position ?? 0;
    this.#sent.push({ completion, number, heldData, reads: this.#reads, stagedPosition, outcome: undefined });
    this.#reads = undefined;
    this.#notedPosition = stagedPosition;
    return true;
  }

  #deliver({ reads, outcome }: SentMark): boolean {
    if (outcome && 'error' in outcome) return true;
    for (let read = reads?.first; read; read = reads?.first) {
      if (!this.#staging?.deliver(read)) return false;
      reads?.shift();
    }
    return true;
  }
}
