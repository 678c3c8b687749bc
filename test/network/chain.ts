import { display, madeUp, merkle, numberOf, Reader, sha256d, type Transaction, target } from './transactions.js';

const GENESIS = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';
const BITS = 0x207fffff;

/** The common part of the test chains. */
export abstract class TestChain {
  readonly tips: string[];
  readonly blocks: string[] = [];
  readonly refusals: string[] = [];
  /** The script that coinbases must pay. */
  readonly payout: string;
  /** Number of transactions in the next template. */
  transactions = 0;
  time = 1_700_000_000;
  readonly #offered = new Map<string, readonly string[]>();
  readonly #known = new Set<string>();

  constructor(genesis: string, payout: string) {
    this.tips = [genesis];
    this.payout = payout;
  }

  get height(): number {
    return this.tips.length - 1;
  }

  get tip(): string {
    return this.tips.at(-1)!;
  }

  /** The template fields that all coins have. */
  protected offer(value: number): Record<string, unknown> {
    const height = this.height + 1;
    const data = Array.from({ length: this.transactions }, (_, at) => madeUp(height * 100 + at));
    this.#offered.set(this.tip, data);
    return templateOf({ tip: this.tip, height, data, value, time: this.time });
  }

  /** Checks everything after the header; returns the reason for rejection, or null. */
  protected judgeBody(reader: Reader, header: Buffer, value: number): string | null {
    const offered = this.#offered.get(this.tip) ?? [];
    return judgeBody(reader, header.subarray(36, 68), offered, { height: this.height + 1, payout: this.payout, value });
  }

  /** Checks a header's position in the chain; returns the reason for rejection, or null. */
  protected judgePlace(header: Buffer): string | null {
    if (this.#known.has(display(sha256d(header)))) return 'duplicate';
    if (display(header.subarray(4, 36)) !== this.tip) return 'stale-prevblk';
    const time = header.readUInt32LE(68);
    if (time < this.time - 3600) return 'time-too-old';
    return time > this.time + 7200 ? 'time-too-new' : null;
  }

  /** Appends a block, unless there is a reason for rejection, which it returns. */
  protected take(why: string | null, header: Buffer, hex: string): string | null {
    if (why !== null) this.refusals.push(why);
    else {
      const hash = display(sha256d(header));
      this.#known.add(hash);
      this.blocks.push(hex);
      this.tips.push(hash);
    }
    return why;
  }
}

/** A regtest chain that parses every block and checks it against the rules. */
export class RegtestChain extends TestChain {
  constructor(payout: string) {
    super(GENESIS, payout);
  }

  template(): Record<string, unknown> {
    return {
      ...this.offer(this.#value(this.height + 1)),
      target: target(BITS).toString(16).padStart(64, '0'),
      noncerange: '00000000ffffffff',
      bits: BITS.toString(16),
    };
  }

  /** Returns null, or the reason for rejection. */
  submit(hex: string): string | null {
    const reader = new Reader(Buffer.from(hex, 'hex'));
    const header = reader.take(80);
    const why = this.#judge(header) ?? this.judgeBody(reader, header, this.#value(this.height + 1));
    if (why === null) this.time += 600;
    return this.take(why, header, hex);
  }

  #value(height: number): number {
    return Math.floor(50e8 / 2 ** Math.floor(height / 150));
  }

  #judge(header: Buffer): string | null {
    const why = this.judgePlace(header);
    if (why !== null) return why;
    if (header.readUInt32LE(72) !== BITS) return 'bad-diffbits';
    if (numberOf(sha256d(header)) > target(BITS)) return 'high-hash';
    return (header.readUInt32LE(0) & 0xe0000000) >>> 0 === 0x20000000 ? null : 'bad-version';
  }
}

interface Offered {
  readonly tip: string;
  readonly height: number;
  /** The transactions, in hex. */
  readonly data: readonly string[];
  readonly value: number;
  readonly time: number;
}

function templateOf({ tip, height, data, value, time }: Offered): Record<string, unknown> {
  const parsed = data.map((one) => new Reader(Buffer.from(one, 'hex')).transaction());
  const witnessRoot = merkle([Buffer.alloc(32), ...parsed.map(({ wtxid }) => wtxid)]);
  const commitment = sha256d(Buffer.concat([witnessRoot, Buffer.alloc(32)]));
  return {
    version: 0x20000000,
    rules: ['csv', '!segwit', 'taproot'],
    previousblockhash: tip,
    transactions: data.map((one, at) => ({
      data: one,
      txid: display(parsed[at]!.txid),
      hash: display(parsed[at]!.wtxid),
      depends: [],
      fee: 0,
    })),
    coinbasevalue: value,
    longpollid: `${tip}${data.length}`,
    mintime: time - 3600,
    mutable: ['time', 'transactions', 'prevblock'],
    curtime: time,
    height,
    default_witness_commitment: `6a24aa21a9ed${commitment.toString('hex')}`,
  };
}

interface ExpectedCoinbase {
  readonly height: number;
  /** The script. */
  readonly payout: string;
  readonly value: number;
}

/** The block must have these transactions. */
function judgeBody(
  reader: Reader,
  root: Uint8Array,
  data: readonly string[],
  { height, payout, value }: ExpectedCoinbase,
): string | null {
  const all = Array.from({ length: reader.size() }, () => reader.transaction());
  if (reader.at !== reader.bytes.length) return 'too long';
  if (!merkle(all.map(({ txid }) => txid)).equals(root)) return 'bad-txnmrklroot';
  const [coinbase, ...others] = all;
  const { input, inputScript, outputs, witness } = coinbase!;
  const isOther = ({ wtxid }: Transaction, at: number): boolean =>
    !wtxid.equals(new Reader(Buffer.from(data[at]!, 'hex')).transaction().wtxid);
  if (others.length !== data.length || others.some(isOther)) return 'bad-txns';
  if (!input.equals(Buffer.concat([Buffer.alloc(32), Buffer.alloc(4, 0xff)]))) return 'bad-cb-missing';
  if (inputScript.length < 2 || inputScript.length > 100) return 'bad-cb-length';
  // Written out as in Script, independent of the code under test.
  const pushed =
    height <= 16
      ? Buffer.of(0x50 + height)
      : height < 128
        ? Buffer.of(1, height)
        : Buffer.of(2, height & 255, height >> 8);
  if (!inputScript.subarray(0, pushed.length).equals(pushed)) return 'bad-cb-height';
  const paid = outputs.filter(({ script }) => script === payout).reduce((sum, one) => sum + one.value, 0n);
  if (paid !== BigInt(value)) return 'bad-cb-amount';
  const witnessRoot = merkle([Buffer.alloc(32), ...others.map(({ wtxid }) => wtxid)]);
  if (witness.length !== 1 || witness[0] !== '00'.repeat(32)) return 'bad-witness-nonce-size';
  const commitment = sha256d(Buffer.concat([witnessRoot, Buffer.from(witness[0], 'hex')])).toString('hex');
  const isCommitted = outputs.some(({ script }) => script === `6a24aa21a9ed${commitment}`);
  return isCommitted ? null : 'bad-witness-merkle-match';
}
