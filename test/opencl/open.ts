import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenOptions } from '../../src/device/kinds.js';
import { type OpenClDevice, start } from '../../src/device/opencl/device.js';

/** Workgroup memory that every OpenCL device has. */
const NEAR_BYTES = 32 * 1024;

/**
 * Opens a CPU as if it were a GPU: separate memory, zeroed by commands; transfers staged through page-locked rings;
 * status and epochs copied.
 */
export function openApart(id: string, options: OpenOptions = {}): Promise<OpenClDevice> {
  return start({ number: Number(id.split(':')[1]), forceCopies: true }, NEAR_BYTES, options);
}

/** Rewrites the manifest of a cache entry to match its files. */
export async function withFreshManifest(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name !== 'SHA256SUMS').sort();
  const lines = await Promise.all(
    names.map(async (name) => {
      const digest = createHash('sha256').update(await readFile(join(folder, name)));
      return `${digest.digest('hex')}  ${name}\n`;
    }),
  );
  await writeFile(join(folder, 'SHA256SUMS'), lines.join(''));
}
