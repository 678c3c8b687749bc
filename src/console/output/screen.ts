import { host } from '../command/host.js';
import { type LiveStream, openLiveLines } from './live.js';
import { sanitizeText } from './sanitize.js';

/** Lines of data that are redrawn on a terminal and appended elsewhere. */
export interface Screen {
  readonly redraws: boolean;
  show(lines: readonly string[]): void;
}

export function openScreen(stream: LiveStream = host().stdout): Screen {
  const live = openLiveLines(stream);
  return {
    redraws: live.isEnabled,
    show: (lines) => {
      if (live.isEnabled) live.show(lines);
      else stream.write(lines.map((line) => `${sanitizeText(line)}\n`).join(''));
    },
  };
}
