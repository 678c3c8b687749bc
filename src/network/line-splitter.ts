/**
 * Splits a stream of bytes into lines. It buffers at most one line of the maximum length, so a server that never ends a
 * line cannot make it grow.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #heldBytes = 0;

  constructor(maxBytes = MAX_LINE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Returns the lines that end in this piece, without line ends and without empty lines. Undefined if a line is too long.
   */
  push(piece: Buffer): string[] | undefined {
    const lines: string[] = [];
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      if (this.#heldBytes + end - from > this.#maxBytes) return undefined;
      const last = piece.subarray(from, end);
      const line = (this.#heldBytes === 0 ? last : Buffer.concat([...this.#parts, last])).toString('utf8').trim();
      this.#parts = [];
      this.#heldBytes = 0;
      from = end + 1;
      if (line !== '') lines.push(line);
    }
    if (from === piece.length) return lines;
    this.#heldBytes += piece.length - from;
    if (this.#heldBytes > this.#maxBytes) return undefined;
    // Copied: the piece's memory belongs to the socket, and many small pieces would each retain 64 KiB of it.
    this.#parts.push(Buffer.from(piece.subarray(from)));
    if (this.#parts.length > MAX_PARTS) this.#parts = [Buffer.concat(this.#parts)];
    return lines;
  }
}

/** In bytes. The longest line that pools send is a job, 2 to 30 kB. */
const MAX_LINE_BYTES = 1 << 20;
/** Bytes that arrive one at a time are merged after this many pieces. */
const MAX_PARTS = 1024;
const NEWLINE = 10;
