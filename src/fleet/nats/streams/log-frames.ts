/**
 * Messages of the log of commits: a line of JSON that says which record they belong to, then bytes of it. A record has as many
 * as its size needs. A message without a record says that the leader lives.
 */
export interface FrameHeader {
  readonly term: number;
  /** Of the record; without one, of the last record. */
  readonly number: number;
  /** Which of the record's messages it is, and how many there are. */
  readonly part: number;
  readonly parts: number;
}

export interface LogFrame extends FrameHeader {
  /** The server's number of the message. */
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

export function framesOf(
  term: number,
  number: number,
  record: Uint8Array | undefined,
): { readonly header: FrameHeader; readonly bytes: Uint8Array }[] {
  const parts = record === undefined ? 0 : Math.max(1, Math.ceil(record.length / MAX_PART));
  return Array.from({ length: Math.max(1, parts) }, (_, part) => {
    const header = { term, number, part, parts };
    return { header, bytes: frameBytes(header, record?.subarray(part * MAX_PART, (part + 1) * MAX_PART)) };
  });
}

export const frameBytes = (header: FrameHeader, bytes: Uint8Array = new Uint8Array()): Uint8Array =>
  Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), bytes]);

/** Only coordinators may write to the stream; what cannot be read is not from a later version of it. */
export function readFrame(sequence: number, message: Uint8Array): LogFrame {
  const bytes = Buffer.from(message);
  const end = bytes.indexOf('\n');
  try {
    const { term, number, part, parts } = JSON.parse(bytes.toString('utf8', 0, end)) as FrameHeader;
    if ([term, number, part, parts].every(Number.isSafeInteger))
      return { sequence, term, number, part, parts, bytes: bytes.subarray(end + 1) };
  } catch {
    // It counts as one of the first term.
  }
  return { sequence, term: 0, number: 0, part: 0, parts: 0, bytes: new Uint8Array() };
}

/** Bytes of a record in one message, which may have 1 MiB. */
const MAX_PART = 900_000;
