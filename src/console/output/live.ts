import { fstatSync } from 'node:fs';
import { sanitizeText } from './sanitize.js';
import { cutToWidth, width } from './table.js';

/**
 * Lines at the bottom of a terminal that are redrawn while work runs. If the output is not a terminal, `isEnabled` is false
 * and callers append lines instead.
 */
export interface LiveLines {
  readonly isEnabled: boolean;
  /** Maximum columns of a line. */
  readonly columns: number;
  show(lines: readonly string[]): void;
  /** Removes the lines, so that other text can follow. */
  clear(): void;
  /**
   * Writes lines of text to a stream: if that is the same terminal, above the lines, which stay on the screen. Erasing,
   * text and lines are one write. Of many texts in a short time all but the first wait a moment, and are written together.
   */
  writeAbove(text: string, to: LiveStream): void;
}

/** Texts above the lines are written at most this often: a search may find thousands of hits a second. */
const WRITE_INTERVAL_MS = 50;
/** Characters that may wait. */
const MAX_WAITING = 65_536;

export function openLiveLines(stream: LiveStream, isEnabled = true): LiveLines {
  if (stream.isTTY !== true || !isEnabled) {
    const ignore = (): void => undefined;
    return {
      isEnabled: false,
      columns: 80,
      show: ignore,
      clear: ignore,
      writeAbove: (text, to) => void to.write(text),
    };
  }
  /** The lines as displayed, and as given. */
  let shown: readonly string[] = [];
  let given: readonly string[] = [];
  /** Text that waits to be written above the lines. */
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  /** Reads the window's size: Node updates it by a signal, which comes after the terminal has wrapped the lines. */
  const columns = (): number => {
    stream._refreshSize?.();
    return Math.max(2, stream.columns || 80) - 1;
  };
  // A narrowed window has wrapped the lines, so they occupy more rows than before.
  const rows = (): number => {
    const windowColumns = columns() + 1;
    return shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(width(line) / windowColumns)), 0);
  };
  const back = (): string => (shown.length === 0 ? '' : `\u001b[${rows()}A\r`);
  const known = new Map<LiveStream, boolean>();
  const isOurs = (to: LiveStream): boolean => {
    const isSame = known.get(to) ?? isSameTerminal(to, stream);
    known.set(to, isSame);
    return isSame;
  };
  /** Returns what moves the lines down: it erases them, and has the waiting text in their place. */
  const moved = (): string => {
    const text = waiting === '' ? back() : `${back()}\u001b[J${waiting}`;
    waiting = '';
    return text;
  };
  const live: LiveLines = {
    isEnabled: true,
    get columns() {
      return columns();
    },
    show: (lines) => {
      // Cut to the window: a line that wraps or scrolls away cannot be overwritten.
      const maxColumns = columns();
      const maxLines = Math.max(1, (stream.rows || 24) - 1);
      const fitting = lines.slice(0, maxLines).map((line) => cutToWidth(sanitizeText(line), maxColumns));
      stream.write(`${moved()}${fitting.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`);
      shown = fitting;
      given = lines;
    },
    clear: () => {
      if (shown.length > 0 || waiting !== '') stream.write(`${back()}\u001b[J${waiting}`);
      waiting = '';
      shown = [];
    },
    writeAbove: (text, to) => {
      if (!isOurs(to) || (shown.length === 0 && waiting === '')) {
        to.write(text);
        return;
      }
      waiting += text;
      if (timer === undefined) writeWaiting();
      else if (waiting.length > MAX_WAITING) live.show(given);
    },
  };
  /** Writes now, and again after a while if more has arrived. */
  const writeWaiting = (): void => {
    timer = undefined;
    if (waiting === '') return;
    if (shown.length > 0) live.show(given);
    else live.clear();
    timer = setTimeout(writeWaiting, WRITE_INTERVAL_MS).unref();
  };
  return live;
}

/** True if two streams write to the same terminal. */
function isSameTerminal(one: LiveStream, other: LiveStream): boolean {
  if (one === other) return true;
  if (one.isTTY !== true || one.fd === undefined || other.fd === undefined) return false;
  return fstatSync(one.fd).rdev === fstatSync(other.fd).rdev;
}

export interface LiveStream {
  readonly isTTY?: boolean;
  readonly fd?: number;
  readonly columns?: number;
  readonly rows?: number;
  _refreshSize?(): void;
  write(text: string): unknown;
}
