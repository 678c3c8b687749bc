import type { FieldReader } from '../../../network/fields.js';
import { buildCoinbase } from '../../mining/payout/coinbase.js';
import {
  blockBody,
  commitmentOf,
  merkleBranch,
  merkleRootOf,
  parseTemplate,
  type Template,
} from '../../mining/server/template.js';
import type { CoinbaseParams } from '../../mining/server/template-node.js';
import { networkHeader } from '../kernel/reference.js';
import { headerOf, MAX_TARGET, type Share, type Work } from './work.js';

/** Parses Gapcoin's templates: `bits` is the difficulty in fixed point, 64 bits in hex, leading zeros optional. */
export const parseGapTemplate = (given: unknown): Template<bigint> => parseTemplate(given, parseBits);

function parseBits(read: FieldReader, given: unknown): bigint {
  const text = read.text(given, 'bits', 16);
  const bits = read.hex(text.length % 2 === 0 ? text : `0${text}`, 'bits', { min: 1, max: 8 });
  return read.bigInteger(BigInt(`0x${bits}`).toString(), 'bits', 1n, MAX_TARGET);
}

/** Builds the work from a template. Nonces and seconds are enough variation: they all share one coinbase. */
export function workOf(template: Template<bigint>, { id, script, minerTag }: CoinbaseParams): Work {
  const { height, value, transactions, hasWitness, version, previous, bits, time, latestTime } = template;
  const commitment = hasWitness ? commitmentOf(transactions) : undefined;
  const parts = buildCoinbase({ height, value, script, commitment, extranonceBytes: EXTRANONCE_BYTES, minerTag });
  const extranonce = Buffer.alloc(EXTRANONCE_BYTES);
  extranonce.writeUInt32BE(Number(id) % 2 ** 32);
  const coinbase = Buffer.concat([parts.start, extranonce, parts.end]);
  const root = merkleRootOf(coinbase, merkleBranch(transactions.map(({ txid }) => txid)));
  const merkleRoot = Buffer.from(root).reverse().toString('hex');
  return {
    id,
    height,
    header: { version, previousHash: previous, merkleRoot, time, difficulty: bits },
    latestTime,
    target: bits,
    coinbase,
  };
}

/** The whole block in hex, as `submitblock` takes it: after the header its shift, the adder's length and the adder. */
export const blockOf = (template: Template<bigint>, share: Share): string =>
  networkHeader(headerOf(share)) + blockBody(template, share.work.coinbase ?? new Uint8Array());

/** Holds the work's number, so that no two templates have the same coinbase. */
const EXTRANONCE_BYTES = 4;
