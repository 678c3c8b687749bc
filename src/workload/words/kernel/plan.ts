import { MillraceError } from '../../../kernel/error.js';
import { type ByteString, fromByteString } from '../space/charset.js';
import { type Mask, widthOf, wordCount } from '../space/mask.js';
import { type Order, slowestFirst } from '../space/order.js';
import { divisorOf } from './divisor.js';

/** A mask's tables for the kernel, written to a device once, and the parameters of each launch. */
export class Plan {
  /** Bytes of a word with its separator. */
  readonly stride: number;
  /** The number of words that fill whole quads: launches that begin at a multiple of it use the same block. */
  readonly align: number;
  readonly near: Uint8Array<ArrayBuffer>;
  readonly middle: Uint8Array<ArrayBuffer>;
  readonly job: JobValues;
  /** Words per period, per block, and until the far characters change. */
  readonly #period: number;
  readonly #block: number;
  readonly #farPeriod: number;
  readonly #phases: number;
  readonly #rows: number;
  readonly #writer: PartialWordWriter;
  readonly #farSize: bigint;
  readonly #run: number;
  readonly #withRun: (run: number) => Plan;
  readonly #runs = new Map<number, Plan>();

  /**
   * `run` is the number of adjacent quads that an item reads from a block and from a row at a time (kernel.ts, runs.ts). Blocks
   * and rows repeat their first quads at the end, so that a run does not wrap around.
   */
  constructor(mask: Mask, order: Order, separator: ByteString, run = 1) {
    this.#run = run;
    this.#withRun = (other) => new Plan(mask, order, separator, other);
    const width = widthOf(mask);
    if (width === undefined) throw unsupportedMask();
    this.stride = width + separator.length;
    this.align = 16 / gcd(16, this.stride);
    this.#phases = this.stride / gcd(16, this.stride);
    this.#writer = new PartialWordWriter(mask, this.stride);
    const fastestFirst = slowestFirst(mask, order).reverse();
    const [near, middle, far] = splitPositions(mask, fastestFirst, this.stride, this.#phases);
    const productOf = (positions: readonly number[]): bigint => wordCount(positions.map((p) => mask[p] ?? []));
    this.#period = Number(productOf(near));
    this.#block = this.#period * periodsOf(this.#period * this.stride);
    this.#rows = Number(productOf(middle));
    this.#farPeriod = this.#period * this.#rows;
    this.#farSize = productOf(far);
    const block = new Uint8Array(this.#block * this.stride);
    this.#writer.write(near, 0n, this.#block, block);
    const ends = fromByteString(separator);
    for (let at = width; ends.length > 0 && at < block.length; at += this.stride) block.set(ends, at);
    this.near = rotatedBlocks(block, this.align, this.stride, 16 * (run - 1));
    this.middle = new Uint8Array(this.#rows * this.rowBytes);
    this.#writeRows(middle, 0n, this.#rows, this.middle);
    this.#far = far;
    const common = {
      block: divisorOf(this.#blockQuads),
      period: divisorOf(this.#period * this.stride),
      phases: divisorOf(this.#phases),
      rows: divisorOf(this.#rows),
      periods: this.#block / this.#period,
    };
    this.job =
      run === 1
        ? { ...common, step: (16 / gcd(16, this.stride)) % this.#phases }
        : {
            ...common,
            rowQuads: this.rowBytes / 16,
            nextQuad: run % this.#blockQuads,
            nextPhase: run % this.#phases,
          };
  }

  /** Returns the plan of the same words for another run. */
  withRun(run: number): Plan {
    if (run === this.#run) return this;
    const known = this.#runs.get(run) ?? this.#withRun(run);
    this.#runs.set(run, known);
    return known;
  }

  readonly #far: readonly number[];

  /** Bytes of a row: one quad for each phase, and the first ones again. */
  get rowBytes(): number {
    return (this.#phases + this.#run - 1) * 16;
  }

  get #blockQuads(): number {
    return (this.#block * this.stride) / 16;
  }

  /** Returns the largest size in bytes of the far rows of a launch of `quads` quads. */
  farBytes(quads: number): number {
    return (Math.floor((quads * 16) / this.stride / this.#farPeriod) + 3) * this.rowBytes;
  }

  /** Returns the parameters of a launch of `quads` quads from the word `start` on; writes its far rows into `far`. */
  launch(start: bigint, quads: number, far: Uint8Array): { readonly chunk: ChunkValues; readonly far: Uint8Array } {
    const within = Number(start % BigInt(this.#block));
    const periods = (start - BigInt(within)) / BigInt(this.#period);
    const row = Number(periods % BigInt(this.#rows));
    const head = within % this.align;
    const quad = ((within - head) * this.stride) / 16;
    const shift = head * this.stride;
    // A quad that ends with its period also reads the next period.
    const passed = row + Math.floor(((quad + quads) * 16 + shift) / (this.#period * this.stride)) + 1;
    const bytes = far.subarray(0, (Math.floor(passed / this.#rows) + 1) * this.rowBytes);
    const first = (periods / BigInt(this.#rows)) % this.#farSize;
    this.#writeRows(this.#far, first, bytes.length / this.rowBytes, bytes);
    const block = head * (this.#blockQuads + this.#run - 1);
    return { chunk: { quad, shift, block, row }, far: bytes };
  }

  /**
   * Writes a row for each of `count` combinations of some positions: one quad per phase. Phases are in the order of their
   * columns, or for runs in the order of the output's quads.
   */
  #writeRows(positions: readonly number[], first: bigint, count: number, into: Uint8Array): void {
    const { stride } = this;
    const texts = new Uint8Array(count * stride);
    this.#writer.write(positions, first, count, texts);
    const step = this.#run === 1 ? gcd(16, stride) : 16;
    let at = 0;
    for (let row = 0; row < count; row++) {
      for (let phase = 0; phase < this.rowBytes / 16; phase++) {
        let column = (phase * step) % stride;
        for (let k = 0; k < 16; k++, at++) {
          into[at] = texts[row * stride + column] ?? 0;
          column = column + 1 === stride ? 0 : column + 1;
        }
      }
    }
  }
}

type JobValues = Readonly<Record<'block' | 'period' | 'phases' | 'rows', readonly number[]>> & {
  readonly periods: number;
  /** Without runs. */
  readonly step?: number;
  /** With runs. */
  readonly rowQuads?: number;
  readonly nextQuad?: number;
  readonly nextPhase?: number;
};

export type ChunkValues = Readonly<Record<'quad' | 'shift' | 'block' | 'row', number>>;

/** Words with characters at some positions only; all other bytes are zero. */
class PartialWordWriter {
  readonly #mask: Mask;
  readonly #stride: number;
  readonly #columns: readonly number[];
  readonly #bytes: readonly (readonly Uint8Array[])[];

  constructor(mask: Mask, stride: number) {
    this.#mask = mask;
    this.#stride = stride;
    let column = 0;
    this.#columns = mask.map(([first = '']) => {
      const here = column;
      column += first.length;
      return here;
    });
    this.#bytes = mask.map((charset) => charset.map(fromByteString));
  }

  /** Writes combinations of the positions; the first changes fastest. Wraps around after the last combination. */
  write(positions: readonly number[], first: bigint, count: number, into: Uint8Array): void {
    let rest = first;
    const digits = positions.map((position) => {
      const size = BigInt(this.#mask[position]?.length ?? 1);
      const digit = Number(rest % size);
      rest /= size;
      return digit;
    });
    for (let word = 0; word < count; word++) {
      const at = word * this.#stride;
      for (let k = 0; k < positions.length; k++) {
        const position = positions[k] ?? 0;
        into.set(this.#bytes[position]?.[digits[k] ?? 0] ?? [], at + (this.#columns[position] ?? 0));
      }
      for (let k = 0; k < positions.length; k++) {
        const next = (digits[k] ?? 0) + 1;
        digits[k] = next === this.#mask[positions[k] ?? 0]?.length ? 0 : next;
        if (digits[k] !== 0) break;
      }
    }
  }
}

/** A block is read constantly and should fit into a core's L1 cache, which has 32 to 64 KiB and more. */
const TARGET_BLOCK_BYTES = 32 << 10;
/** The host can then write the far rows fast enough for the fastest device: 16 bytes for each 2^18 words. */
const MIN_FAR_PERIOD = 1 << 18;
const MAX_MIDDLE_BYTES = 2 << 20;
/** A larger single charset does not fit into tables; this happens with UTF-8. */
const MAX_BLOCK_BYTES = 1 << 20;

/** Divides the positions into near, middle and far. */
function splitPositions(
  mask: Mask,
  fastestFirst: readonly number[],
  stride: number,
  phases: number,
): [number[], number[], number[]] {
  const sizes = fastestFirst.map((position) => mask[position]?.length ?? 1);
  const blockBytes = (words: number): number => words * stride * periodsOf(words * stride);
  let near = 1;
  let words = sizes[0] ?? 1;
  if (blockBytes(words) > MAX_BLOCK_BYTES) throw unsupportedMask();
  // A quad may contain the end of one period, not of two, so a period has at least 16 bytes.
  const isShort = (): boolean => words * stride < 16;
  while (near < sizes.length && (isShort() || blockBytes(words * (sizes[near] ?? 1)) <= TARGET_BLOCK_BYTES)) {
    words *= sizes[near++] ?? 1;
  }
  let end = near;
  let rows = 1;
  while (
    end < sizes.length &&
    words * rows < MIN_FAR_PERIOD &&
    rows * (sizes[end] ?? 1) * phases * 16 <= MAX_MIDDLE_BYTES
  ) {
    rows *= sizes[end++] ?? 1;
  }
  return [fastestFirst.slice(0, near), fastestFirst.slice(near, end), fastestFirst.slice(end)];
}

/** Returns the repeated block, rotated to begin at each of its first `align` words; each time with `more` bytes after it. */
function rotatedBlocks(block: Uint8Array, align: number, stride: number, more: number): Uint8Array<ArrayBuffer> {
  const each = block.length + more;
  const all = new Uint8Array(each * align);
  for (let word = 0; word < align; word++) {
    const rotated = all.subarray(word * each, (word + 1) * each);
    const from = word * stride;
    rotated.set(block.subarray(from));
    rotated.set(block.subarray(0, from), block.length - from);
    for (let at = block.length; at < each; at++) rotated[at] = rotated[at - block.length] ?? 0;
  }
  return all;
}

/** Returns the number of periods in a block. */
const periodsOf = (bytes: number): number => 16 / gcd(16, bytes);

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

const unsupportedMask = (): MillraceError =>
  new MillraceError({
    code: 'device-capability',
    message: 'tables support neither words of several lengths nor charsets of more than 1 MiB',
    asked: 'words of this mask on a device',
    advice: 'make them on the host',
  });
