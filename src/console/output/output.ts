import { getSystemErrorMap } from 'node:util';
import { MillraceError } from '../../kernel/error.js';
import { Exit, type ExitCode, exitOf } from '../command/exit.js';
import { host } from '../command/host.js';
import { EventHub } from '../live/event-hub.js';
import { isLevelShown, type Level } from '../options/level.js';
import { jsonLine } from './json-line.js';
import { openLineFile } from './line-file.js';
import { type LiveLines, type LiveStream, openLiveLines } from './live.js';
import { redact, redactStart } from './redact.js';
import { MESSAGE_LIMITS, sanitizeForFile, sanitizeText } from './sanitize.js';
import { type Style, styleFor } from './style.js';

export { jsonLine };

/**
 * A command's output: data on stdout, messages on stderr. With `--json`, stdout carries one JSON object a line and
 * nothing else, from `start` to `done`, and stderr stays silent; if stdout carries bytes of data, events go to stderr.
 * `--events` also writes them to a file. Credentials are removed from everything except data, and text for people
 * contains no control characters except our own (`sanitize.ts`).
 */
export interface Output {
  readonly json: boolean;
  /** True if events are written: with `--json`, or to a file. */
  readonly hasEvents: boolean;
  /** Emphasis for lines of data, and for messages. */
  readonly style: Style;
  readonly stderrStyle: Style;
  /** Lines that are redrawn, on a terminal. Any other output removes them first. */
  readonly live: LiveLines;
  /** A line of the command's result, for people. */
  line(text?: string): void;
  /** Lines for other programs: a script, a document, the text of a kernel. They are written unchanged. */
  data(text: string): void;
  /** A message about the progress of the work. */
  say(text: string): void;
  /**
   * A message with a credential that the user needs: the address of a page with its token. It is written to stderr, with
   * `--json` too, and to no log.
   */
  sayUnredacted(text: string): void;
  /** A warning; with `--json` an event. */
  warn(text: string): void;
  /** The error that ended the command. */
  fail(text: string): void;
  /** An explanation, shown with `--log debug`. */
  explain(text: string): void;
  /** An event of `--json`. */
  event(name: string, fields?: Readonly<Record<string, unknown>>): void;
  /** The events for those who watch the command while it runs. Has all of `event`, and some that only they get. */
  readonly hub: EventHub;
  /** Writes a line for `--extra-verbose`; undefined without that option. */
  readonly diagnose: ((text: string) => void) | undefined;
  close(): void;
}

export interface OutputOptions {
  readonly json?: boolean;
  readonly events?: string;
  readonly log?: Level;
  readonly extraVerbose?: string;
  /** Stdout carries data, so events go to stderr. */
  readonly isData?: boolean;
}

export function openOutput(options: OutputOptions = {}, streams: Streams = host()): Output {
  const { json = false, log = 'info', isData = false } = options;
  const { stdout, stderr } = streams;
  const stderrStyle = styleFor(stderr);
  // Data written to the terminal directly would mix with the redrawn lines.
  const isMixed = isData && stdout.isTTY === true;
  const live = openLiveLines(stderr, !json && !isMixed && isLevelShown('info', log) && process.env.TERM !== 'dumb');
  const start = performance.now();
  const diagnostics =
    options.extraVerbose === undefined ? undefined : openLineFile(options.extraVerbose, 'diagnostics');
  const diagnose = (text: string): void => {
    const seconds = ((performance.now() - start) / 1000).toFixed(6).padStart(13);
    diagnostics?.write(`${seconds}  ${sanitizeForFile(redactStart(text, MAX_DIAGNOSTIC))}`);
  };
  const file = options.events === undefined ? undefined : openLineFile(options.events, 'events');
  const eventStream = json ? (isData ? stderr : stdout) : undefined;
  const writeMessage = (level: Level, text: string): void => {
    diagnose(text);
    if (json || !isLevelShown(level, log)) return;
    const shown = sanitizeText(redact(text), level === 'info' ? undefined : MESSAGE_LIMITS);
    live.writeAbove(`${shown}\n`, stderr);
  };
  const writeLine = (text: string): void => {
    if (json && !isData) return;
    live.writeAbove(`${text}\n`, stdout);
  };
  const hub = new EventHub();
  const event: Output['event'] = (name, fields = {}) => {
    hub.publish(name, fields);
    if (eventStream === undefined && file === undefined) return;
    const line = jsonLine({ event: name, ...fields });
    eventStream?.write(`${line}\n`);
    file?.write(line);
  };
  return {
    json,
    hasEvents: eventStream !== undefined || file !== undefined,
    style: styleFor(stdout),
    stderrStyle,
    live,
    line: (text = '') => writeLine(sanitizeText(text)),
    data: writeLine,
    say: (text) => writeMessage('info', text),
    sayUnredacted: (text) => live.writeAbove(`${sanitizeText(text)}\n`, stderr),
    warn: (text) => {
      event('warning', { message: text });
      writeMessage('warn', `${stderrStyle.warn('warning:')} ${text}`);
    },
    fail: (text) => writeMessage('error', `${stderrStyle.bad('error:')} ${text}`),
    explain: (text) => writeMessage('debug', stderrStyle.dim(text)),
    event,
    hub,
    diagnose: diagnostics && diagnose,
    close: () => {
      live.clear();
      file?.close();
      diagnostics?.close();
    },
  };
}

/** Maximum characters of a line of `--extra-verbose`. */
const MAX_DIAGNOSTIC = 65_536;

export interface Streams {
  readonly stdout: LiveStream;
  readonly stderr: LiveStream;
}

/** How a command ended: its exit status, and the answer if it is one object, which `done` then carries. */
export type CommandResult = ExitCode | { readonly exit: ExitCode; readonly answer: Readonly<Record<string, unknown>> };

/**
 * Runs a command and returns its exit status. Errors are reported only here. `stopped` returns the status with which the
 * command was asked to stop.
 */
export async function runToExit(
  output: Output,
  run: () => Promise<CommandResult>,
  stopped: () => ExitCode | undefined = () => undefined,
): Promise<ExitCode> {
  let result: CommandResult;
  try {
    result = await run();
  } catch (error) {
    result = exitOf(error);
    if (result === Exit.aborted && stopped() === Exit.limit) result = Exit.limit;
    else reportError(output, error, result);
  }
  const { exit, answer } = typeof result === 'number' ? { exit: result, answer: {} } : result;
  output.event('done', { exit, ...answer });
  output.close();
  return exit;
}

export function reportError(output: Output, error: unknown, exit: ExitCode): void {
  if (exit === Exit.aborted) {
    output.say('aborted');
    output.event('error', { code: 'aborted', message: 'aborted by the user' });
    return;
  }
  const known = error instanceof MillraceError ? error : undefined;
  const text = error instanceof Error ? error.message : String(error);
  const { code = 'internal', summary: message = text, asked, advice } = known ?? {};
  output.event('error', { code, message, asked, advice });
  // A stack trace does not help the user whose command failed, but an unexpected error has nothing better to show.
  const shown = known ? known.message : (error instanceof Error && error.stack) || text;
  output.fail(shown);
}

/**
 * Ends the process when stdout or stderr cannot be written: with status 0 if a reader has closed its pipe (`| head`), which
 * is not a failure. A full disk is one. That of stdout is reported on stderr, with `--json` too.
 */
export function endOnFailedOutput({ stdout, stderr }: typeof process = process): void {
  const end = (error: NodeJS.ErrnoException): never => process.exit(error.code === 'EPIPE' ? Exit.ok : Exit.io);
  stderr.on('error', end);
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      const [, reason = error.message] = getSystemErrorMap().get(error.errno ?? 0) ?? [];
      openOutput().fail(`stdout cannot be written: ${reason}`);
    }
    end(error);
  });
}
