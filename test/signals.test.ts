import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { byTier, patience } from './tier.js';

/**
 * A library that keeps a handler by `signal()` and puts it back (NVRTC does so while it compiles) drops its flags. Node's
 * own handler then never ends the process: that is shown first, so that the guard has something to guard against.
 */
const libc = new URL('../dist/device/native/libc.js', import.meta.url).href;
const child = (guarded: boolean) => `
  import koffi from 'koffi';
  import { keepingSignals } from '${libc}';
  const signal = koffi.load(null).func('uint64_t signal(int signal, uint64_t handler)');
  const library = () => [2, 15].forEach((number) => signal(number, signal(number, 0)));
  ${guarded ? 'keepingSignals(library)' : 'library()'};
  console.log('ready');
  setInterval(() => undefined, 1000);
`;

const endOf = (guarded: boolean, signal: NodeJS.Signals, ms = 3000): Promise<NodeJS.Signals | null> =>
  new Promise((resolve) => {
    const cwd = fileURLToPath(new URL('..', import.meta.url));
    const started = spawn(process.execPath, ['--input-type=module', '-e', child(guarded)], { cwd });
    let limit: NodeJS.Timeout | undefined;
    started.stdout.once('data', () => {
      limit = setTimeout(() => started.kill('SIGKILL'), patience(ms));
      started.kill(signal);
    });
    started.once('close', (_, by) => {
      clearTimeout(limit);
      resolve(by);
    });
  });

test.runIf(process.platform === 'linux')('a handler put back without its flags is put right', async () => {
  const unguarded = endOf(false, 'SIGTERM', byTier(1500, 3000));
  expect(await Promise.all([endOf(true, 'SIGINT'), endOf(true, 'SIGTERM')])).toEqual(['SIGINT', 'SIGTERM']);
  expect(await unguarded).toBe('SIGKILL');
});
