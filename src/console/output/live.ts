import { legible } from './legible.js';
import { cut, width } from './table.js';

/**
 * Lines at the bottom of a terminal that are redrawn while work runs. If the output is not a terminal, `isThere` is false
 * and callers append lines instead.
 */
export interface Live {
  readonly isThere: boolean;
  /** Maximum columns of a line. */
  readonly columns: number;
  show(lines: readonly string[]): void;
  /** Removes the lines, so that other text can follow. */
  clear(): void;
  /** Writes text above the lines. They are redrawn a moment later, not after each of many writes. */
  above(write: () => void): void;
}

const BACK_MS = 50;

export function openLive(stream: LiveStream, isWanted = true): Live {
  if (stream.isTTY !== true || !isWanted) {
    return { isThere: false, columns: 80, show: () => {}, clear: () => {}, above: (write) => write() };
  }
  /** The lines as displayed, and as given. */
  let shown: readonly string[] = [];
  let given: readonly string[] = [];
  let hidden: readonly string[] = [];
  let timer: NodeJS.Timeout | undefined;
  const columns = (): number => Math.max(2, stream.columns || 80) - 1;
  // A narrowed window has wrapped the lines, so they occupy more rows than before.
  const rows = (): number =>
    shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(width(line) / (columns() + 1))), 0);
  const back = (): string => (shown.length === 0 ? '' : `\u001b[${rows()}A\r`);
  const erase = (): void => {
    if (shown.length > 0) stream.write(`${back()}\u001b[J`);
    shown = [];
  };
  const live: Live = {
    isThere: true,
    get columns() {
      return columns();
    },
    show: (lines) => {
      // Cut to the window: a line that wraps or scrolls away cannot be overwritten.
      const room = Math.max(1, (stream.rows || 24) - 1);
      const fitting = lines.slice(0, room).map((line) => cut(legible(line), columns()));
      stream.write(`${back()}${fitting.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`);
      shown = fitting;
      given = lines;
      hidden = [];
    },
    clear: () => {
      erase();
      hidden = [];
    },
    above: (write) => {
      if (shown.length > 0) hidden = given;
      erase();
      write();
      if (hidden.length === 0 || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        if (hidden.length > 0) live.show(hidden);
      }, BACK_MS).unref();
    },
  };
  return live;
}

export interface LiveStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}
