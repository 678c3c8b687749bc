import { readdirSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { MillraceError } from '../../kernel/error.js';
import type { LiveAction } from './event-hub.js';
import { LIVE_FOLDER, withShortPath } from './socket-path.js';

/** A running process of a data directory. */
export interface LiveProcess {
  readonly pid: number;
  /** The name of its socket. */
  readonly name: string;
}

/** Lists the processes that have announced themselves. Some may have died since. */
export function liveProcesses(directory: string): LiveProcess[] {
  let names: string[] = [];
  try {
    names = readdirSync(join(directory, LIVE_FOLDER));
  } catch {
    // no process has run here yet
  }
  return names.flatMap((name) => {
    const [, pid] = /^(\d+)\.sock$/.exec(name) ?? [];
    return pid === undefined ? [] : { pid: Number(pid), name };
  });
}

/** Calls `onLine` with each event of a process, and `onEnd` when it ends or cannot be reached. */
export async function watchProcess(
  directory: string,
  process: LiveProcess,
  onLine: (line: string) => void,
  onEnd: () => void,
): Promise<() => void> {
  const socket = await open(directory, process);
  let rest = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    const lines = (rest + part).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', onEnd);
  socket.write('{"request":"events"}\n');
  return () => socket.destroy();
}

/** Sends a request to a process and returns what it says has changed. Throws `usage` if it refuses. */
export async function controlProcess(directory: string, process: LiveProcess, action: LiveAction): Promise<string> {
  const { event, what, message } = await askProcess(directory, process, { request: 'control', ...action });
  if (event === 'changed' && what !== undefined) return String(what);
  throw refusedError(process, String(message ?? 'it refused'));
}

/** Sends a request to a process and returns the event that it answers with. */
export async function askProcess(
  directory: string,
  process: LiveProcess,
  request: object,
): Promise<Readonly<Record<string, unknown>>> {
  let text = '';
  for await (const part of requestOf(directory, process, request)) text += part;
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}

/** Reads the trace of a process. Throws `usage` if it records none. */
export async function* traceOf(directory: string, process: LiveProcess): AsyncGenerator<string> {
  let isFirst = true;
  for await (const part of requestOf(directory, process, { request: 'trace' })) {
    if (isFirst && part.startsWith('{"event":"error"')) {
      throw refusedError(process, (JSON.parse(part) as { message: string }).message);
    }
    isFirst = false;
    yield part;
  }
}

async function* requestOf(directory: string, process: LiveProcess, request: object): AsyncGenerator<string> {
  const socket = await open(directory, process);
  socket.setEncoding('utf8').write(`${JSON.stringify(request)}\n`);
  for await (const part of socket as AsyncIterable<string>) yield part;
}

/** Removes the socket of a process that has died: nothing listens on it. */
function open(directory: string, { name, pid }: LiveProcess): Promise<Socket> {
  const folder = join(directory, LIVE_FOLDER);
  return withShortPath(
    folder,
    (short) =>
      new Promise((resolve, reject) => {
        const socket = connect(join(short, name));
        socket.once('connect', () => {
          socket.removeAllListeners('error');
          resolve(socket);
        });
        socket.once('error', (cause: NodeJS.ErrnoException) => {
          if (cause.code === 'ECONNREFUSED') rmSync(join(folder, name), { force: true });
          reject(
            new MillraceError({
              code: 'io',
              message: `process ${pid} does not answer: ${cause.message}`,
              asked: `process ${pid}`,
              advice: 'see `millrace jobs list`',
              cause,
            }),
          );
        });
      }),
  );
}

const refusedError = ({ pid }: LiveProcess, message: string): MillraceError =>
  new MillraceError({ code: 'usage', message, asked: `process ${pid}` });
