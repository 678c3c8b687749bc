import type { AddressFormat, Chains } from '../../mining/payout/address.js';

const test: AddressFormat = { keyVersions: [0x6f], scriptVersions: [0xc4], hrp: 'tb' };

/** Bitcoin's chains; testnet and signet share address formats. */
export const BITCOIN_CHAINS = {
  main: { keyVersions: [0x00], scriptVersions: [0x05], hrp: 'bc' },
  test,
  testnet4: test,
  signet: test,
  regtest: { keyVersions: [0x6f], scriptVersions: [0xc4], hrp: 'bcrt' },
} as const satisfies Chains;

export type BitcoinChain = keyof typeof BITCOIN_CHAINS;
