import { MillraceError } from '../../../kernel/error.js';
import { decodeBase58Check } from './base58.js';
import { decodeSegwit } from './bech32.js';

/** Chains that have addresses of their own; testnet's are signet's too. */
export type Chain = 'main' | 'test' | 'signet' | 'regtest';

/** What an address begins with, by chain: versions of Base58 for a key's and a script's hash, and Bech32's prefix. */
const PREFIXES: Readonly<Record<Chain, { readonly key: number; readonly script: number; readonly hrp: string }>> = {
  main: { key: 0x00, script: 0x05, hrp: 'bc' },
  test: { key: 0x6f, script: 0xc4, hrp: 'tb' },
  signet: { key: 0x6f, script: 0xc4, hrp: 'tb' },
  regtest: { key: 0x6f, script: 0xc4, hrp: 'bcrt' },
};

/** The script that an address stands for on a chain; `script:HEX` is one already. */
export function payoutScript(payout: string, chain: Chain): Uint8Array {
  if (/^script:/i.test(payout)) return rawScript(payout.slice('script:'.length));
  const { key, script, hrp } = PREFIXES[chain];
  const base58 = decodeBase58Check(payout);
  if (base58?.length === 21) {
    const hash = base58.subarray(1);
    if (base58[0] === key) return Buffer.concat([bytes(0x76, 0xa9, 20), hash, bytes(0x88, 0xac)]);
    if (base58[0] === script) return Buffer.concat([bytes(0xa9, 20), hash, bytes(0x87)]);
    throw refused(payout, chain, `it is an address of another chain than ${chain}`);
  }
  const segwit = decodeSegwit(payout);
  if (segwit === undefined) throw refused(payout, chain, 'its check digits are wrong, or it is no address at all');
  if (segwit.hrp !== hrp) throw refused(payout, chain, `it is an address of another chain than ${chain}`);
  const { version, program } = segwit;
  return Buffer.concat([bytes(version === 0 ? 0 : 0x50 + version, program.length), program]);
}

/** What can be said of a payout before the chain is known. */
export function checkPayout(payout: string): void {
  const faults = (Object.keys(PREFIXES) as Chain[]).map((chain) => {
    try {
      payoutScript(payout, chain);
      return undefined;
    } catch (error) {
      return error;
    }
  });
  if (faults.every((fault) => fault !== undefined)) throw faults[0];
}

/** Consensus takes no longer ones. */
const LONGEST_SCRIPT = 10_000;

function rawScript(hex: string): Uint8Array {
  if (/^([0-9a-f]{2})+$/i.test(hex) && hex.length <= 2 * LONGEST_SCRIPT) return Buffer.from(hex, 'hex');
  throw new MillraceError({
    code: 'usage',
    message: 'what follows script: is no script in hex',
    asked: '--payout script:…',
    advice: 'give its bytes, two digits each',
  });
}

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

function refused(payout: string, chain: Chain, why: string): MillraceError {
  return new MillraceError({
    code: 'usage',
    message: `${payout} cannot be paid: ${why}`,
    asked: `--payout ${payout} on ${chain}`,
    advice: 'copy the address from your wallet once more (`bitcoin-cli getnewaddress`), or give script:HEX',
  });
}
