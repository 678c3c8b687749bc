import { createHash } from 'node:crypto';
import { TestChain } from './chain.js';
import { judgeProof, retarget } from './gap-proof.js';
import type { NodeChain } from './node-server.js';
import { Reader } from './transactions.js';

/** Testnet's genesis block. */
const GENESIS = 'cee5f695d016eda5137a820588ea1891eb107bb94daccff819849507e5bb17cc';
const VALUE = 20e8;
/** The minimum difficulty of a block: gaps of about 770, one in 10,500 integers. */
export const EASY = 4n << 48n;

/** A Gapcoin chain that parses every block and checks it against the rules. */
export class GapChain extends TestChain implements NodeChain {
  difficulty = EASY;
  /** The tip for which getwork returned each merkle root. */
  readonly #roots = new Map<string, string>();
  readonly #times: number[] = [];

  constructor(payout: string) {
    super(GENESIS, payout);
  }

  template(): Record<string, unknown> {
    return { ...this.offer(VALUE), bits: this.difficulty.toString(16) };
  }

  submit(hex: string): string | null {
    const reader = new Reader(Buffer.from(hex, 'hex'));
    const header = reader.take(84);
    const shift = reader.take(2).readUInt16LE();
    const adder = reader.take(reader.size());
    return this.#conclude(this.#judge(header, shift, adder) ?? this.judgeBody(reader, header, VALUE), header, hex);
  }

  /** Every request returns a new merkle root, as a node's coinbase has a new extranonce each time. */
  getwork(data?: string): unknown {
    if (data === undefined) {
      const root = createHash('sha256').update(`root ${this.#roots.size}`).digest();
      this.#roots.set(root.toString('hex'), this.tip);
      const bytes = Buffer.alloc(80);
      bytes.writeUInt32LE(2, 0);
      bytes.set(Buffer.from(this.tip, 'hex').reverse(), 4);
      bytes.set(root, 36);
      bytes.writeUInt32LE(this.time, 68);
      bytes.writeBigUInt64LE(this.difficulty, 72);
      return { data: bytes.toString('hex'), hash: '00'.repeat(32), difficulty: this.difficulty };
    }
    const bytes = Buffer.from(data, 'hex');
    if (bytes.length < 87) return this.#conclude('too short', bytes, data) === null;
    const header = bytes.subarray(0, 84);
    const isKnown = this.#roots.get(header.subarray(36, 68).toString('hex')) === this.tip;
    const why = isKnown ? this.#judge(header, bytes.readUInt16LE(84), bytes.subarray(86)) : 'unknown root';
    return this.#conclude(why, header, data) === null;
  }

  #judge(header: Buffer, shift: number, adder: Buffer): string | null {
    const why = this.judgePlace(header);
    if (why !== null) return why;
    if (header.readBigUInt64LE(72) !== this.difficulty) return 'bad-diffbits';
    const worth = judgeProof(header, shift, adder);
    if (typeof worth === 'string') return worth;
    return worth >= this.difficulty ? null : 'short-gap';
  }

  #conclude(why: string | null, header: Buffer, hex: string): string | null {
    if (why === null) {
      this.#times.push(header.readUInt32LE(68));
      const [before, last] = this.#times.slice(-2);
      const seconds = last === undefined ? 150 : last - before!;
      this.difficulty = retarget(this.difficulty, seconds, EASY);
      // The intervals between blocks vary, so that the difficulty changes.
      this.time += this.height % 3 === 2 ? 400 : 40;
    }
    return this.take(why, header, hex);
  }
}
