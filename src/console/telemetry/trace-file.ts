import { closeSync, openSync, writeSync } from 'node:fs';
import type { TraceEvent } from '../../engine/telemetry/trace.js';
import { MillraceError } from '../../kernel/error.js';

/** A trace file. It is opened at the start, so that an unwritable path fails before the run, and written at the end. */
export interface TraceFile {
  readonly path: string;
  /** `about` describes the whole trace. */
  write(events: Iterable<TraceEvent>, about: Readonly<Record<string, unknown>>): void;
  close(): void;
}

/** Characters per write: an event has some 150. */
const MAX_WRITE_CHARACTERS = 2 ** 20;

/** The text of a trace, in parts of about a mebibyte. `about` describes the whole. */
export function* traceText(
  events: Iterable<TraceEvent>,
  about: Readonly<Record<string, unknown>>,
): Generator<string, void, undefined> {
  let part = `{"displayTimeUnit":"ms","otherData":${JSON.stringify(about)},"traceEvents":[`;
  let isFirst = true;
  for (const event of events) {
    part += `${isFirst ? '' : ','}\n${JSON.stringify(event)}`;
    isFirst = false;
    if (part.length < MAX_WRITE_CHARACTERS) continue;
    yield part;
    part = '';
  }
  yield `${part}\n]}\n`;
}

export function openTrace(path: string): TraceFile {
  let file: number | undefined = withFileErrors(path, () => openSync(path, 'w'));
  return {
    path,
    write: (events, about) => {
      const open = file;
      if (open === undefined) return;
      withFileErrors(path, () => {
        for (const part of traceText(events, about)) writeSync(open, part);
      });
    },
    close: () => {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

function withFileErrors<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot write ${path}: ${(cause as Error).message}`,
      asked: `a trace in ${path}`,
      advice: 'name a file in a writable folder, on a disk with free space',
      cause,
    });
  }
}
