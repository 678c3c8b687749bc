/** A line that is written over while work goes on. Only a terminal gets one; elsewhere it is silent. */
export interface Progress {
  /** Shows a text, at most ten times a second. */
  show(text: () => string): void;
  /** Takes the line away, so that other text can follow. */
  clear(): void;
}

export function openProgress(stream: NodeJS.WriteStream = process.stderr, enabled = true): Progress {
  if (!enabled || !stream.isTTY) return { show: () => {}, clear: () => {} };
  let last = 0;
  let shown = false;
  return {
    show: (text) => {
      const now = performance.now();
      if (now - last < 100) return;
      last = now;
      shown = true;
      // Cut to the window: a line that wraps cannot be written over.
      stream.write(`\r${text().slice(0, (stream.columns || 80) - 1)}\u001b[K`);
    },
    clear: () => {
      if (shown) stream.write('\r\u001b[K');
      shown = false;
    },
  };
}
