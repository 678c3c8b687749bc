import type { FieldReader } from '../../../network/fields.js';
import { buildCoinbase } from '../../mining/payout/coinbase.js';
import { blockBody, commitmentOf, merkleBranch, parseTemplate, type Template } from '../../mining/server/template.js';
import type { CoinbaseParams } from '../../mining/server/template-node.js';
import { targetFromBits } from '../kernel/reference.js';
import { coinbaseWith, type HeaderFields, prefixOf, type Work } from './work.js';

/** Parses Bitcoin's templates: the target is the compact one of headers. */
export const parseBitcoinTemplate = (given: unknown): Template<number> => parseTemplate(given, parseBits);

function parseBits(read: FieldReader, given: unknown): number {
  const bits = read.hex32(given, 'bits');
  targetFromBits(bits); // throws if they are invalid
  return bits;
}

/** Builds the work from a template; `mask`: version bits that are rolled. */
export function workOf(template: Template<number>, { id, script, minerTag }: CoinbaseParams, mask: number): Work {
  const { height, value, transactions, hasWitness, version, previous, bits, time } = template;
  const commitment = hasWitness ? commitmentOf(transactions) : undefined;
  const coinbase = buildCoinbase({ height, value, script, commitment, extranonceBytes: EXTRANONCE_BYTES, minerTag });
  const target = targetFromBits(bits);
  return {
    id,
    height,
    version,
    mask,
    previous: Buffer.from(previous, 'hex').reverse(),
    coinbaseStart: coinbase.start,
    coinbaseEnd: coinbase.end,
    extranonceBytes: EXTRANONCE_BYTES,
    branch: merkleBranch(transactions.map(({ txid }) => txid)),
    bits,
    time,
    latestTime: template.latestTime,
    target,
    blockTarget: target,
  };
}

/** The whole block in hex, as `submitblock` takes it. */
export function blockOf(template: Template<number>, work: Work, found: HeaderFields): string {
  const nonce = Buffer.alloc(4);
  nonce.writeUInt32LE(found.nonce);
  const header = Buffer.concat([prefixOf(work, found), nonce]).toString('hex');
  return header + blockBody(template, coinbaseWith(work, found.extranonce));
}

const EXTRANONCE_BYTES = 8;
