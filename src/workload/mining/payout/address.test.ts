import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BITCOIN_CHAINS, type BitcoinChain } from '../../block/mining/chains.js';
import { GAPCOIN_CHAINS } from '../../gaps/mining/chains.js';
import { type AddressFormat, checkPayout, payoutScript } from './address.js';
import { decodeSegwit } from './bech32.js';

const script = (address: string, chain: BitcoinChain = 'main') =>
  Buffer.from(payoutScript(address, chain, BITCOIN_CHAINS[chain])).toString('hex');

describe('addresses', () => {
  // The valid addresses of BIP 173 and 350, and well-known ones.
  it.each([
    ['main', 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4', '0014751e76e8199196d454941c45d1b3a323f1433bd6'],
    [
      'test',
      'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7',
      '00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262',
    ],
    [
      'main',
      'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y',
      '5128751e76e8199196d454941c45d1b3a323f1433bd6751e76e8199196d454941c45d1b3a323f1433bd6',
    ],
    ['main', 'BC1SW50QGDZ25J', '6002751e'],
    ['main', 'bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs', '5210751e76e8199196d454941c45d1b3a323'],
    [
      'signet',
      'tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c',
      '5120000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433',
    ],
    [
      'main',
      'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
      '512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
    ],
    ['main', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', '76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac'], // the first block's
    ['main', '3P14159f73E4gFr7JterCCQh9QjiTjiZrG', 'a914e9c3dd0c07aac76179ebc76a6c78d4d67c6c160a87'],
    ['main', 'script:6A', '6a'],
  ] as const)('%s %s', (chain, address, wanted) => {
    expect(script(address, chain)).toBe(wanted);
  });

  // The invalid addresses of BIP 173 and 350.
  it.each([
    'tc1qw508d6qejxtdg4y5r3zarvary0c5xw7kg3g4ty',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5',
    'BC13W508D6QEJXTDG4Y5R3ZARVARY0C5XW7KN40WF2',
    'bc1rw5uspcuh',
    'bc10w508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kw5rljs90',
    'BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P',
    'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sL5k7',
    'bc1zw508d6qejxtdg4y5r3zarvaryvqyzf3du',
    'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3pjxtptv',
    'bc1gmk9yu',
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd',
    'tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf',
    'BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh',
    'tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47',
    'bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4',
    'BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R',
    'bc1pw5dgrnzv',
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav',
    'tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq',
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb',
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfN0',
    '',
    '1',
    'script:',
    'script:6',
    'script:zz',
  ])('%j is rejected on every chain', (address) => {
    expect(() => checkPayout(address, BITCOIN_CHAINS)).toThrow(/cannot be paid|not a script/);
  });

  it('of another chain are rejected by name', () => {
    expect(() => script('bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080', 'main')).toThrow(/another chain than main/);
    expect(() => script('1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'regtest')).toThrow(/another chain than regtest/);
  });

  it('with one wrong digit are never accepted', () => {
    const address = 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0';
    const digit = fc.constantFrom(...'qpzry9x8gf2tvdw0s3jn54khce6mua7l');
    fc.assert(
      fc.property(fc.integer({ min: 3, max: address.length - 1 }), digit, (at, wrong) => {
        fc.pre(address[at] !== wrong);
        expect(decodeSegwit(address.slice(0, at) + wrong + address.slice(at + 1))).toBeUndefined();
      }),
    );
  });
});

// Computed with the reference code of BIP 350 and a Python Base58, from the key hash of BIP 173.
describe("Gapcoin's addresses", () => {
  const KEY = '751e76e8199196d454941c45d1b3a323f1433bd6';
  const scriptOn = (chain: string, address: string): string =>
    Buffer.from(payoutScript(address, chain, GAPCOIN_CHAINS[chain] as AddressFormat)).toString('hex');

  it.each([
    ['main', 'gap1qw508d6qejxtdg4y5r3zarvary0c5xw7k6qpqn2', `0014${KEY}`],
    ['test', 'tgap1qw508d6qejxtdg4y5r3zarvary0c5xw7kdjzfqq', `0014${KEY}`],
    ['regtest', 'rric1qw508d6qejxtdg4y5r3zarvary0c5xw7kpt4dsz', `0014${KEY}`],
    [
      'main',
      'gap1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqa4c066',
      '512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
    ],
    ['main', 'GUXByHDZLvU4DnVH9imSFckt3HEQ5cFgE5', `76a914${KEY}88ac`],
    ['test', 'GUXByHDZLvU4DnVH9imSFckt3HEQ5cFgE5', `76a914${KEY}88ac`],
    ['test', 'mrCDrCybB6J1vRfbwM5hemdJz73FwDBC8r', `76a914${KEY}88ac`],
    ['main', '3CNHUhP3uyB9EUtRLsmvFUmvGdjGdkTxJw', `a914${KEY}87`],
  ])('%s %s', (chain, address, wanted) => {
    expect(scriptOn(chain, address)).toBe(wanted);
  });

  it.each([
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
    'gap1qw508d6qejxtdg4y5r3zarvary0c5xw7k0u3vkg', // in Bech32 instead of Bech32m
    'BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH',
  ])('%s is rejected', (address) => {
    expect(() => checkPayout(address, GAPCOIN_CHAINS)).toThrow(/cannot be paid/);
  });
});
