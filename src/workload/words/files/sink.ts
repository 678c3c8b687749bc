import { createHash } from 'node:crypto';
import { close, fdatasync, fstatSync, ftruncate, openSync, truncateSync, write } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { MillraceError } from '../../../kernel/error.js';
import { widenPipe } from './pipe.js';

/** Where words go. */
export interface Sink {
  /** For people. */
  readonly name: string;
  /** Resolves when the system has all of the bytes. Throws a `ShortWrite` where it does not take them. */
  write(bytes: Uint8Array): Promise<void>;
  /** Takes the last bytes back, where that can be done: what is half a word. */
  retract?(bytes: number): Promise<void>;
  /** Resolves when what was written is on the disk. */
  sync?(): Promise<void>;
  close(): Promise<void>;
}

/** Not everything could be written. */
export class ShortWrite extends Error {
  /** Bytes of the call that were written. */
  readonly written: number;
  /** The reader has gone: nobody misses the rest. */
  readonly isClosedPipe: boolean;

  constructor(written: number, cause: NodeJS.ErrnoException) {
    super(cause.message, { cause });
    this.written = written;
    this.isClosedPipe = cause.code === 'EPIPE';
  }
}

/**
 * Standard output. A pipe gets writes that never block a thread, so that Ctrl-C is heard while the reader sleeps; a file,
 * a device or a terminal is written to by a thread of Node's pool; a stream of the host's own by its own methods.
 */
export function stdoutSink(stream: Writable): Sink {
  if (stream !== process.stdout) return streamSink(stream);
  return isStdoutPipe(stream) ? new PipeSink('stdout', ownPipe(1)) : new FileSink('stdout', 1, false);
}

export function isStdoutPipe(stream: Writable): boolean {
  if (stream !== process.stdout) return false;
  const kind = fstatSync(1);
  return kind.isFIFO() || kind.isSocket();
}

/** A stream that stays open. It may hold on to what it is given, and the bytes are used again. */
const streamSink = (stream: Writable): Sink => ({
  name: 'stdout',
  write: (bytes) =>
    new Promise((resolve, reject) => {
      stream.write(Uint8Array.from(bytes), (error) => (error ? reject(new ShortWrite(0, error)) : resolve()));
    }),
  close: async () => undefined,
});

/** A file, replaced, or gone on with after so many bytes. Throws `io` where it cannot be written. */
export function fileSink(path: string, after = 0n): Sink {
  let file: number;
  try {
    if (after > 0n) truncateSync(path, Number(after));
    file = openSync(path, after > 0n ? 'a' : 'w');
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
  readonly #isOwn: boolean;

  constructor(name: string, file: number, isOwn: boolean) {
    this.name = name;
    this.#file = file;
    this.#isOwn = isOwn;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      try {
        const { bytesWritten } = await writeSome(this.#file, bytes, at, bytes.length - at, null);
        at += bytesWritten;
      } catch (error) {
        const cause = error as NodeJS.ErrnoException;
        // A terminal or a device that somebody else has made non-blocking, and that is full.
        if (cause.code !== 'EAGAIN') throw new ShortWrite(at, cause);
        await new Promise((resolve) => setTimeout(resolve, FULL_MS));
      }
    }
  }

  async retract(bytes: number): Promise<void> {
    const { size } = fstatSync(this.#file);
    if (fstatSync(this.#file).isFile() && size >= bytes) await promisify(ftruncate)(this.#file, size - bytes);
  }

  async sync(): Promise<void> {
    if (this.#isOwn) await promisify(fdatasync)(this.#file);
  }

  async close(): Promise<void> {
    if (this.#isOwn) await promisify(close)(this.#file);
  }
}

const writeSome = promisify(write);
const FULL_MS = 5;

/** A pipe or socket, written to when it has room. */
class PipeSink implements Sink {
  readonly name: string;
  readonly #socket: Socket;
  #failed: NodeJS.ErrnoException | undefined;

  constructor(name: string, file: number) {
    this.name = name;
    widenPipe(file);
    this.#socket = new Socket({ fd: file, readable: false, writable: true });
    // Each write tells its own failure.
    this.#socket.on('error', (error) => {
      this.#failed = error;
    });
  }

  write(bytes: Uint8Array): Promise<void> {
    const before = this.#socket.bytesWritten;
    const short = (cause: NodeJS.ErrnoException): ShortWrite =>
      new ShortWrite(Math.min(bytes.length, this.#socket.bytesWritten - before), cause);
    return new Promise((resolve, reject) => {
      if (this.#failed) reject(short(this.#failed));
      else this.#socket.write(bytes, (error) => (error ? reject(short(error)) : resolve()));
    });
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.end(resolve));
  }
}

/**
 * The pipe opened once more where the system can: writes that do not block are a property of what was opened, which other
 * processes may share with us.
 */
function ownPipe(file: number): number {
  try {
    return openSync(`/proc/self/fd/${file}`, 'w');
  } catch {
    return file;
  }
}
