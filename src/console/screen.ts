/** Lines that are written over each time on a terminal; elsewhere they are appended. */
export interface Screen {
  readonly redraws: boolean;
  show(lines: readonly string[]): void;
}

export function openScreen(stream: ScreenStream = process.stdout): Screen {
  const redraws = stream.isTTY === true;
  let shown = 0;
  return {
    redraws,
    show: (lines) => {
      if (!redraws) {
        stream.write(lines.map((line) => `${line}\n`).join(''));
        return;
      }
      // Cut to the window: a line that wraps, or one that scrolls away, cannot be written over.
      const room = Math.max(1, (stream.rows || 24) - 1);
      const fitting = lines.slice(0, room).map((line) => line.slice(0, (stream.columns || 80) - 1));
      const back = shown > 0 ? `\u001b[${shown}A` : '';
      stream.write(`${back}\r${fitting.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`);
      shown = fitting.length;
    },
  };
}

export interface ScreenStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}
