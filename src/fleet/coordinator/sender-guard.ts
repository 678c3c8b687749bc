/**
 * Limits what each user sends, so that one that floods costs the others nothing. Messages past the limit are dropped, which the
 * protocol repairs; a user that goes on is handed to `flooded`.
 */
export class SenderGuard {
  readonly #options: SenderGuardOptions;
  readonly #senders = new Map<string, Sender>();

  constructor(options: SenderGuardOptions) {
    this.#options = options;
  }

  /** True if a message of this size may be read. */
  admits(user: string, bytes: number): boolean {
    return this.#take(user, 1 + bytes / UNIT_BYTES);
  }

  /** Tells of a message that cannot be read, or is not the user's to send. It counts as many: honest programs send none. */
  complain(user: string, message: string): void {
    this.#take(user, FAULT_COST);
    this.tell(user, message);
  }

  /** Warns of a message that does not count against its sender. */
  tell(user: string, message: string): void {
    const sender = this.#sender(user);
    const now = this.#options.now();
    if (now < sender.quietUntil) return;
    sender.quietUntil = now + QUIET_MS;
    this.#options.warn(message);
  }

  #take(user: string, cost: number): boolean {
    const sender = this.#sender(user);
    const now = this.#options.now();
    sender.level = Math.max(0, sender.level - ((now - sender.at) / 1000) * PER_SECOND);
    sender.at = now;
    if (sender.level < BURST) {
      sender.level += cost;
      return true;
    }
    sender.dropped += cost;
    if (sender.dropped >= FLOOD && !sender.isFlooding) {
      sender.isFlooding = true;
      this.#options.flooded(user);
    }
    return false;
  }

  #sender(user: string): Sender {
    let sender = this.#senders.get(user);
    if (sender === undefined) {
      sender = { level: 0, at: this.#options.now(), dropped: 0, quietUntil: 0, isFlooding: false };
      this.#senders.set(user, sender);
    }
    return sender;
  }
}

export interface SenderGuardOptions {
  /** Milliseconds. */
  readonly now: () => number;
  readonly warn: (message: string) => void;
  /** Called once for each user that goes on far past its limit. */
  readonly flooded: (user: string) => void;
}

interface Sender {
  /** What it has sent and time has not worked off. */
  level: number;
  at: number;
  /** What was dropped. */
  dropped: number;
  quietUntil: number;
  isFlooding: boolean;
}

/** A message counts one, and one more for each of these. */
const UNIT_BYTES = 4096;
/** 1,000 workers with one invite send 500 heartbeats per second, each of which takes the coordinator 0.13 ms. */
const PER_SECOND = 1_000;
const BURST = 3_000;
const FLOOD = 5_000;
const FAULT_COST = 100;
/** A user's faults are told this often. */
const QUIET_MS = 10_000;
