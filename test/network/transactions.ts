import { createHash } from 'node:crypto';

/** Reads and hashes transactions and blocks. Shares no code with src. */

export const sha256d = (bytes: Uint8Array): Buffer =>
  createHash('sha256').update(createHash('sha256').update(bytes).digest()).digest();
export const display = (digest: Uint8Array): string => Buffer.from(digest).reverse().toString('hex');

export interface Transaction {
  readonly txid: Buffer;
  readonly wtxid: Buffer;
  readonly input: Buffer;
  readonly inputScript: Buffer;
  readonly outputs: readonly { readonly value: bigint; readonly script: string }[];
  readonly witness: readonly string[];
}

export class Reader {
  at = 0;
  readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
  take(count: number): Buffer {
    if (this.at + count > this.bytes.length) throw new Error('cut short');
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }
  size(): number {
    const first = this.take(1)[0]!;
    if (first < 0xfd) return first;
    return first === 0xfd ? this.take(2).readUInt16LE() : this.take(4).readUInt32LE();
  }
  transaction(): Transaction {
    const start = this.at;
    const version = this.take(4);
    const hasWitness = this.bytes[this.at] === 0;
    if (hasWitness) this.take(2);
    const bodyStart = this.at;
    const inputs = this.size();
    let [input, inputScript]: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)];
    for (let i = 0; i < inputs; i++) {
      input = this.take(36);
      inputScript = this.take(this.size());
      this.take(4);
    }
    const outputs = Array.from({ length: this.size() }, () => {
      const value = this.take(8).readBigUInt64LE();
      return { value, script: this.take(this.size()).toString('hex') };
    });
    const body = this.bytes.subarray(bodyStart, this.at);
    const witness: string[] = [];
    for (let i = 0; hasWitness && i < inputs; i++) {
      for (let n = this.size(); n > 0; n--) witness.push(this.take(this.size()).toString('hex'));
    }
    const lockTime = this.take(4);
    return {
      txid: sha256d(Buffer.concat([version, body, lockTime])),
      wtxid: sha256d(this.bytes.subarray(start, this.at)),
      input,
      inputScript,
      outputs,
      witness,
    };
  }
}

/** Returns a transaction with a witness. Its input does not exist, which the test chains do not check. */
export function madeUp(seed: number): string {
  const outpoint = createHash('sha256').update(`outpoint ${seed}`).digest();
  const output = Buffer.concat([Buffer.alloc(8, seed % 7), Buffer.from('160014', 'hex'), outpoint.subarray(0, 20)]);
  const parts = ['02000000', '0001', '01', outpoint.toString('hex'), '00000000', '00', 'ffffffff', '01'];
  const witness = ['01', '20', outpoint.toString('hex')];
  return [...parts, output.toString('hex'), ...witness, '00000000'].join('');
}

/** The merkle root by its definition, level by level. */
export function merkle(leaves: readonly Buffer[]): Buffer {
  let level = [...leaves];
  while (level.length > 1) {
    if (level.length % 2 === 1) level.push(level.at(-1)!);
    level = Array.from({ length: level.length / 2 }, (_, i) =>
      sha256d(Buffer.concat([level[2 * i]!, level[2 * i + 1]!])),
    );
  }
  return level[0]!;
}

/** The target of compact `bits`. */
export function target(bits: number): bigint {
  return BigInt(bits & 0xffffff) << BigInt(8 * ((bits >>> 24) - 3));
}

export const numberOf = (digest: Uint8Array): bigint => BigInt(`0x${display(digest)}`);
