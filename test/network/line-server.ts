import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

export type Raw = { id?: unknown; method?: string; params?: unknown[]; result?: unknown };

/** Handles a client's message in place of the server. Returns true if the server should not answer as well. */
export type Misdeed = (message: Raw, client: Client) => boolean;

/** A server on loopback for lines of JSON, whose misbehaviour tests can set. */
export abstract class LineServer {
  readonly refused: string[] = [];
  readonly lines: Raw[] = [];
  readonly clients = new Set<Client>();
  readonly #watchers = new Set<() => void>();
  misdeed: Misdeed = () => false;
  connections = 0;
  #server: Server | undefined;
  #port = 0;

  protected abstract answer(message: Raw, client: Client): void;

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `stratum+tcp://127.0.0.1:${this.#port}`;
  }

  async listen(tls?: { readonly key: string; readonly cert: string }): Promise<this> {
    const connected = (socket: Socket): void => {
      this.connections += 1;
      const client = new Client(socket, (message) => this.#hear(message, client));
      this.clients.add(client);
      socket.on('close', () => this.clients.delete(client));
      this.stir();
    };
    const server = tls ? createTlsServer(tls, connected) : createServer(connected);
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    return this;
  }

  async close(): Promise<void> {
    for (const client of this.clients) client.socket.destroy();
    const server = this.#server;
    this.#server = undefined;
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  /** Resolves as soon as the condition holds. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#watchers.add(resolve);
      });
    }
  }

  /** Wakes the waiting `until` calls, which check their conditions again. */
  protected stir(): void {
    for (const wake of this.#watchers) wake();
    this.#watchers.clear();
  }

  #hear(message: Raw, client: Client): void {
    this.lines.push(message);
    if (!this.misdeed(message, client)) this.answer(message, client);
    this.stir();
  }
}

/** One connection, as the server sees it. */
export class Client {
  readonly socket: Socket;
  constructor(socket: Socket, onMessage: (message: Raw) => void) {
    this.socket = socket;
    let partial = '';
    socket.on('error', () => undefined);
    socket.on('data', (piece) => {
      partial += piece.toString('utf8');
      const lines = partial.split('\n');
      partial = lines.pop() ?? '';
      // A connection that a message has ended hears no more, even of the same piece.
      for (const line of lines) if (!socket.destroyed) onMessage(JSON.parse(line) as Raw);
    });
  }
  send(message: unknown): void {
    this.socket.write(`${JSON.stringify(message)}\n`);
  }
  /** Sends the number exactly as written. */
  difficulty(text: string): void {
    this.socket.write(`{"id":null,"method":"mining.set_difficulty","params":[${text}]}\n`);
  }
}
