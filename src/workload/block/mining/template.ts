import type { Fields } from '../../../network/fields.js';
import { coinbaseOf } from '../../mining/payout/coinbase.js';
import { bodyOf, branchOf, commitmentOf, parseTemplate, type Template } from '../../mining/server/template.js';
import type { Own } from '../../mining/server/template-node.js';
import { targetFromBits } from '../kernel/reference.js';
import { coinbaseWith, prefixOf, type Try, type Work } from './work.js';

/** Parses Bitcoin's templates: the target is the compact one of headers. */
export const parseBitcoinTemplate = (given: unknown): Template<number> => parseTemplate(given, bitsIn);

function bitsIn(read: Fields, given: unknown): number {
  const bits = read.hex32(given, 'bits');
  targetFromBits(bits); // throws if they are invalid
  return bits;
}

/** Builds the work from a template; `mask`: version bits that are rolled. */
export function workOf(template: Template<number>, { id, script, mark }: Own, mask: number): Work {
  const { height, value, transactions, hasWitness, version, previous, bits, time } = template;
  const commitment = hasWitness ? commitmentOf(transactions) : undefined;
  const coinbase = coinbaseOf({ height, value, script, commitment, extranonceBytes: EXTRANONCE_BYTES, mark });
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
    branch: branchOf(transactions.map(({ txid }) => txid)),
    bits,
    time,
    latestTime: template.latestTime,
    target,
    blockTarget: target,
  };
}

/** The whole block in hex, as `submitblock` takes it. */
export function blockOf(template: Template<number>, work: Work, found: Try): string {
  const nonce = Buffer.alloc(4);
  nonce.writeUInt32LE(found.nonce);
  const header = Buffer.concat([prefixOf(work, found), nonce]).toString('hex');
  return header + bodyOf(template, coinbaseWith(work, found.extranonce));
}

const EXTRANONCE_BYTES = 8;
