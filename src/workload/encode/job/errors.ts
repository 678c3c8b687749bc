import { type ErrorCode, MillraceError } from '../../../kernel/error.js';

/** The reason for a refusal, for programs: one word for each rule. */
export type EncodeFault =
  | 'encoding' // no such encoding
  | 'precision' // no such precision
  | 'qubits' // none, or more than 30
  | 'empty' // no values
  | 'samples' // no samples, or samples of no values
  | 'size' // another number of values than the encoding takes
  | 'norm' // nothing to normalise: zero, or too small for its square
  | 'finite' // NaN or an infinity
  | 'range' // a basis index past the last state; an angle too large to mean anything
  | 'negative' // a basis index below zero
  | 'integer' // a basis index with a fraction
  | 'dtype' // an unsupported type
  | 'rank' // neither one nor two dimensions
  | 'format' // a file whose content is not what its name says
  | 'source' // an unsupported source, or a raw one without the length of a sample
  | 'memory' // more than the device has
  | 'consumed' // handed over or released already
  | 'handover'; // memory or streams that other libraries cannot share

const codes: Readonly<Record<EncodeFault, ErrorCode>> = {
  encoding: 'usage',
  precision: 'usage',
  qubits: 'usage',
  empty: 'input-format',
  samples: 'input-format',
  size: 'input-format',
  norm: 'input-format',
  finite: 'input-format',
  range: 'input-format',
  negative: 'input-format',
  integer: 'input-format',
  dtype: 'input-format',
  rank: 'input-format',
  format: 'input-format',
  source: 'usage',
  memory: 'device-memory',
  consumed: 'usage',
  handover: 'device-capability',
};

export interface EncodeFaultDetails {
  readonly message: string;
  readonly asked: string;
  readonly advice: string;
  /** The sample, counted from 0, and the value in it. */
  readonly sample?: number;
  readonly position?: number;
  readonly cause?: unknown;
}

/** The error of samples that cannot be encoded. A rejected batch yields nothing. */
export class EncodeError extends MillraceError {
  readonly fault: EncodeFault;
  readonly sample: number | undefined;
  readonly position: number | undefined;

  constructor(fault: EncodeFault, details: EncodeFaultDetails) {
    const { message, asked, advice, cause } = details;
    super({ code: codes[fault], message, asked, advice, ...(cause !== undefined && { cause }) });
    this.name = 'EncodeError';
    this.fault = fault;
    this.sample = details.sample;
    this.position = details.position;
  }
}
