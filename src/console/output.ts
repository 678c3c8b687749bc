import { MillraceError } from '../kernel/error.js';
import { Exit, type ExitCode, exitOf } from './exit.js';
import { type Style, styleFor } from './style.js';

/**
 * Where a command's words go: data on stdout, words for people on stderr. With `--json`, stdout carries one JSON object
 * a line and nothing else, always ending in `done`, and stderr stays silent.
 */
export interface Output {
  readonly json: boolean;
  /** Emphasis for lines of data, and for words to people. */
  readonly style: Style;
  readonly aside: Style;
  /** A line of the command's result, for people. */
  line(text?: string): void;
  /** A line about the work: progress, warnings. */
  say(text: string): void;
  /** A line of the `--json` form; nothing without `--json`. */
  event(name: string, fields?: Readonly<Record<string, unknown>>): void;
}

export function openOutput(json: boolean, streams: Streams = process): Output {
  const { stdout, stderr } = streams;
  return {
    json,
    style: styleFor(stdout),
    aside: styleFor(stderr),
    line: (text = '') => void (json || stdout.write(`${text}\n`)),
    say: (text) => void (json || stderr.write(`${text}\n`)),
    event: (name, fields = {}) => void (json && stdout.write(`${jsonLine({ event: name, ...fields })}\n`)),
  };
}

export interface Streams {
  readonly stdout: Sink;
  readonly stderr: Sink;
}

export interface Sink {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** How a command ended: its exit status, and the answer where it is one object, which `done` then carries. */
export type Ending = ExitCode | { readonly exit: ExitCode; readonly answer: Readonly<Record<string, unknown>> };

/** Runs a command to its exit status. Errors are told here and nowhere else. */
export async function conclude(output: Output, run: () => Promise<Ending>): Promise<ExitCode> {
  let ending: Ending;
  try {
    ending = await run();
  } catch (error) {
    ending = exitOf(error);
    tell(output, error, ending);
  }
  const { exit, answer } = typeof ending === 'number' ? { exit: ending, answer: {} } : ending;
  output.event('done', { exit, ...answer });
  return exit;
}

function tell(output: Output, error: unknown, exit: ExitCode): void {
  if (exit === Exit.aborted) {
    output.say('aborted');
    output.event('error', { code: 'aborted', message: 'aborted by the user' });
    return;
  }
  const known = error instanceof MillraceError ? error : undefined;
  const text = error instanceof Error ? error.message : String(error);
  const [message = ''] = known ? known.message.split('\n  asked:', 1) : [text];
  output.event('error', { code: known?.code ?? 'internal', message, asked: known?.asked, advice: known?.advice });
  const mark = output.aside.bad('error:');
  // A stack is for us, not for the person whose command failed; but an error nobody foresaw has nothing better to show.
  if (known) output.say(`${mark} ${known.message}`);
  else output.say(`${mark} ${(error instanceof Error && error.stack) || text}`);
}

/** JSON has no bigint: it becomes a number where that is exact, else a decimal string. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) => {
    if (typeof field !== 'bigint') return field;
    return field <= Number.MAX_SAFE_INTEGER && field >= Number.MIN_SAFE_INTEGER ? Number(field) : field.toString();
  });
}

/** A reader that has seen enough (`| head`) is no failure: the process ends at once, with status 0. A full disk is one. */
export function endOnClosedPipe(streams: readonly NodeJS.WriteStream[] = [process.stdout, process.stderr]): void {
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      process.exit(error.code === 'EPIPE' ? Exit.ok : Exit.io);
    });
  }
}
