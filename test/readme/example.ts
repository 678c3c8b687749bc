import { expect } from 'vitest';
import type { Ran } from '../command-line.js';

/**
 * How a command of the documents is run. `short` is what `npm test` does: on the CPU, with less of it where a whole one takes
 * minutes; `all` is what `npm run test:all` does besides; `long` is `npm run test:long`'s. Or another test runs this very
 * command: then it is named, with the code that does it, which must have every name and option of the command in it.
 */
export interface Example {
  readonly short?: Way;
  readonly all?: Way;
  readonly long?: Way;
  readonly by?: { readonly file: string; readonly code: readonly string[] };
}

/** The words that are run are the document's own. What differs here is written down. */
export interface Way {
  /** Words that are others here: a stand-in's value, less work, a device at hand. Each must be in the command. */
  readonly swap?: Swaps;
  /** Words behind them. */
  readonly more?: readonly string[];
  /** What must be in its folder before. */
  readonly given?: (folder: string) => void | Promise<void>;
  /** A server that must be there before; words that are known only then. */
  readonly served?: (folder: string) => Promise<Swaps>;
  /** It goes on until somebody presses Ctrl-C: when it has said this. */
  readonly until?: RegExp;
  /** Exit status; default 0, `any` where it tells how fast the machine is. */
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

/** With `--json`: the events of this name. */
export const eventsNamed = ({ events }: Ran, name: string) => events.filter(({ event }) => event === name);
