import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { disturbed, odd, readOrRefused } from '../../../../test/network/disturbed.js';
import { anyText } from '../../../../test/text.js';
import { byTier } from '../../../../test/tier.js';
import { displayText } from '../../../network/fields.js';
import { errorText, verdictOfReply } from '../../mining/server/stratum.js';
import { verdictOf } from '../../mining/server/template-node.js';
import {
  agreedMask,
  parseDifficulty,
  parseExtranonce,
  parseMask,
  parseNotice,
  parseSubscription,
} from './stratum-messages.js';
import { parseBitcoinTemplate as parseTemplate } from './template.js';

/** Messages of servers are parsed or rejected with an error, whatever they contain. */

const notice = ['a', '00'.repeat(32), '01', '02', ['11'.repeat(32)], '20000000', '1d00ffff', '504e86b9', true];
const template = {
  version: 0x20000000,
  rules: ['csv', '!segwit'],
  previousblockhash: '00'.repeat(32),
  transactions: [{ data: '00'.repeat(61), txid: '11'.repeat(32), hash: '22'.repeat(32) }],
  coinbasevalue: 5_000_000_000,
  curtime: 1_700_000_000,
  bits: '207fffff',
  height: 17,
  mutable: ['time'],
};

describe('hostile servers', () => {
  it('send Stratum messages that are parsed or rejected', () => {
    fc.assert(
      fc.property(disturbed(notice), (params) => readOrRefused(() => parseNotice(params))),
      { numRuns: byTier(500, 2000) },
    );
    fc.assert(
      fc.property(disturbed([0.5]), (params) => {
        readOrRefused(() => parseDifficulty(params));
        readOrRefused(() => parseMask(params));
        readOrRefused(() => parseExtranonce(params));
      }),
    );
    fc.assert(
      fc.property(odd, odd, (result, error) => {
        readOrRefused(() => parseSubscription({ result, error }));
        readOrRefused(() => agreedMask({ result, error }, 0x1fffe000));
        expect(['accepted', 'rejected', 'stale']).toContain(verdictOfReply({ result, error }, 21).state);
        expect(errorText(error).length).toBeLessThanOrEqual(201);
        expect(['accepted', 'rejected', 'stale']).toContain(verdictOf(result).state);
      }),
    );
  });

  it('send templates that are parsed or rejected', () => {
    expect(parseTemplate(template)).toMatchObject({ height: 17, hasWitness: false });
    fc.assert(
      fc.property(disturbed(template), (given) => readOrRefused(() => parseTemplate(given))),
      { numRuns: byTier(500, 2000) },
    );
  });

  it.each([
    ['its own coinbase', { coinbasevalue: undefined, coinbasetxn: { data: '00' } }, /contains its own coinbase/],
    ['some nonces only', { noncerange: '0000000000ffffff' }, /nonces 0000000000ffffff only/],
    ['another commitment', { default_witness_commitment: `6a24aa21a9ed${'00'.repeat(32)}` }, /witness commitment/],
    ['a target of zero', { bits: '00000000' }, /target of zero/],
    ['a negative target', { bits: '04ffffff' }, /negative target/],
    ['more coins than exist', { coinbasevalue: 3e15 }, /coinbasevalue/],
    ['no previous block', { previousblockhash: undefined }, /previousblockhash is not text/],
  ])('a template with %s is rejected', (_, change, why) => {
    expect(() => parseTemplate({ ...template, ...change })).toThrow(why);
  });

  it('cannot send control characters to the terminal', () => {
    fc.assert(
      fc.property(anyText(600), (text) => {
        const shown = displayText(text);
        expect(shown).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
        expect(shown.length).toBeLessThanOrEqual(201);
      }),
      { numRuns: 30 },
    );
  });
});
