import type { AddressKinds, Chains } from '../../mining/payout/address.js';

/** Current nodes use the same Base58 versions on all chains; those of 2014 had Bitcoin's for testnet. */
const test = { keys: [38, 0x6f], scripts: [5, 0xc4], isAlwaysBech32m: true } as const satisfies Omit<
  AddressKinds,
  'hrp'
>;

export const GAPCOIN_CHAINS: Chains = {
  main: { keys: [38], scripts: [5], hrp: 'gap', isAlwaysBech32m: true },
  test: { ...test, hrp: 'tgap' },
  regtest: { ...test, hrp: 'rric' },
};
