import { createServer, type Server, type Socket, connect as socketTo } from 'node:net';

/** A TCP proxy on loopback between a client and a server, with the faults of a network. */
export class TcpProxy {
  readonly #server: Server;
  readonly #target: () => number;
  readonly #links = new Set<readonly [Socket, Socket]>();
  #isCut = false;
  #held: Direction | undefined;
  #onRelease: (() => void)[] = [];
  /** Each piece waits for up to this long. */
  delayMs = 0;
  bytesPerMs = Infinity;
  /** After this many bytes the connection is reset, usually within a message. */
  tearAfter = Infinity;

  private constructor(target: () => number) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** `target` is asked for the server's port at each connection: it may have another one when it comes back. */
  static async start(target: () => number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    return `nats://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  }

  /** Resets connections and refuses new ones. */
  cut(): void {
    this.#isCut = true;
    this.#reset();
  }

  /** Half-open: bytes of a direction go nowhere, and neither side notices. */
  hold(direction: Direction): void {
    this.#held = direction;
  }

  /** Ends all faults. Held bytes arrive late, or are lost with their connection. */
  heal(late: 'late' | 'lost' = 'late'): void {
    this.#isCut = false;
    this.#held = undefined;
    this.delayMs = 0;
    this.bytesPerMs = Infinity;
    this.tearAfter = Infinity;
    if (late === 'lost') this.#reset();
    for (const release of this.#onRelease.splice(0)) release();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    if (this.#isCut) return void client.resetAndDestroy();
    const upstream = socketTo(this.#target(), '127.0.0.1');
    const link = [client, upstream] as const;
    this.#links.add(link);
    for (const socket of link) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined); // `close` follows
      socket.once('close', () => {
        this.#links.delete(link);
        for (const one of link) one.destroy();
      });
    }
    void this.#carry(client, upstream, 'up');
    void this.#carry(upstream, client, 'down');
  }

  async #carry(from: Socket, to: Socket, direction: Direction): Promise<void> {
    try {
      for await (const piece of from as AsyncIterable<Buffer>) {
        if (this.delayMs > 0) await pause(Math.random() * this.delayMs);
        while (this.#held === direction || this.#held === 'both')
          await new Promise<void>((resolve) => this.#onRelease.push(resolve));
        if (this.bytesPerMs < Infinity) await pause(piece.length / this.bytesPerMs);
        if (piece.length > this.tearAfter) {
          to.write(piece.subarray(0, this.tearAfter), () => this.#reset());
          return;
        }
        this.tearAfter -= piece.length;
        if (!to.write(piece)) await new Promise((resolve) => to.once('drain', resolve).once('close', resolve));
      }
    } catch {
      // the connection is gone
    }
    to.destroy();
  }

  #reset(): void {
    for (const [client, upstream] of this.#links) {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    }
  }
}

/** `up`: from the client to the server. */
export type Direction = 'up' | 'down' | 'both';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
