import { expect, it } from 'vitest';
import { EASY_SCAN, GENESIS_NONCE, GENESIS_NONCES, genesis, genesisWindow } from './genesis.js';
import { checkNonce, headerPrefix, targetFromBits } from './reference.js';

const prefix = headerPrefix(genesis);

it('the genesis nonces are valid, and the first is the one on the chain', () => {
  for (const nonce of GENESIS_NONCES) expect(checkNonce(prefix, targetFromBits(genesis.bits), nonce).valid).toBe(true);
  expect(checkNonce(prefix, targetFromBits(genesis.bits), GENESIS_NONCE).hash).toBe(
    '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
  );
});

it('a window holds the nonce and stays within 2^32', () => {
  for (const count of [1, 2, 1000, 2 ** 24, 2 ** 31, 2 ** 32 - 1, 2 ** 32]) {
    const { base } = genesisWindow(count);
    expect(base).toBeGreaterThanOrEqual(0);
    expect(base + count).toBeLessThanOrEqual(2 ** 32);
    expect(GENESIS_NONCE - base).toBeGreaterThanOrEqual(0);
    expect(GENESIS_NONCE - base).toBeLessThan(count);
  }
});

it('the easy target has the stated number of hits', () => {
  let hits = 0;
  for (let nonce = 0; nonce < EASY_SCAN.count; nonce += 1)
    if (checkNonce(prefix, EASY_SCAN.target, nonce).valid) hits += 1;
  expect(hits).toBe(EASY_SCAN.hits);
});
