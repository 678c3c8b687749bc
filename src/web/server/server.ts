import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Address } from '../../console/telemetry/options.js';
import { firstLine, MillraceError } from '../../kernel/error.js';
import { Files, type PageOptions } from './files.js';
import { Guard } from './guard.js';
import { COMMON_HEADERS } from './headers.js';
import { type Reply, sendReply } from './replies.js';

/** What a route gets. */
export interface RouteCall {
  /** The parts of the path that the route names, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Reads the body as JSON. Throws `input-format` if it is not JSON or larger than 1 MiB. */
  body(): Promise<unknown>;
  /** Aborted when the reader has gone. */
  readonly signal: AbortSignal;
}

export interface Route {
  readonly method: 'GET' | 'POST';
  /** `/api/jobs/:id/hits`; a part with a colon matches any text. */
  readonly path: string;
  /** An error with the code `usage` or `input-format` is the reader's fault (400), any other is ours (500). */
  handle(call: RouteCall): Reply | Promise<Reply>;
}

export interface WebServerOptions {
  readonly address: Address;
  /** Pages by path: `{ '/': { file: 'dashboard.html' } }`. */
  readonly pages: Readonly<Record<string, PageOptions>>;
  /** Need the token, whatever their path. */
  readonly routes: readonly Route[];
  /** The option or command that asked, for errors. */
  readonly asked: string;
  /** Default: a new one. A token that stays the same lets open pages find a server that was started again. */
  readonly token?: string;
  /** The files of a certificate and its key: the server then speaks HTTPS. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
  /** The name by which other machines reach it, if it is not that of the address. */
  readonly advertise?: string | undefined;
  /** Addresses besides its own that pages and their threads may connect to. */
  readonly connect?: () => readonly string[];
  /** What a page gets with its session, so that it has it without another request. */
  readonly first?: () => unknown;
  /** Default: the files of this build. */
  readonly folder?: string;
}

/** A server of pages and their data. */
export interface WebServer {
  /** The address to open, with the token: `http://127.0.0.1:40213/#token=…`. */
  readonly url: string;
  /** The same without the token: `http://127.0.0.1:40213/`. */
  readonly page: string;
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves pages to this machine, or to others if the address says so. Every route needs the token; files of the app do not,
 * since they are the same for everybody. The server does not keep the process alive.
 */
export async function startWebServer(options: WebServerOptions): Promise<WebServer> {
  const { address, routes, pages, asked, token, tls, advertise, connect, first, folder = BUILT } = options;
  const scheme = tls ? 'https' : 'http';
  const guard = new Guard([address.host, ...(advertise === undefined ? [] : [advertise])], token, scheme);
  const files = new Files(folder, connect);
  const all = [sessionRoute(guard, first), ...routes.map((route) => ({ ...route, isOpen: false }))];
  let port = 0;
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else void sendReply(faultOf(error), response);
    });
  };
  const limits = { requestTimeout: 30_000 };
  const server = tls
    ? createTlsServer({ ...limits, cert: readFileSync(tls.certificate), key: readFileSync(tls.key) }, listener)
    : createServer(limits, listener);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const method = request.method ?? 'GET';
    const refusal = guard.refuse(method, request.headers, port);
    if (refusal) return refuse(response, refusal.status, refusal.message);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host');
    const page = pages[pathname];
    if (method === 'GET' || method === 'HEAD') {
      if (page) return files.page(page, response);
      if (files.file(pathname, request, response)) return;
    }
    const [found] = all.flatMap((route) => {
      const params = route.method === method ? matchPath(route.path, pathname) : undefined;
      return params ? [{ route, params }] : [];
    });
    // Whether a route exists is not told to those who may not use it.
    const isAllowed = guard.hasCookie(request.headers, port);
    if (!found?.route.isOpen && !isAllowed) return refuse(response, 401, NO_TOKEN);
    if (!found) return refuse(response, 404, 'there is nothing here');
    const controller = new AbortController();
    response.on('close', () => controller.abort());
    const { route, params } = found;
    const body = (): Promise<unknown> => readJson(request);
    const reply = await route.handle({ params, query: searchParams, body, signal: controller.signal, port, isAllowed });
    await sendReply(reply, response);
  };
  await listen(server, address, asked);
  server.unref();
  server.on('error', () => undefined); // a connection failed; the job goes on
  const own = server.address() as AddressInfo;
  port = own.port;
  const host = own.family === 'IPv6' ? `[${own.address}]` : own.address;
  const page = `${scheme}://${advertise ?? openHost(host)}:${port}/`;
  return {
    url: `${page}#token=${guard.token}`,
    page,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        // What was written last has this long to reach its reader.
        setTimeout(() => server.closeAllConnections(), MAX_CLOSE_MS);
      }),
  };
}

const MAX_CLOSE_MS = 200;

/** The app's files in this build. */
const BUILT = fileURLToPath(new URL('../files', import.meta.url));

const NO_TOKEN = 'open the address that the program printed: it holds the token';

/** An address for all of the machine's networks is not one that a browser can open. */
const openHost = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '[::]' ? '[::1]' : host);

interface InnerRoute extends Omit<Route, 'handle'> {
  /** Needs no token. */
  readonly isOpen: boolean;
  handle(call: RouteCall & { readonly port: number; readonly isAllowed: boolean }): Reply | Promise<Reply>;
}

/** Exchanges the token for a cookie; a page that has the cookie needs no token. `first` is the answer to both. */
const sessionRoute = (guard: Guard, first: () => unknown = () => ({})): InnerRoute => ({
  method: 'POST',
  path: '/api/session',
  isOpen: true,
  handle: async ({ body, port, isAllowed }) => {
    const { token } = Object(await body()) as { token?: unknown };
    if (token === undefined && isAllowed) return { json: first() };
    if (typeof token !== 'string' || !guard.isToken(token)) return { json: { message: NO_TOKEN }, status: 401 };
    return { json: first(), headers: { 'set-cookie': guard.cookie(port) } };
  },
});

function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const text = given[at] ?? '';
    if (!part.startsWith(':')) {
      if (part !== text) return undefined;
    } else {
      try {
        params[part.slice(1)] = decodeURIComponent(text);
      } catch {
        return undefined;
      }
    }
  }
  return params;
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { ...COMMON_HEADERS, 'cache-control': 'no-store', 'content-type': 'application/json' })
    .end(JSON.stringify({ message }));
}

function faultOf(error: unknown): Reply {
  const { code, advice } = error instanceof MillraceError ? error : { code: 'internal', advice: undefined };
  const isReaders = code === 'usage' || code === 'input-format';
  return { json: { code, message: firstLine(error), advice }, status: isReaders ? 400 : 500 };
}

const MAX_BODY = 1 << 20;

async function readJson(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY) throw bodyError('it is larger than 1 MiB');
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    throw bodyError('it is not JSON');
  }
}

const bodyError = (message: string): MillraceError =>
  new MillraceError({ code: 'input-format', message: `the request's body: ${message}`, asked: 'a request' });

function listen(server: Server, { host, port }: Address, asked: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new MillraceError({
          code: 'io',
          message: `cannot listen on ${host}:${port}: ${cause.message}`,
          asked,
          advice: 'give a free port, or 0 for any',
          cause,
        }),
      ),
    );
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}
