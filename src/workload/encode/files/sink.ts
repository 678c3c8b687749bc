import type { FileHandle } from 'node:fs/promises';
import { extname } from 'node:path';
import { temporaryFile } from '../../../device/cache/temporary.js';
import { MillraceError } from '../../../kernel/error.js';
import { EncodeError } from '../job/errors.js';
import type { Precision } from '../kernel/encoding.js';

/** A file of states. It appears under its name only when it is complete. */
export interface Sink {
  write(states: Uint8Array): Promise<void>;
  /** Completes the file. */
  finish(): Promise<void>;
  /** Removes the incomplete file. */
  discard(): Promise<void>;
}

/** A file format. */
interface Format {
  begin(): Uint8Array;
  /** Returns the bytes of some states, in consecutive pieces. */
  wrap(states: Uint8Array): readonly Uint8Array[];
  /** Returns the bytes after the last state, and those to write at the beginning of the file. */
  end(samples: number): Promise<{ readonly last: Uint8Array; readonly first?: Uint8Array }>;
}

export async function openSink(path: string, qubits: number, precision: Precision): Promise<Sink> {
  const format = await formatOf(path, qubits, precision);
  const rowBytes = 2 ** qubits * (precision === 'f64' ? 16 : 8);
  const { file, commit, discard } = await withWriteError(path, () => temporaryFile(path));
  let samples = 0;
  try {
    await withWriteError(path, () => append(file, format.begin()));
  } catch (error) {
    await discard();
    throw error;
  }
  return {
    write: async (states) => {
      samples += states.byteLength / rowBytes;
      for (const bytes of format.wrap(states)) await withWriteError(path, () => append(file, bytes));
    },
    finish: () =>
      withWriteError(path, async () => {
        const { last, first } = await format.end(samples);
        await append(file, last);
        if (first) await file.write(first, 0, first.length, 0);
        await commit();
      }),
    discard,
  };
}

async function formatOf(path: string, qubits: number, precision: Precision): Promise<Format> {
  const ending = extname(path).toLowerCase();
  if (ending === '.npy') return npy(qubits, precision);
  if (ending === '.arrow' || ending === '.feather' || ending === '.ipc') {
    return (await import('./sink-arrow.js')).arrowFormat(qubits, precision);
  }
  throw new EncodeError('source', {
    message: `cannot write files of type ${ending || '(no extension)'}`,
    asked: `states in ${path}`,
    advice: 'use .npy, .arrow, .feather or .ipc',
  });
}

/** NumPy's format: rows of complex numbers. The header is written again when their number is known. */
function npy(qubits: number, precision: Precision): Format {
  const header = (samples: number): Uint8Array => {
    const type = precision === 'f64' ? '<c16' : '<c8';
    const text = `{'descr': '${type}', 'fortran_order': False, 'shape': (${samples}, ${2 ** qubits}), }`;
    const bytes = Buffer.alloc(HEADER_BYTES, ' ');
    bytes.write('\x93NUMPY\x01\x00', 'latin1');
    bytes.writeUInt16LE(HEADER_BYTES - 10, 8);
    bytes.write(text, 10, 'latin1');
    bytes[HEADER_BYTES - 1] = 0x0a;
    return bytes;
  };
  return {
    begin: () => header(0),
    wrap: (states) => [states],
    end: async (samples) => ({ last: new Uint8Array(0), first: header(samples) }),
  };
}

const HEADER_BYTES = 128;

async function append(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
  }
}

async function withWriteError<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot write ${path}: ${(cause as Error).message}`,
      asked: `states in ${path}`,
      advice: 'name a file in a folder that you may write to, on a disk with free space',
      cause,
    });
  }
}
