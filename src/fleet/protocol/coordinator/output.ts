import type { CoordinatorEffect } from '../events.js';
import type { Broadcast, CoordinatorMessage, WorkerId } from '../messages.js';

/** What the coordinator asks for while it handles an event, and when that is. */
export class Output {
  readonly term: number;
  #now: number;
  #effects: CoordinatorEffect[] = [];
  #revision = 0;

  constructor(term: number, now: number) {
    this.term = term;
    this.#now = now;
  }

  /** The time of the event. It never goes back. */
  get now(): number {
    return this.#now;
  }

  get effects(): CoordinatorEffect[] {
    return this.#effects;
  }

  /** Changes with everything that a view shows, except for the time of the last message. */
  get revision(): number {
    return this.#revision;
  }

  /** An event begins. */
  begin(now: number): void {
    this.#now = Math.max(this.#now, now);
    this.#effects = [];
  }

  /** Something that a view shows has changed. */
  noteChange(): void {
    this.#revision++;
  }

  push(effect: CoordinatorEffect): void {
    this.#effects.push(effect);
  }

  send(to: WorkerId, message: CoordinatorMessage): void {
    this.push({ kind: 'send', to, message });
  }

  /** Tells a worker that its results of these numbers need not be kept. */
  confirm(to: WorkerId, numbers: readonly number[]): void {
    this.send(to, { kind: 'committed', term: this.term, numbers, refused: [] });
  }

  broadcast(message: Broadcast): void {
    this.push({ kind: 'broadcast', message });
  }
}
