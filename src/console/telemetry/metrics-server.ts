import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MillraceError } from '../../kernel/error.js';
import { CONTENT_TYPE } from './exposition.js';
import type { Address } from './options.js';

/** Answers `GET /metrics` with the current result of `text`. */
export interface MetricsServer {
  /** The server's address: `http://127.0.0.1:9464/metrics`. */
  readonly url: string;
  close(): Promise<void>;
}

export async function startMetricsServer(
  { host, port }: Address,
  text: () => string | Promise<string>,
): Promise<MetricsServer> {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    const isMetrics = /^\/metrics\/?(\?|$)/.test(request.url ?? '');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isMetrics || !isRead) {
      response
        .writeHead(isMetrics ? 405 : 404, { 'content-type': 'text/plain' })
        .end('only GET /metrics is supported\n');
      return;
    }
    Promise.resolve()
      .then(text)
      .then(
        (body) => response.writeHead(200, { 'content-type': CONTENT_TYPE }).end(body),
        () => response.writeHead(500).end(),
      );
  });
  await listen(server, host, port);
  // The server lives as long as the job and does not keep the process alive.
  server.unref();
  server.on('error', () => undefined);
  const { address, family, port: own } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${own}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new MillraceError({
          code: 'io',
          message: `cannot listen on ${host}:${port}: ${cause.message}`,
          asked: `--prometheus ${host}:${port}`,
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
