import { MillraceError } from '../../../kernel/error.js';
import { decodeBase58Check } from './base58.js';
import { decodeSegwit } from './bech32.js';

/** Address formats of a chain: Base58 versions for hashes of keys and of scripts, and the Bech32 prefix. */
export interface AddressFormat {
  readonly keyVersions: readonly number[];
  readonly scriptVersions: readonly number[];
  readonly hrp: string;
  /** True if version 0 programs are in Bech32m as well, which BIP 350 uses for later versions only. */
  readonly isAlwaysBech32m?: boolean;
}

/** The chains of a coin, by the names that its nodes use. */
export type Chains = Readonly<Record<string, AddressFormat>>;

/** The output script for an address on a chain, or the script of `script:HEX`. */
export function payoutScript(payout: string, chain: string, format: AddressFormat): Uint8Array {
  if (/^script:/i.test(payout)) return rawScript(payout.slice('script:'.length));
  const { keyVersions, scriptVersions, hrp, isAlwaysBech32m } = format;
  const base58 = decodeBase58Check(payout);
  if (base58?.length === 21) {
    const [kind = -1, hash] = [base58[0], base58.subarray(1)];
    if (keyVersions.includes(kind)) return Buffer.concat([bytes(0x76, 0xa9, 20), hash, bytes(0x88, 0xac)]);
    if (scriptVersions.includes(kind)) return Buffer.concat([bytes(0xa9, 20), hash, bytes(0x87)]);
    throw refused(payout, chain, `it is an address of another chain than ${chain}`);
  }
  const segwit = decodeSegwit(payout, isAlwaysBech32m);
  if (segwit === undefined) throw refused(payout, chain, 'it is not an address, or its checksum is wrong');
  if (segwit.hrp !== hrp) throw refused(payout, chain, `it is an address of another chain than ${chain}`);
  const { version, program } = segwit;
  return Buffer.concat([bytes(version === 0 ? 0 : 0x50 + version, program.length), program]);
}

/** Checks a payout before the chain is known: it must be valid on at least one. */
export function checkPayout(payout: string, chains: Chains): void {
  const faults = Object.entries(chains).map(([chain, kinds]) => {
    try {
      payoutScript(payout, chain, kinds);
      return undefined;
    } catch (error) {
      return error;
    }
  });
  if (faults.every((fault) => fault !== undefined)) throw faults[0];
}

/** The longest script that consensus allows. */
const MAX_SCRIPT_BYTES = 10_000;

function rawScript(hex: string): Uint8Array {
  if (/^([0-9a-f]{2})+$/i.test(hex) && hex.length <= 2 * MAX_SCRIPT_BYTES) return Buffer.from(hex, 'hex');
  throw new MillraceError({
    code: 'usage',
    message: `not a script: expected 1 to ${MAX_SCRIPT_BYTES} bytes of hex after script:`,
    asked: '--payout script:…',
    advice: 'give its bytes, two digits each',
  });
}

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

function refused(payout: string, chain: string, why: string): MillraceError {
  return new MillraceError({
    code: 'usage',
    message: `${payout} cannot be paid: ${why}`,
    asked: `--payout ${payout} on ${chain}`,
    advice: 'copy the address from your wallet again (`getnewaddress`), or give script:HEX',
  });
}
