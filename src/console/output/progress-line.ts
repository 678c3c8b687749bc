import type { Output } from './output.js';

/** A line that is redrawn while work runs. Only on a terminal; elsewhere nothing is written. */
export interface ProgressLine {
  /** Shows a text, at most ten times a second. */
  show(text: () => string): void;
  /** Removes the line, so that other text can follow. */
  clear(): void;
}

export function openProgressLine({ live }: Pick<Output, 'live'>): ProgressLine {
  let last = 0;
  return {
    show: (text) => {
      const now = performance.now();
      if (!live.isEnabled || now - last < 100) return;
      last = now;
      live.show([text()]);
    },
    clear: () => live.clear(),
  };
}
