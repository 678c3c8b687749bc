import { createHash } from 'node:crypto';
import { close, fdatasync, fstatSync, ftruncate, openSync, truncateSync, write } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { MillraceError } from '../../../kernel/error.js';
import { enlargePipe } from './pipe.js';

/** A destination of words. */
export interface Sink {
  /** Shown to the user. */
  readonly name: string;
  /** Resolves when the operating system has taken all bytes. Throws a `ShortWriteError` if it does not. */
  write(bytes: Uint8Array): Promise<void>;
  /** Removes the last bytes, an incomplete word. Absent if the destination cannot do this. */
  truncateBy?(bytes: number): Promise<void>;
  /** Resolves when all written bytes are on disk. */
  sync?(): Promise<void>;
  close(): Promise<void>;
}

/** Not everything could be written. */
export class ShortWriteError extends Error {
  /** Bytes of the call that were written. */
  readonly written: number;
  /** The reader has closed the pipe. */
  readonly isClosedPipe: boolean;

  constructor(written: number, cause: NodeJS.ErrnoException) {
    super(cause.message, { cause });
    this.written = written;
    this.isClosedPipe = cause.code === 'EPIPE';
  }
}

/**
 * Standard output. Writes to a pipe never block a thread, so that Ctrl-C works while the reader sleeps. A file, a device
 * or a terminal is written by a thread of Node's pool; a stream given by the host program by its own methods.
 */
export function stdoutSink(stream: Writable): Sink {
  if (stream !== process.stdout) return streamSink(stream);
  return isStdoutPipe(stream) ? new PipeSink('stdout', reopenPipe(1)) : new FileSink('stdout', 1, false);
}

export function isStdoutPipe(stream: Writable): boolean {
  if (stream !== process.stdout) return false;
  const kind = fstatSync(1);
  return kind.isFIFO() || kind.isSocket();
}

/** A stream that stays open. It may keep a reference to the bytes, which are reused, so they are copied. */
const streamSink = (stream: Writable): Sink => ({
  name: 'stdout',
  write: (bytes) =>
    new Promise((resolve, reject) => {
      stream.write(Uint8Array.from(bytes), (error) => (error ? reject(new ShortWriteError(0, error)) : resolve()));
    }),
  close: async () => undefined,
});

/** A file, truncated to its first `keptBytes` bytes and appended to. Throws `io` if it cannot be written. */
export function fileSink(path: string, keptBytes = 0n): Sink {
  let file: number;
  try {
    if (keptBytes > 0n) truncateSync(path, Number(keptBytes));
    file = openSync(path, keptBytes > 0n ? 'a' : 'w');
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot write ${path}: ${(cause as Error).message}`,
      asked: `words in ${path}`,
      advice: 'name a file in a folder that you may write to',
      cause,
    });
  }
  return fstatSync(file).isFIFO() ? new PipeSink(path, file) : new FileSink(path, file, true);
}

/** The SHA-256 of everything. */
export function digestSink(): Sink & { digest(): string } {
  const hash = createHash('sha256');
  return {
    name: 'a digest',
    write: async (bytes) => void hash.update(bytes),
    close: async () => undefined,
    digest: () => hash.digest('hex'),
  };
}

class FileSink implements Sink {
  readonly name: string;
  readonly #file: number;
  readonly #isOwner: boolean;

  constructor(name: string, file: number, isOwner: boolean) {
    this.name = name;
    this.#file = file;
    this.#isOwner = isOwner;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      try {
        const { bytesWritten } = await writeSome(this.#file, bytes, at, bytes.length - at, null);
        at += bytesWritten;
      } catch (error) {
        const cause = error as NodeJS.ErrnoException;
        // A full terminal or device that another process has made non-blocking.
        if (cause.code !== 'EAGAIN') throw new ShortWriteError(at, cause);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async truncateBy(bytes: number): Promise<void> {
    const { size } = fstatSync(this.#file);
    if (fstatSync(this.#file).isFile() && size >= bytes) await promisify(ftruncate)(this.#file, size - bytes);
  }

  async sync(): Promise<void> {
    if (this.#isOwner) await promisify(fdatasync)(this.#file);
  }

  async close(): Promise<void> {
    if (this.#isOwner) await promisify(close)(this.#file);
  }
}

const writeSome = promisify(write);
const RETRY_MS = 5;

/** A pipe or socket, written to when it has space. */
class PipeSink implements Sink {
  readonly name: string;
  readonly #socket: Socket;
  #error: NodeJS.ErrnoException | undefined;

  constructor(name: string, file: number) {
    this.name = name;
    enlargePipe(file);
    this.#socket = new Socket({ fd: file, readable: false, writable: true });
    // Each write reports its own failure.
    this.#socket.on('error', (error) => {
      this.#error = error;
    });
  }

  write(bytes: Uint8Array): Promise<void> {
    const before = this.#socket.bytesWritten;
    const short = (cause: NodeJS.ErrnoException): ShortWriteError =>
      new ShortWriteError(Math.min(bytes.length, this.#socket.bytesWritten - before), cause);
    return new Promise((resolve, reject) => {
      if (this.#error) reject(short(this.#error));
      else this.#socket.write(bytes, (error) => (error ? reject(short(error)) : resolve()));
    });
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.end(resolve));
  }
}

/**
 * Reopens the pipe if the system can. Non-blocking mode belongs to the open file description, which other processes may
 * share.
 */
function reopenPipe(file: number): number {
  try {
    return openSync(`/proc/self/fd/${file}`, 'w');
  } catch {
    return file;
  }
}
