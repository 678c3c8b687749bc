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
  /** Writes text above the lines. They are redrawn a moment later, not after each of many writes. */
  writeAbove(write: () => void): void;
}

const REDRAW_DELAY_MS = 50;

export function openLiveLines(stream: LiveStream, isEnabled = true): LiveLines {
  if (stream.isTTY !== true || !isEnabled) {
    const ignore = (): void => undefined;
    return { isEnabled: false, columns: 80, show: ignore, clear: ignore, writeAbove: (write) => write() };
  }
  /** The lines as displayed, and as given. */
  let shown: readonly string[] = [];
  let given: readonly string[] = [];
  let hidden: readonly string[] = [];
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
  const erase = (): void => {
    if (shown.length > 0) stream.write(`${back()}\u001b[J`);
    shown = [];
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
      stream.write(`${back()}${fitting.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`);
      shown = fitting;
      given = lines;
      hidden = [];
    },
    clear: () => {
      erase();
      hidden = [];
    },
    writeAbove: (write) => {
      if (shown.length > 0) hidden = given;
      erase();
      write();
      if (hidden.length === 0 || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        if (hidden.length > 0) live.show(hidden);
      }, REDRAW_DELAY_MS).unref();
    },
  };
  return live;
}

export interface LiveStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  _refreshSize?(): void;
  write(text: string): unknown;
}
