import { EncodeError } from '../job/errors.js';

/** The ways in which numbers become the amplitudes of a state. */
export const encodings = ['amplitude', 'angle', 'basis', 'phase', 'iqp-z', 'iqp'] as const;
export type Encoding = (typeof encodings)[number];

/** The type of the two floats of an amplitude. */
export type Precision = 'f32' | 'f64';

/** The order of qubits in an amplitude's index: qubit 0 is the lowest bit (as in Qiskit) or the highest (PennyLane). */
export type QubitOrder = 'little' | 'big';

export const MAX_QUBITS = 30;

/** The encoding and size of states, and the length of their samples. */
export interface StateShape {
  readonly encoding: Encoding;
  readonly qubits: number;
  /** Values of a sample. */
  readonly length: number;
}

/** Parses the name of an encoding, in upper or lower case. */
export function encodingOf(name: string): Encoding {
  const found = encodings.find((one) => one === name.toLowerCase());
  if (found !== undefined) return found;
  throw new EncodeError('encoding', {
    message: `unknown encoding ${name}`,
    asked: `encoding ${name}`,
    advice: `use ${encodings.join(', ')}`,
  });
}

/** Parses one of the names of a precision. */
export function precisionOf(name: string): Precision {
  const known: Readonly<Record<string, Precision>> = {
    f32: 'f32',
    float: 'f32',
    float32: 'f32',
    f64: 'f64',
    double: 'f64',
    float64: 'f64',
  };
  const found = known[name.toLowerCase()];
  if (found !== undefined) return found;
  throw new EncodeError('precision', {
    message: `unknown precision ${name}`,
    asked: `precision ${name}`,
    advice: `use ${Object.keys(known).join(', ')}`,
  });
}

/** Returns the values per sample; for amplitude, the largest number. */
export function lengthOf(encoding: Encoding, qubits: number): number {
  switch (encoding) {
    case 'amplitude':
      return 2 ** qubits;
    case 'basis':
      return 1;
    case 'iqp':
      return qubits + (qubits * (qubits - 1)) / 2;
    case 'angle':
    case 'phase':
    case 'iqp-z':
      return qubits;
  }
}

export const realBytes = (precision: Precision): 4 | 8 => (precision === 'f64' ? 8 : 4);

/** Bytes of a state. */
export const stateBytes = (qubits: number, precision: Precision): number => 2 ** qubits * 2 * realBytes(precision);

export interface MemoryEstimate {
  readonly hostBytes: number;
  readonly deviceBytes: number;
  readonly totalBytes: number;
}

/** Estimates the memory of a loader: batches read ahead on the host, two batches of states on the device. */
export function estimateMemory(
  encoding: Encoding,
  qubits: number,
  batch: number,
  precision: Precision,
  prefetch: number,
): MemoryEstimate {
  const hostBytes = prefetch * batch * lengthOf(encoding, qubits) * realBytes(precision);
  const deviceBytes = 2 * batch * stateBytes(qubits, precision);
  const totalBytes = hostBytes + deviceBytes;
  if (Number.isSafeInteger(totalBytes)) return { hostBytes, deviceBytes, totalBytes };
  throw new EncodeError('memory', {
    message: 'the estimate exceeds 2^53 bytes',
    asked: `${prefetch} batches of ${batch} samples of ${qubits} qubits`,
    advice: 'use fewer qubits or a smaller batch',
  });
}
