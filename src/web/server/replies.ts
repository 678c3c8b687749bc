import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { jsonLine } from '../../console/output/output.js';
import { COMMON_HEADERS } from './headers.js';

/** The answer of a route. */
export type Reply =
  | { readonly json: unknown; readonly status?: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly download: string; readonly type: string; readonly parts: Iterable<string> | AsyncIterable<string> }
  /** Server-sent events. `open` is called with a function that sends one, and returns the function that ends them. */
  | { readonly open: (send: SendEvent) => () => void };

export type SendEvent = (name: string, data: unknown) => void;

/** Sends an answer. Data is never cached. */
export async function sendReply(reply: Reply, response: ServerResponse): Promise<void> {
  const headers = { ...COMMON_HEADERS, 'cache-control': 'no-store' };
  if ('json' in reply) {
    response.writeHead(reply.status ?? 200, { ...headers, 'content-type': 'application/json', ...reply.headers });
    response.end(jsonLine(reply.json));
  } else if ('download' in reply) {
    const name = reply.download.replaceAll(/[^\w.-]/g, '_');
    response.writeHead(200, {
      ...headers,
      'content-type': reply.type,
      'content-disposition': `attachment; filename="${name}"`,
    });
    // A reader that goes away is not a failure.
    await pipeline(Readable.from(reply.parts, { objectMode: true }), response).catch(() => response.destroy());
  } else sendEvents(reply.open, response, headers);
}

/** Server-sent events: a reader that does not read is cut off; it connects again and starts from a snapshot. */
function sendEvents(
  open: (send: SendEvent) => () => void,
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
  // How long the page waits before it connects again, in milliseconds.
  response.write('retry: 1000\n\n');
  const end = open((name, data) => {
    if (response.writableLength > MAX_UNREAD) response.destroy();
    else response.write(`event: ${name}\ndata: ${jsonLine(data)}\n\n`);
    if (name === LAST_EVENT) response.end();
  });
  response.on('close', end);
}

/** Ends a stream: the page does not connect again. */
export const LAST_EVENT = 'end';

/** Bytes that wait for a reader. */
const MAX_UNREAD = 8 << 20;
