import type { AddressFormat, Chains } from '../../mining/payout/address.js';

/** Current nodes use the same Base58 versions on all chains; those of 2014 had Bitcoin's for testnet. */
const test = { keyVersions: [38, 0x6f], scriptVersions: [5, 0xc4], isAlwaysBech32m: true } as const satisfies Omit<
  AddressFormat,
  'hrp'
>;

export const GAPCOIN_CHAINS: Chains = {
  main: { keyVersions: [38], scriptVersions: [5], hrp: 'gap', isAlwaysBech32m: true },
  test: { ...test, hrp: 'tgap' },
  regtest: { ...test, hrp: 'rric' },
};
