import { open } from 'node:fs/promises';
import { MAX_QUBITS, realBytes } from '../kernel/encoding.js';
import { type ArrowFile, type Message, type Messages, openMessages } from './arrow/messages.js';
import { type Column, columnIn, layoutIn } from './arrow/metadata.js';
import { BatchRows } from './arrow/rows.js';
import { RowChecks } from './column.js';
import { EventLoopTurns } from './event-loop-turns.js';
import { allocateValues } from './raw.js';
import { badFile, type Source, type SourceOptions, samplesPerRead, withFileErrors } from './source.js';

/**
 * Arrow IPC, as file (also called Feather version 2) or stream: lists of floats in the first column. The metadata is
 * checked against the file before anything is read by it; values are read some MiB at a time.
 */
export async function openArrow(path: string, options: SourceOptions): Promise<Source> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const arrowFile: ArrowFile = { path, file, size, turns: new EventLoopTurns(options.signal) };
    const messages = await openMessages(arrowFile);
    const column = columnIn(path, messages.schema);
    const { length, samples } = await measure(arrowFile, messages, column);
    const atATime = samplesPerRead(length, realBytes(column.precision), options);
    const checks = new RowChecks(path, options);
    async function* batches(allocate = allocateValues) {
      let firstSample = 0;
      for await (const message of messages.batches()) {
        const { layout, rows } = await openRows(arrowFile, message, column);
        for (let first = 0; first < layout.rows; first += atATime) {
          const count = Math.min(atATime, layout.rows - first);
          yield await rows.read(first, count, { length, checks, allocate, firstSample });
        }
        firstSample += layout.rows;
      }
    }
    return {
      length,
      samples,
      precision: column.precision,
      batches: (allocate) => withFileErrors(path, batches(allocate)),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openRows({ path, file, turns }: ArrowFile, message: Message, column: Column) {
  const layout = layoutIn(message.header, column, message.bodyBytes);
  const { compression } = layout;
  const rows = await BatchRows.open(column, layout, { path, file, from: message.bodyFrom, compression, turns });
  return { layout, rows };
}

/** Returns the number of rows and the values per row: from the type, or from the first row that is not null. */
async function measure(arrowFile: ArrowFile, messages: Messages, column: Column) {
  let samples = 0;
  let length = column.size;
  for await (const message of messages.batches()) {
    const layout = layoutIn(message.header, column, message.bodyBytes);
    samples += layout.rows;
    if (length === undefined && layout.rows > 0) {
      length = await (await openRows(arrowFile, message, column)).rows.firstLength();
    }
  }
  const { path } = arrowFile;
  if (samples === 0 || !length)
    throw badFile(path, 'the file has no values', 'write at least one row that is not null');
  if (length > 2 ** MAX_QUBITS) throw badFile(path, `a row has ${length} values`, `write at most 2^${MAX_QUBITS}`);
  return { samples, length };
}
