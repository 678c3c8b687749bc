import { chmodSync, existsSync, rmSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import { createFolder } from '../../device/cache/folder.js';
import { firstLine } from '../../kernel/error.js';
import { jsonLine } from '../output/json-line.js';
import type { Output } from '../output/output.js';
import type { EventHub, LiveAction } from './event-hub.js';
import { LIVE_FOLDER, withShortPath } from './socket-path.js';

/** A process that others can find and watch. */
export interface Announcement {
  end(): void;
}

/**
 * Announces this process in a data directory: a socket that only the user can open, on which other processes read the
 * command's events and control its job. Starts after half a second, so that short commands do nothing. A failure is not one
 * of the job: `jobs pause` then uses the ledger.
 */
export function announce(directory: string, output: Output): Announcement {
  if (process.platform === 'win32') return { end: () => undefined }; // has no sockets in folders
  let end: (() => void) | undefined;
  let isOver = false;
  const begin = async (): Promise<void> => {
    // With --no-ledger nothing is stored, and no directory is made for it.
    if (!existsSync(directory)) return;
    const listening = await listen(directory, output.hub);
    if (isOver) listening();
    else end = listening;
  };
  const timer = setTimeout(() => {
    begin().catch((error: unknown) => output.explain(`other processes cannot watch this one: ${firstLine(error)}`));
  }, DELAY_MS).unref();
  return {
    end: () => {
      isOver = true;
      clearTimeout(timer);
      end?.();
    },
  };
}

const DELAY_MS = 500;

async function listen(directory: string, hub: EventHub): Promise<() => void> {
  const { createServer } = await import('node:net');
  const folder = join(directory, LIVE_FOLDER);
  createFolder(folder, 0o700);
  const name = `${process.pid}.sock`;
  const path = join(folder, name);
  rmSync(path, { force: true }); // of a dead process with the same number
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serve(socket, hub);
  });
  await withShortPath(folder, (short) => listenAt(server, join(short, name)));
  chmodSync(path, 0o600);
  server.unref();
  return () => {
    server.close();
    for (const socket of sockets) socket.end();
    rmSync(path, { force: true });
  };
}

function listenAt(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.removeAllListeners('error');
      server.on('error', () => undefined); // a connection that failed
      resolve();
    });
  });
}

/** Answers one connection: its first line says what is asked. */
function serve(socket: Socket, hub: EventHub): void {
  let text = '';
  socket.unref();
  socket.on('error', () => socket.destroy());
  socket.setEncoding('utf8');
  const onData = (part: string): void => {
    text += part;
    if (text.length > MAX_REQUEST) socket.destroy();
    const end = text.indexOf('\n');
    if (end < 0) return;
    socket.off('data', onData);
    socket.resume();
    answer(socket, hub, text.slice(0, end)).catch((error: unknown) => refuse(socket, firstLine(error)));
  };
  socket.on('data', onData);
}

async function answer(socket: Socket, hub: EventHub, line: string): Promise<void> {
  const { request, ...rest } = Object(JSON.parse(line)) as { request?: string };
  if (request === 'events') {
    const end = hub.watch((event) => {
      // A watcher that does not read is cut off, and connects again.
      if (socket.writableLength > MAX_UNREAD) socket.destroy();
      else socket.write(`${event}\n`);
    });
    socket.on('close', end);
  } else if (request === 'control') {
    if (!hub.job) return refuse(socket, 'no job runs now');
    const what = await hub.job.control(rest as LiveAction);
    socket.end(`${jsonLine({ event: 'changed', id: String(process.pid), what })}\n`);
  } else if (request === 'fleet') {
    if (!hub.fleet) return refuse(socket, 'this process does not coordinate a fleet');
    const { answerFleet } = await import('./fleet-requests.js'); // other commands do not need it
    socket.end(`${jsonLine(await answerFleet(hub.fleet, rest))}\n`);
  } else if (request === 'trace') {
    if (!hub.trace) return refuse(socket, NO_TRACE);
    const { Readable } = await import('node:stream');
    Readable.from(hub.trace(), { objectMode: true }).pipe(socket);
  } else refuse(socket, 'unknown request');
}

export const NO_TRACE = 'chunks are not recorded: start the command with --dashboard or --trace';

const refuse = (socket: Socket, message: string): void => {
  socket.end(`${jsonLine({ event: 'error', code: 'usage', message })}\n`);
};

const MAX_REQUEST = 65_536;
const MAX_UNREAD = 16 << 20;
