import { createHash, X509Certificate } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { fromSeed } from '@nats-io/jwt';
import type { Invite } from '../../src/fleet/nats/index.js';

/** A client that speaks NATS's protocol by hand, so that it can send what a real one would not. */
export class RawClient {
  readonly #socket: Socket;
  /** What the server has sent. */
  text = '';
  /** Resolves when the server has ended the connection. */
  readonly ended: Promise<void>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.text = (this.text + bytes.toString('latin1')).slice(-10_000);
    });
    socket.on('error', () => undefined);
    this.ended = new Promise((resolve) => void socket.once('close', () => resolve()));
  }

  /** Connects, with the invite's user unless `isAnonymous`. */
  static async connect({ url, ca = '', jwt, seed }: Invite, isAnonymous = false): Promise<RawClient> {
    const { socket, info } = await greeted(url);
    const secured = connectTls({ socket, ca: pemOf(ca), host: '127.0.0.1' });
    await new Promise<void>((resolve, reject) => {
      secured.once('secureConnect', resolve);
      secured.once('error', reject);
    });
    const client = new RawClient(secured);
    const options = { verbose: false, pedantic: false, lang: 'raw', version: '1', protocol: 1, headers: true };
    const key = fromSeed(new TextEncoder().encode(seed));
    const sig = Buffer.from(key.sign(new TextEncoder().encode(String(info.nonce)))).toString('base64url');
    const user = isAnonymous ? {} : { jwt, sig };
    client.send(`CONNECT ${JSON.stringify({ ...options, ...user })}\r\nPING\r\n`);
    await client.reads(/PONG|-ERR/);
    return client;
  }

  send(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Waits until what the server has sent matches. */
  async reads(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.text) && !this.#socket.closed)
      await new Promise<void>((resolve) => {
        const done = (): void => {
          this.#socket.off('data', done).off('close', done);
          resolve();
        };
        this.#socket.once('data', done).once('close', done);
      });
    return this.text;
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Connects without TLS and reads the server's first line. */
export async function greeted(url: string): Promise<{ readonly socket: Socket; readonly info: Info }> {
  const { hostname, port } = new URL(url);
  const socket = connectTcp(Number(port), hostname);
  const line = await new Promise<string>((resolve, reject) => {
    socket.once('data', (bytes) => resolve(bytes.toString()));
    socket.once('error', reject);
  });
  return { socket, info: JSON.parse(line.slice('INFO '.length)) as Info };
}

interface Info {
  readonly nonce?: string;
  readonly tls_required?: boolean;
}

const pemOf = (der: string): string => new X509Certificate(Buffer.from(der, 'base64')).toString();

/** Asks a server for a WebSocket from a page of an origin. Returns the status of its answer. */
export async function upgrade(url: string, origin: string, ca: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connectTls({ host: hostname, port: Number(port), ca: pemOf(ca) });
  const key = createHash('sha1').update(origin).digest().subarray(0, 16).toString('base64');
  socket.write(
    [
      'GET / HTTP/1.1',
      `Host: ${hostname}:${port}`,
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Key: ${key}`,
      'Sec-WebSocket-Version: 13',
      `Origin: ${origin}`,
      '',
      '',
    ].join('\r\n'),
  );
  const answer = await new Promise<string>((resolve, reject) => {
    socket.once('data', (bytes) => resolve(bytes.toString('latin1')));
    socket.once('error', reject);
  });
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
}
