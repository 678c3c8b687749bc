import { firstLine } from '../../kernel/error.js';
import { type Bus, replacedError, type StoredResult } from '../nats/index.js';
import {
  type CoordinatorEvent,
  decodeCoordinatorMessage,
  decodeResult,
  decodeWorkerMessage,
  encodeMessage,
  type ProtocolVersions,
  senderOfOtherVersion,
} from '../protocol/index.js';
import type { AccessControl } from './access-control.js';
import { SenderGuard } from './sender-guard.js';
import { ADMIN, checkSender, isOf } from './worker-names.js';

export interface MessageReaderOptions {
  readonly bus: Bus;
  readonly access: AccessControl;
  readonly term: number;
  readonly versions: ProtocolVersions;
  /** Milliseconds. */
  readonly now: () => number;
  readonly handle: (event: CoordinatorEvent) => void;
  /** Another coordinator has taken over. */
  readonly replaced: (error: Error) => void;
  /** A user sends far too much. */
  readonly flooded: (user: string) => void;
  readonly warn: (message: string) => void;
}

/** Reads what users send: a message counts if its sender may send it, and results until they are acknowledged. */
export class MessageReader {
  readonly #options: MessageReaderOptions;
  readonly #guard: SenderGuard;
  readonly #results = new Map<number, StoredResult>();
  #receipts = 0;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
    const { now, warn, flooded } = options;
    this.#guard = new SenderGuard({ now, warn, flooded });
  }

  /** Users that are revoked, or send too much, are not heard. */
  hears(user: string, bytes: number): boolean {
    return !this.#options.access.isRevoked(user) && (user === ADMIN || this.#guard.admits(user, bytes));
  }

  receive(bytes: Uint8Array, user: string): void {
    if (!this.hears(user, bytes.length)) return;
    const { handle, versions } = this.#options;
    try {
      const message = decodeWorkerMessage(bytes, versions);
      checkSender(user, message.worker);
      handle({ kind: 'message', message });
    } catch (error) {
      this.#refuse(bytes, user, error);
    }
  }

  /** Broadcasts, which are this coordinator's own unless another one has taken over. */
  overhear(bytes: Uint8Array): void {
    const { versions, term, replaced, warn } = this.#options;
    try {
      if (decodeCoordinatorMessage(bytes, versions).term > term) replaced(replacedError());
    } catch (error) {
      warn(firstLine(error));
    }
  }

  takeResult(stored: StoredResult): void {
    const receipt = ++this.#receipts;
    if (!this.hears(stored.user, stored.bytes.length)) {
      stored.acknowledge(); // its worker sends it again
      return;
    }
    const { handle, versions } = this.#options;
    try {
      const result = decodeResult(stored.bytes, versions);
      checkSender(stored.user, result.worker);
      this.#results.set(receipt, stored);
      handle({ kind: 'result', receipt, result });
    } catch (error) {
      stored.acknowledge(); // it will not become readable
      this.#refuse(stored.bytes, stored.user, error);
    }
  }

  /** Results are in the ledger, or are not needed. */
  acknowledge(receipts: readonly number[]): void {
    for (const receipt of receipts) this.#results.get(receipt)?.acknowledge();
    for (const receipt of receipts) this.#results.delete(receipt);
  }

  /** Any message from here is of this version, so the reader of a worker of another version tells it so. */
  #refuse(bytes: Uint8Array, user: string, error: unknown): void {
    const { bus, term, versions } = this.#options;
    const message = `${user}: ${firstLine(error)}`;
    const worker = senderOfOtherVersion(bytes, versions);
    if (worker === undefined || !isOf(user, worker)) this.#guard.complain(user, message);
    else {
      this.#guard.tell(user, message);
      bus.publish(`to.${worker}`, encodeMessage({ kind: 'announce', term }, versions.current));
    }
  }
}
