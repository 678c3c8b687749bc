import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** The chain behind a node. */
export interface NodeChain {
  readonly height: number;
  /** As getblocktemplate gives it. */
  template(): Record<string, unknown>;
  /** Returns null, or the reason for rejection. */
  submit(hex: string): string | null;
  /** Returns work, or with data whether it is a block. If undefined, the node does not know the method. */
  getwork?(data?: string): unknown;
}

/** Replaces the node's answer to a call; `undefined`: the usual answer. */
export type Misdeed = (
  method: string,
  call: number,
  response: ServerResponse,
  params: readonly unknown[],
) => 'done' | { readonly result: unknown } | { readonly error: unknown; readonly status?: number } | undefined;

/** A node with a chain behind it: JSON-RPC over HTTP on loopback, with long poll and credentials. */
export class NodeServer<Chain extends NodeChain> {
  readonly chain: Chain;
  readonly calls: string[] = [];
  readonly paths: string[] = [];
  name = 'regtest';
  credentials = 'miner:sesame-1234';
  misdeed: Misdeed = () => undefined;
  #server: Server | undefined;
  #polls: (() => void)[] = [];
  #port = 0;
  #isTls = false;
  /** The path for getwork's long polls; undefined: none. */
  longPolling: string | undefined;

  constructor(chain: Chain) {
    this.chain = chain;
  }

  get url(): string {
    return `${this.#isTls ? 'https' : 'http'}://127.0.0.1:${this.#port}`;
  }

  async listen(tls?: { readonly key: string; readonly cert: string }): Promise<this> {
    const answer = (request: IncomingMessage, response: ServerResponse): void => void this.#answer(request, response);
    this.#isTls = tls !== undefined;
    const server = tls ? createTlsServer(tls, answer) : createServer(answer);
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

  /** Answers all pending polls. */
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
    this.paths.push(request.url ?? '');
    const odd = this.misdeed(method, this.calls.length, response, params);
    if (odd === 'done') return;
    if (odd) {
      const status = 'error' in odd ? (odd.status ?? 200) : 200;
      const answer = { id, result: null, error: null, ...odd, status: undefined };
      response.writeHead(status, { 'content-type': 'application/json' }).end(exactJson(answer));
      return;
    }
    if (method === 'getwork' && !this.chain.getwork) {
      response
        .writeHead(404)
        .end(JSON.stringify({ id, result: null, error: { code: -32601, message: 'Method not found' } }));
      return;
    }
    const result = await this.#call(method, params, request.url ?? '/');
    if (this.longPolling !== undefined) response.setHeader('X-Long-Polling', this.longPolling);
    if (!response.destroyed) response.end(exactJson({ result, error: null, id }));
  }

  async #call(method: string, [param]: unknown[], path: string): Promise<unknown> {
    if (method === 'getblockchaininfo') return { chain: this.name, blocks: this.chain.height };
    if (method === 'submitblock') {
      const why = this.chain.submit(param as string);
      if (why === null) this.changed();
      return why;
    }
    if (method === 'getwork') {
      const before = this.chain.height;
      if (param === undefined && path !== '/') await new Promise<void>((resolve) => this.#polls.push(resolve));
      const answer = this.chain.getwork?.(param as string | undefined);
      if (this.chain.height > before) this.changed();
      return answer;
    }
    const { rules, longpollid } = param as { rules: string[]; longpollid?: string };
    if (!rules.includes('segwit')) throw new Error('no segwit');
    const template = this.chain.template();
    if (longpollid !== template.longpollid) return template;
    await new Promise<void>((resolve) => this.#polls.push(resolve));
    return this.chain.template();
  }
}

/** JSON in which bigints are written as numbers of any length. */
export const exactJson = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `#${one}#` : one)).replace(/"#(\d+)#"/g, '$1');
