/**
 * Rows out of a SQLite file that SQLite itself refuses: every page is looked at by itself, whatever the trees above it
 * have become. Only leaves of tables are read (the file format is documented and does not change); what a page holds is
 * believed by nobody until its mark is checked (salvage.ts), so this may give nonsense and must only never throw.
 */
export type Cells = readonly (string | number | null)[];

/** The size that the ledger is made with. A damaged header cannot be asked. */
export const PAGE_BYTES = 4096;

/** Rows of all pages of a database file. */
export function* rowsInDatabase(file: Uint8Array): Generator<Cells> {
  const pages = Math.ceil(file.length / PAGE_BYTES);
  const page = (number: number): Uint8Array => file.subarray((number - 1) * PAGE_BYTES, number * PAGE_BYTES);
  for (let number = 1; number <= pages; number++) {
    yield* rowsInPage(page(number), number === 1 ? FILE_HEADER : 0, page);
  }
}

/**
 * Rows of all pages in a write-ahead log: of every frame, whether or not a later one replaces it or its transaction was
 * committed. `database` is where the rest of long rows may lie.
 */
export function* rowsInLog(log: Uint8Array, database: Uint8Array): Generator<Cells> {
  const frames = Math.floor(Math.max(0, log.length - LOG_HEADER) / FRAME_BYTES);
  const image = (frame: number): Uint8Array => {
    const at = LOG_HEADER + frame * FRAME_BYTES + FRAME_HEADER;
    return log.subarray(at, at + PAGE_BYTES);
  };
  const newest = new Map<number, number>();
  const number = (frame: number): number => viewOf(log).getUint32(LOG_HEADER + frame * FRAME_BYTES);
  for (let frame = 0; frame < frames; frame++) newest.set(number(frame), frame);
  const page = (wanted: number): Uint8Array => {
    const frame = newest.get(wanted);
    return frame === undefined ? database.subarray((wanted - 1) * PAGE_BYTES, wanted * PAGE_BYTES) : image(frame);
  };
  for (let frame = 0; frame < frames; frame++) {
    yield* rowsInPage(image(frame), number(frame) === 1 ? FILE_HEADER : 0, page);
  }
}

const FILE_HEADER = 100;
const LOG_HEADER = 32;
const FRAME_HEADER = 24;
const FRAME_BYTES = FRAME_HEADER + PAGE_BYTES;
const TABLE_LEAF = 13;

function* rowsInPage(page: Uint8Array, header: number, other: (number: number) => Uint8Array): Generator<Cells> {
  if (page.length < PAGE_BYTES || page[header] !== TABLE_LEAF) return;
  const view = viewOf(page);
  const cells = Math.min(view.getUint16(header + 3), MOST_CELLS);
  for (let cell = 0; cell < cells; cell++) {
    const pointer = header + 8 + 2 * cell;
    if (pointer + 2 > PAGE_BYTES) return;
    const row = rowAt(page, view.getUint16(pointer), other);
    if (row) yield row;
  }
}

const MOST_CELLS = PAGE_BYTES / 4;
/** Longer rows are none of ours. */
const MOST_BYTES = 16 * 2 ** 20;

function rowAt(page: Uint8Array, at: number, other: (number: number) => Uint8Array): Cells | undefined {
  const [length, afterLength] = varint(page, at);
  const [, start] = varint(page, afterLength); // the row's number
  if (length <= 0 || length > MOST_BYTES || start >= PAGE_BYTES) return undefined;
  const local = localBytes(length);
  if (start + local > PAGE_BYTES) return undefined;
  const payload = new Uint8Array(length);
  payload.set(page.subarray(start, start + local));
  if (local < length) {
    if (start + local + 4 > PAGE_BYTES) return undefined;
    let next = viewOf(page).getUint32(start + local);
    for (let filled = local; filled < length; ) {
      const rest = other(next);
      if (next === 0 || rest.length < PAGE_BYTES) return undefined;
      const part = rest.subarray(4, 4 + Math.min(PAGE_BYTES - 4, length - filled));
      payload.set(part, filled);
      filled += part.length;
      next = viewOf(rest).getUint32(0);
    }
  }
  return cellsOf(payload);
}

/** How much of a row stands in its own page; the rest in pages of their own. */
function localBytes(length: number): number {
  if (length <= PAGE_BYTES - 35) return length;
  const least = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23;
  const local = least + ((length - least) % (PAGE_BYTES - 4));
  return local <= PAGE_BYTES - 35 ? local : least;
}

function cellsOf(payload: Uint8Array): Cells | undefined {
  const [headerBytes, first] = varint(payload, 0);
  if (headerBytes > payload.length) return undefined;
  const cells: (string | number | null)[] = [];
  let at = headerBytes;
  for (let header = first; header < headerBytes; ) {
    const [kind, next] = varint(payload, header);
    header = next;
    const bytes = kind >= 12 ? Math.floor((kind - 12) / 2) : (NUMBER_BYTES[kind] ?? 0);
    if (at + bytes > payload.length || kind === 7 || kind === 10 || kind === 11) return undefined;
    cells.push(cellOf(kind, payload.subarray(at, at + bytes)));
    at += bytes;
  }
  return cells;
}

/** Bytes of a whole number of kind 0 to 9; kind 7 is a float, which the ledger has none of. */
const NUMBER_BYTES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0] as const;

function cellOf(kind: number, bytes: Uint8Array): string | number | null {
  if (kind === 0) return null;
  if (kind === 8 || kind === 9) return kind - 8;
  if (kind >= 12) return kind % 2 === 1 ? TEXT.decode(bytes) : null;
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return Number(BigInt.asIntN(8 * bytes.length, value));
}

const TEXT = new TextDecoder();

/** SQLite's own numbers of one to nine bytes, and where the next begins. Beyond 2^53 they are nonsense here. */
function varint(bytes: Uint8Array, at: number): readonly [value: number, next: number] {
  let value = 0;
  for (let length = 0; length < 8; length++) {
    const byte = bytes[at + length] ?? 0;
    value = value * 128 + (byte & 127);
    if (byte < 128) return [value, at + length + 1];
  }
  return [value * 256 + (bytes[at + 8] ?? 0), at + 9];
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);
