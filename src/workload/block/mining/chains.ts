import type { AddressKinds, Chains } from '../../mining/payout/address.js';

const test: AddressKinds = { keys: [0x6f], scripts: [0xc4], hrp: 'tb' };

/** Bitcoin's chains; testnet and signet share address formats. */
export const BITCOIN_CHAINS = {
  main: { keys: [0x00], scripts: [0x05], hrp: 'bc' },
  test,
  testnet4: test,
  signet: test,
  regtest: { keys: [0x6f], scripts: [0xc4], hrp: 'bcrt' },
} as const satisfies Chains;

export type BitcoinChain = keyof typeof BITCOIN_CHAINS;
