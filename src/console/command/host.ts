import type { Writable } from 'node:stream';
import type { ReadStream } from 'node:tty';
import type { LiveStream } from '../output/live.js';

/**
 * A command's interface to its process: arguments, streams, exit. The environment is always `process.env`, because
 * drivers and compilers read it too. `main.ts` runs a command with Node's process; a program that runs several commands
 * in turn passes a host for each.
 */
export interface Host {
  /** The arguments after `millrace`. */
  readonly args: readonly string[];
  readonly stdin: ReadStream;
  readonly stdout: Writable & LiveStream;
  readonly stderr: Writable & LiveStream;
  /** The exit status; set by the command. */
  exitCode: number | string | null | undefined;
  /** Ends the command at once, without waiting for anything. */
  exit(status: number): never;
}

export const processHost: Host = {
  get args() {
    return process.argv.slice(2);
  },
  get stdin() {
    return process.stdin;
  },
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  get exitCode() {
    return process.exitCode;
  },
  set exitCode(status) {
    process.exitCode = status;
  },
  exit: (status) => process.exit(status),
};

let current = processHost;

/** Returns the host of the running command. */
export const host = (): Host => current;

/** Runs `body` with another host. Commands of one process must run one at a time. */
export async function withHost<T>(temporary: Host, body: () => Promise<T>): Promise<T> {
  const before = current;
  current = temporary;
  try {
    return await body();
  } finally {
    current = before;
  }
}
