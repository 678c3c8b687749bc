import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { disturbed, odd, readOrRefused } from '../../../../test/network/disturbed.js';
import { byTier } from '../../../../test/tier.js';
import { parseAnswer, parseTarget } from './stratum.js';
import { parseGapTemplate } from './template.js';
import { parseGetworkData } from './work.js';

/** Messages of servers are parsed or rejected with an error, whatever they contain. */
const given = { data: '00'.repeat(80), difficulty: '9007199254740993' };
const template = {
  version: 0x20000000,
  rules: ['csv', '!segwit', 'taproot'],
  previousblockhash: '00'.repeat(32),
  transactions: [{ data: '00'.repeat(61), txid: '11'.repeat(32), hash: '22'.repeat(32) }],
  coinbasevalue: 2_000_000_000,
  curtime: 1_700_000_000,
  bits: '162f04480c7096',
  height: 17,
  mutable: ['time'],
};

describe('hostile servers', () => {
  it('send getwork and pool messages that are parsed or rejected', () => {
    expect(parseGetworkData('x', given).target).toBe(9007199254740993n);
    fc.assert(
      fc.property(disturbed(given), odd, (value, error) => {
        readOrRefused(() => parseGetworkData('x', value));
        readOrRefused(() => parseAnswer({ result: value, error }, 'anna'));
      }),
      { numRuns: byTier(400, 2000) },
    );
    fc.assert(
      fc.property(fc.oneof(disturbed([1]), disturbed({ difficulty: 1 })), (params) =>
        readOrRefused(() => {
          const target = parseTarget('x', params);
          expect(target > 0n && target < 2n ** 64n).toBe(true);
        }),
      ),
      { numRuns: byTier(200, 1000) },
    );
  });

  it('send templates that are parsed or rejected', () => {
    expect(parseGapTemplate(template)).toMatchObject({ height: 17, bits: 6244144922783894n });
    // Old nodes write all sixteen digits.
    expect(parseGapTemplate({ ...template, bits: '00162f04480c7096' }).bits).toBe(6244144922783894n);
    fc.assert(
      fc.property(disturbed(template), (value) => readOrRefused(() => parseGapTemplate(value))),
      { numRuns: byTier(200, 1000) },
    );
  });
});
