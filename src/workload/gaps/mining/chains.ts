import type { AddressKinds, Chains } from '../../mining/payout/address.js';

/** Nodes of today write the same Base58 on all chains; those of 2014 had Bitcoin's for testnet. */
const test = { keys: [38, 0x6f], scripts: [5, 0xc4], isAlwaysBech32m: true } as const satisfies Omit<
  AddressKinds,
  'hrp'
>;

/** Gapcoin's chains. */
export const GAPCOIN_CHAINS: Chains = {
  main: { keys: [38], scripts: [5], hrp: 'gap', isAlwaysBech32m: true },
  test: { ...test, hrp: 'tgap' },
  regtest: { ...test, hrp: 'rric' },
};
