import { host } from '../command/host.js';
import { legible } from './legible.js';
import { type LiveStream, openLive } from './live.js';

/** Lines of data that are redrawn on a terminal and appended elsewhere. */
export interface Screen {
  readonly redraws: boolean;
  show(lines: readonly string[]): void;
}

export function openScreen(stream: LiveStream = host().stdout): Screen {
  const live = openLive(stream);
  return {
    redraws: live.isThere,
    show: (lines) => {
      if (live.isThere) live.show(lines);
      else stream.write(lines.map((line) => `${legible(line)}\n`).join(''));
    },
  };
}
