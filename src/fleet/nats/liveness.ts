import type { NatsConnection } from '@nats-io/transport-node';

/**
 * Whether a connection is up. NATS's client drops what is sent while it is down, and what was on its way, without a word:
 * a request would only end with its time limit.
 */
export class Liveness {
  readonly #connection: NatsConnection;
  #isUp = true;
  /** Called when the connection next goes down or comes up. */
  readonly #onDown = new Set<(error: Error) => void>();
  readonly #onUp = new Set<() => void>();

  constructor(connection: NatsConnection) {
    this.#connection = connection;
    void this.#watch();
  }

  /** Starts a request when the connection is up, but waits at most `waitMs`. Throws if it goes down before the answer. */
  async request<T>(start: () => Promise<T>, waitMs: number): Promise<T> {
    if (!this.#isUp) await this.#up(waitMs);
    let onDown: (error: Error) => void = () => undefined;
    const down = new Promise<never>((_, reject) => {
      onDown = reject;
      this.#onDown.add(onDown);
    });
    try {
      return await Promise.race([start(), down]);
    } finally {
      this.#onDown.delete(onDown);
    }
  }

  /** Calls `run` when the connection has come back. Returns a function that prevents it. */
  onceUp(run: () => void): () => void {
    const once = (): void => {
      this.#onUp.delete(once);
      run();
    };
    this.#onUp.add(once);
    return () => void this.#onUp.delete(once);
  }

  #up(waitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        unwatch();
        reject(lost());
      }, waitMs);
      const unwatch = this.onceUp(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type !== 'disconnect' && type !== 'reconnect' && type !== 'close') continue;
      this.#isUp = type === 'reconnect';
      if (this.#isUp) for (const up of this.#onUp) up();
      else for (const down of this.#onDown) down(lost());
    }
  }
}

const lost = (): Error => new Error('the connection to the server is lost');
