import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RegtestChain } from './chain.js';

/** What a node does instead of answering a call; `undefined`: nothing unusual. */
export type Misdeed = (
  method: string,
  call: number,
  response: ServerResponse,
) => 'done' | { readonly result: unknown } | { readonly error: unknown; readonly status?: number } | undefined;

/** A node with a chain behind it: JSON-RPC over HTTP on loopback, with long poll and credentials. */
export class NodeServer {
  readonly chain: RegtestChain;
  readonly calls: string[] = [];
  name = 'regtest';
  credentials = 'miner:sesame-1234';
  misdeed: Misdeed = () => undefined;
  #server: Server | undefined;
  #polls: (() => void)[] = [];
  #port = 0;

  constructor(chain: RegtestChain) {
    this.chain = chain;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<this> {
    const server = createServer((request, response) => void this.#answer(request, response));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    return this;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#polls = [];
    await new Promise<void>((resolve) => {
      if (!server) return resolve();
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  /** Something has changed: whoever polls is answered. */
  changed(): void {
    for (const poll of this.#polls.splice(0)) poll();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const basic = `Basic ${Buffer.from(this.credentials).toString('base64')}`;
    if (request.headers.authorization !== basic) {
      response.writeHead(401).end();
      return;
    }
    const { id, method, params } = JSON.parse(Buffer.concat(parts).toString()) as {
      id: number;
      method: string;
      params: unknown[];
    };
    this.calls.push(method);
    const odd = this.misdeed(method, this.calls.length, response);
    if (odd === 'done') return;
    if (odd) {
      const status = 'error' in odd ? (odd.status ?? 200) : 200;
      const answer = { id, result: null, error: null, ...odd, status: undefined };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      return;
    }
    const result = await this.#call(method, params);
    if (!response.destroyed) response.end(JSON.stringify({ result, error: null, id }));
  }

  async #call(method: string, [given]: unknown[]): Promise<unknown> {
    if (method === 'getblockchaininfo') return { chain: this.name, blocks: this.chain.height };
    if (method === 'submitblock') {
      const why = this.chain.submit(given as string);
      if (why === null) this.changed();
      return why;
    }
    const { rules, longpollid } = given as { rules: string[]; longpollid?: string };
    if (!rules.includes('segwit')) throw new Error('no segwit');
    const template = this.chain.template();
    if (longpollid !== template.longpollid) return template;
    await new Promise<void>((resolve) => this.#polls.push(resolve));
    return this.chain.template();
  }
}
