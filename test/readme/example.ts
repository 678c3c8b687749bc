import { expect } from 'vitest';
import type { Ran } from '../command-line.js';

/**
 * How a command of the documents is run: `short` by `npm test`, on the CPU and with less work if the command takes minutes;
 * `all` also by `npm run test:all`; `long` by `npm run test:long`. If another test runs this command, `by` names its file
 * and code, which must contain every name and option of the command.
 */
export interface Example {
  readonly short?: Way;
  readonly all?: Way;
  readonly long?: Way;
  readonly by?: { readonly file: string; readonly code: readonly string[] };
}

/** Differences from the command in the document. */
export interface Way {
  /** Replacements for words: a placeholder's value, less work, an available device. Each must be in the command. */
  readonly swap?: Swaps;
  /** Words to append. */
  readonly more?: readonly string[];
  /** Creates the files that the command needs. */
  readonly given?: (folder: string) => void | Promise<void>;
  /** Starts a server that the command needs; returns replacements that depend on it. */
  readonly served?: (folder: string) => Promise<Swaps>;
  /** The command runs until Ctrl-C, which is sent when it has printed this. */
  readonly until?: RegExp;
  /** Exit status; default 0, `any` if it depends on the speed of the machine. */
  readonly status?: number | 'any';
  readonly check: (ran: Ran, folder: string) => void;
}

export type Swaps = Readonly<Record<string, string>>;
export type Examples = Readonly<Record<string, Example>>;

export const by = (file: string, ...code: readonly string[]): Example => ({ by: { file, code } });

export const wasm = ['--device', 'wasm', '--threads', '1'];

export const says =
  (...patterns: readonly RegExp[]) =>
  ({ stdout }: Ran): void => {
    for (const pattern of patterns) expect(stdout).toMatch(pattern);
  };

/** With `--json`: returns the events of this name. */
export const eventsNamed = ({ events }: Ran, name: string) => events.filter(({ event }) => event === name);
