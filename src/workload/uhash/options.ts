import { InvalidArgumentError, type Option } from 'commander';
import { valueOption, wholeNumberParser } from '../../console/options/options.js';
import { MAX_BITS } from './job/prover.js';

/** Options that the commands of uhash share, with their parsers. */
export const uhashOptions = {
  challenge: (): Option =>
    valueOption('--challenge <hex>', 'the bytes before the nonce, in hex').argParser(parseHexBytes),
  difficulty: (): Option =>
    valueOption('-d, --difficulty <bits>', `leading zero bits of a proof, 0 to ${MAX_BITS}`).argParser(
      wholeNumberParser(0, MAX_BITS),
    ),
  startNonce: (): Option => valueOption('--start-nonce <n>', 'the first nonce').argParser(parseNonce).default(0n, '0'),
  backend: (): Option =>
    valueOption('--backend <name>', 'like --device, with the names of the original program')
      .choices(Object.keys(backends))
      .conflicts('device'),
};

/** The original's names for kinds of devices. Metal is reached through WebGPU. */
export const backends: Readonly<Record<string, string>> = {
  auto: 'auto',
  cpu: 'cpu',
  cuda: 'cuda',
  metal: 'webgpu',
  opencl: 'opencl',
  wgpu: 'webgpu',
};

/** Parses an even number of hex digits, at least one byte. */
export function parseHexBytes(text: string): Uint8Array {
  const digits = text.replace(/^0x/i, '');
  if (digits === '') throw new InvalidArgumentError('Expected at least one byte of hex.');
  if (!/^[0-9a-f]*$/i.test(digits)) throw new InvalidArgumentError('Expected only hex digits.');
  if (digits.length % 2 !== 0)
    throw new InvalidArgumentError(`Expected an even number of hex digits, got ${digits.length}.`);
  return Uint8Array.from(Buffer.from(digits, 'hex'));
}

/** Parses 32 bytes of hex. */
export function parseHash(text: string): Uint8Array {
  const bytes = parseHexBytes(text);
  if (bytes.length !== 32) throw new InvalidArgumentError(`Expected 64 hex digits, got ${2 * bytes.length}.`);
  return bytes;
}

/** Parses a whole number below 2^64, decimal or with 0x. */
export function parseNonce(text: string): bigint {
  if (!/^(\d+|0x[0-9a-f]+)$/i.test(text) || BigInt(text) >= 1n << 64n) {
    throw new InvalidArgumentError('Expected a whole number below 2^64.');
  }
  return BigInt(text);
}

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
