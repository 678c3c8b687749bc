import { display, madeUp, merkle, numberOf, Reader, sha256d, target } from './transactions.js';

const GENESIS = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';
const BITS = 0x207fffff;

/** A regtest chain that believes nothing: every block is taken apart and held against the rules. */
export class RegtestChain {
  readonly tips: string[] = [GENESIS];
  readonly blocks: string[] = [];
  readonly refusals: string[] = [];
  readonly #offered = new Map<string, readonly string[]>();
  readonly #known = new Set<string>();
  readonly payout: string;
  /** How many transactions the next template has. */
  transactions = 0;
  time = 1_700_000_000;

  constructor(payout: string) {
    this.payout = payout;
  }

  get height(): number {
    return this.tips.length - 1;
  }

  get tip(): string {
    return this.tips.at(-1)!;
  }

  template(): Record<string, unknown> {
    const height = this.height + 1;
    const data = Array.from({ length: this.transactions }, (_, at) => madeUp(height * 100 + at));
    this.#offered.set(this.tip, data);
    const parsed = data.map((one) => new Reader(Buffer.from(one, 'hex')).transaction());
    const witnessRoot = merkle([Buffer.alloc(32), ...parsed.map(({ wtxid }) => wtxid)]);
    const commitment = sha256d(Buffer.concat([witnessRoot, Buffer.alloc(32)]));
    return {
      version: 0x20000000,
      rules: ['csv', '!segwit', 'taproot'],
      previousblockhash: this.tip,
      transactions: data.map((one, at) => ({
        data: one,
        txid: display(parsed[at]!.txid),
        hash: display(parsed[at]!.wtxid),
        depends: [],
        fee: 0,
      })),
      coinbasevalue: this.#value(height),
      longpollid: `${this.tip}${this.transactions}`,
      target: target(BITS).toString(16).padStart(64, '0'),
      mintime: this.time - 3600,
      mutable: ['time', 'transactions', 'prevblock'],
      noncerange: '00000000ffffffff',
      curtime: this.time,
      bits: BITS.toString(16),
      height,
      default_witness_commitment: `6a24aa21a9ed${commitment.toString('hex')}`,
    };
  }

  /** null, or why not. */
  submit(hex: string): string | null {
    const why = this.#judge(hex);
    if (why !== null) this.refusals.push(why);
    return why;
  }

  #value(height: number): number {
    return Math.floor(50e8 / 2 ** Math.floor(height / 150));
  }

  #judge(hex: string): string | null {
    const reader = new Reader(Buffer.from(hex, 'hex'));
    const header = reader.take(80);
    const digest = sha256d(header);
    const hash = display(digest);
    if (this.#known.has(hash)) return 'duplicate';
    if (display(header.subarray(4, 36)) !== this.tip) return 'stale-prevblk';
    if (header.readUInt32LE(72) !== BITS) return 'bad-diffbits';
    if (numberOf(digest) > target(BITS)) return 'high-hash';
    const time = header.readUInt32LE(68);
    if (time < this.time - 3600) return 'time-too-old';
    if (time > this.time + 7200) return 'time-too-new';
    if ((header.readUInt32LE(0) & 0xe0000000) >>> 0 !== 0x20000000) return 'bad-version';
    const all = Array.from({ length: reader.size() }, () => reader.transaction());
    if (reader.at !== reader.bytes.length) return 'too long';
    if (!merkle(all.map(({ txid }) => txid)).equals(header.subarray(36, 68))) return 'bad-txnmrklroot';
    const [coinbase, ...others] = all;
    const wanted = this.#offered.get(this.tip) ?? [];
    if (others.length !== wanted.length) return 'bad-txns';
    const isOther = others.some(
      ({ wtxid }, at) => !wtxid.equals(new Reader(Buffer.from(wanted[at]!, 'hex')).transaction().wtxid),
    );
    if (isOther) return 'bad-txns';
    const why = this.#judgeCoinbase(coinbase!, others);
    if (why !== null) return why;
    this.#known.add(hash);
    this.blocks.push(hex);
    this.tips.push(hash);
    this.time += 600;
    return null;
  }

  #judgeCoinbase(
    { input, inputScript, outputs, witness }: ReturnType<Reader['transaction']>,
    others: readonly ReturnType<Reader['transaction']>[],
  ): string | null {
    const height = this.height + 1;
    if (!input.equals(Buffer.concat([Buffer.alloc(32), Buffer.alloc(4, 0xff)]))) return 'bad-cb-missing';
    if (inputScript.length < 2 || inputScript.length > 100) return 'bad-cb-length';
    // By the table of Script's own numbers, not by a rule.
    const wanted =
      height <= 16
        ? Buffer.of(0x50 + height)
        : height < 128
          ? Buffer.of(1, height)
          : Buffer.of(2, height & 255, height >> 8);
    if (!inputScript.subarray(0, wanted.length).equals(wanted)) return 'bad-cb-height';
    const paid = outputs.filter(({ script }) => script === this.payout).reduce((sum, { value }) => sum + value, 0n);
    if (paid !== BigInt(this.#value(height))) return 'bad-cb-amount';
    const witnessRoot = merkle([Buffer.alloc(32), ...others.map(({ wtxid }) => wtxid)]);
    if (witness.length !== 1 || witness[0] !== '00'.repeat(32)) return 'bad-witness-nonce-size';
    const commitment = sha256d(Buffer.concat([witnessRoot, Buffer.from(witness[0], 'hex')])).toString('hex');
    const isCommitted = outputs.some(({ script }) => script === `6a24aa21a9ed${commitment}`);
    return isCommitted ? null : 'bad-witness-merkle-match';
  }
}
