import { MillraceError } from '../../../kernel/error.js';
import { type FieldReader, fieldReader } from '../../../network/fields.js';
import { doubleHash } from '../double-hash.js';
import { commitmentScript, compactSize, withWitness } from '../payout/coinbase.js';

/** A block template by getblocktemplate (BIP 22, 23 and 145). Every field is checked: the node is not trusted. */
export interface Template<Bits> {
  readonly version: number;
  readonly previous: string;
  readonly height: number;
  readonly value: bigint;
  /** The target, in the coin's own encoding. */
  readonly bits: Bits;
  readonly time: number;
  readonly latestTime: number;
  readonly transactions: readonly TemplateTransaction[];
  readonly hasWitness: boolean;
  readonly longPollId: string | undefined;
}

export interface TemplateTransaction {
  readonly data: string;
  readonly txid: string;
  /** Includes the witness. */
  readonly hash: string;
}

/** Parses a template and checks that its fields agree. `parseBits` reads the coin's target and throws if it is invalid. */
export function parseTemplate<Bits>(
  given: unknown,
  parseBits: (read: FieldReader, bits: unknown) => Bits,
): Template<Bits> {
  const read = fieldReader('the block template');
  const all = read.object(given, 'it');
  if (all.coinbasevalue === undefined && all.coinbasetxn !== undefined) throw refused('it contains its own coinbase');
  const transactions = read
    .list(all.transactions, 'transactions', MAX_TRANSACTIONS)
    .map((one, at) => transactionIn(read, one, `transactions[${at}]`));
  const time = read.integer(all.curtime, 'curtime', 0, 0xffffffff);
  const hasWitness = all.default_witness_commitment !== undefined && isSegwitActive(read, all.rules);
  if (hasWitness) {
    const theirs = read.hex(all.default_witness_commitment, 'default_witness_commitment', { max: 100 });
    const ours = Buffer.from(commitmentOf(transactions)).toString('hex');
    if (theirs !== ours) throw refused(`its transactions have the witness commitment ${ours}, not ${theirs}`);
  }
  const range = all.noncerange === undefined ? ALL_NONCES : read.text(all.noncerange, 'noncerange', 16);
  if (range.toLowerCase() !== ALL_NONCES) throw refused(`it allows the nonces ${range} only`);
  const bits = parseBits(read, all.bits);
  return {
    // Nodes write the version as a signed number.
    version: read.integer(all.version, 'version', -0x80000000, 0xffffffff) >>> 0,
    previous: read.hex(all.previousblockhash, 'previousblockhash', { min: 32, max: 32 }),
    height: read.integer(all.height, 'height', 0, 0xffffffff),
    value: BigInt(read.integer(all.coinbasevalue, 'coinbasevalue', 0, MAX_VALUE)),
    bits,
    time,
    latestTime: latestTime(read, all, time),
    transactions,
    hasWitness,
    longPollId: all.longpollid === undefined ? undefined : read.text(all.longpollid, 'longpollid', 1024),
  };
}

/** The part of a block after the header, in hex, as `submitblock` takes it. */
export function blockBody({ transactions, hasWitness }: Template<unknown>, stripped: Uint8Array): string {
  const start = [compactSize(transactions.length + 1), hasWitness ? withWitness(stripped) : stripped];
  return Buffer.concat(start).toString('hex') + transactions.map(({ data }) => data).join('');
}

/** The merkle root from a coinbase without its witness and its merkle branch. */
export const merkleRootOf = (coinbase: Uint8Array, branch: readonly Uint8Array[]): Uint8Array =>
  foldBranch(doubleHash(coinbase), branch);

const foldBranch = (first: Uint8Array, branch: readonly Uint8Array[]): Uint8Array =>
  branch.reduce((below, beside) => doubleHash(Buffer.concat([below, beside])), first);

/** The merkle branch of the first transaction, from the ids of all others in display order. */
export function merkleBranch(others: readonly string[]): Uint8Array[] {
  const branch: Uint8Array[] = [];
  // The first node of each level depends on the coinbase, which is not known yet.
  let level: readonly Uint8Array[] = [Buffer.alloc(32), ...others.map((id) => Buffer.from(id, 'hex').reverse())];
  while (level.length > 1) {
    const [, beside] = level;
    if (beside) branch.push(beside);
    const nodes = level;
    level = nodes.flatMap((left, at) =>
      at % 2 === 0 ? [doubleHash(Buffer.concat([left, nodes[at + 1] ?? left]))] : [],
    );
  }
  return branch;
}

const ALL_NONCES = '00000000ffffffff';
/** A block holds up to 16,666 of the smallest transactions. */
const MAX_TRANSACTIONS = 100_000;
/** All satoshi that will ever exist. */
const MAX_VALUE = 21e14;
/** Seconds after the template's time that are tried; consensus allows two hours after the real time. */
const ROLLED_SECONDS = 600;

function latestTime(read: FieldReader, all: Readonly<Record<string, unknown>>, time: number): number {
  const mutable = all.mutable === undefined ? undefined : read.list(all.mutable, 'mutable', 64);
  if (mutable && !mutable.some((one) => one === 'time' || one === 'time/increment')) return time;
  const maxTime = all.maxtime === undefined ? 0xffffffff : read.integer(all.maxtime, 'maxtime', 0, 0xffffffff);
  return Math.max(time, Math.min(time + ROLLED_SECONDS, maxTime, 0xffffffff));
}

/** A node may send a commitment before segwit is active, and then rejects blocks with the witness for it. */
function isSegwitActive(read: FieldReader, rules: unknown): boolean {
  if (rules === undefined) return true;
  return read.list(rules, 'rules', 64).some((rule) => rule === 'segwit' || rule === '!segwit');
}

function transactionIn(read: FieldReader, given: unknown, field: string): TemplateTransaction {
  const { data, txid, hash } = read.object(given, field);
  const id = { min: 32, max: 32 };
  const known = read.hex(txid ?? hash, `${field}.txid`, id);
  return {
    data: read.hex(data, `${field}.data`, { min: 60, max: 4_000_000 }),
    txid: known,
    hash: hash === undefined ? known : read.hex(hash, `${field}.hash`, id),
  };
}

/** The witness commitment script. The coinbase itself counts as zero. */
export const commitmentOf = (transactions: readonly TemplateTransaction[]): Uint8Array =>
  commitmentScript(foldBranch(Buffer.alloc(32), merkleBranch(transactions.map(({ hash }) => hash))));

function refused(why: string): MillraceError {
  return new MillraceError({
    code: 'input-format',
    message: `the block template cannot be mined: ${why}`,
    asked: 'getblocktemplate',
    advice: 'use a node that serves templates as Bitcoin Core does',
  });
}
