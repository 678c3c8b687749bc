import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import type { Candidate } from '../../../bench/measure.js';

/**
 * Other implementations of SHA-256, measured in the same run. One "H" is two compressions of 64 bytes, what the kernel
 * does per nonce, so their rates and ours compare directly.
 */
export async function peers(runs: number): Promise<Candidate[]> {
  const command = await opensslCommand(runs);
  return command ? [nodeCrypto(runs), command] : [nodeCrypto(runs)];
}

const BYTES_PER_HASH = 128;

/** Node's built-in OpenSSL, one call per 64 MiB, one thread: long messages, so that only compressions count. */
function nodeCrypto(runs: number): Candidate {
  const message = Buffer.alloc(64 << 20, 0x5a);
  const times = 8;
  const run = async () => {
    let digest = '';
    for (let time = 0; time < times; time += 1) digest = createHash('sha256').update(message).digest('hex');
    return { work: (times * message.length) / BYTES_PER_HASH, digest };
  };
  return { name: `node:crypto (OpenSSL ${process.versions.openssl}), 1 thread`, unit: 'H', runs, run };
}

/** The system's `openssl speed`, if it is installed. */
async function opensslCommand(runs: number): Promise<Candidate | undefined> {
  const version = await execute('openssl', ['version']).then(
    ({ stdout }) => /^OpenSSL \S+/.exec(stdout)?.[0],
    () => undefined,
  );
  if (version === undefined) return undefined;
  const run = async () => {
    const speed = await execute('openssl', ['speed', '-mr', '-evp', 'sha256', '-bytes', '16384', '-seconds', '1']);
    const bytesPerSecond = Number(/^\+F:\d+:[^:]*:([\d.]+)/m.exec(speed.stdout)?.[1]);
    return { seconds: 1, work: bytesPerSecond / BYTES_PER_HASH, digest: '' };
  };
  return { name: `openssl speed (${version}), 1 thread`, unit: 'H', runs, warmup: 0, run };
}

const execute = promisify(execFile);
