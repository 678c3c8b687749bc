import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Exit } from '../src/console/command/exit.js';
import { main } from './command-line.js';
import { byTier, patience } from './tier.js';

/**
 * A library that saves a handler with `signal()` and restores it (as NVRTC does while it compiles) drops its flags. Node's
 * own handler then never ends the process; the unguarded case shows this.
 */
const libc = new URL('../dist/device/native/libc.js', import.meta.url).href;
const child = (guarded: boolean) => `
  import koffi from 'koffi';
  import { preservingSignals } from '${libc}';
  const signal = koffi.load(null).func('uint64_t signal(int signal, uint64_t handler)');
  const library = () => [2, 15].forEach((number) => signal(number, signal(number, 0)));
  ${guarded ? 'preservingSignals(library)' : 'library()'};
  console.log('ready');
  setInterval(() => undefined, 1000);
`;

const endOf = (guarded: boolean, signal: NodeJS.Signals, ms = 20_000): Promise<NodeJS.Signals | null> =>
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

test.runIf(process.platform === 'linux')('repairs a handler that was restored without its flags', async () => {
  const unguarded = endOf(false, 'SIGTERM', byTier(1500, 3000));
  expect(await Promise.all([endOf(true, 'SIGINT'), endOf(true, 'SIGTERM')])).toEqual(['SIGINT', 'SIGTERM']);
  expect(await unguarded).toBe('SIGKILL');
});

/**
 * A C compiler that takes a minute, either for the Node-API addon that opens a device or for kernels. The commands have
 * a checkpoint to write.
 */
const slowCompilers = [
  ['kernels', Exit.stopped, 'gaps', 'search', '--start', '2^80', '--length', '2^24', '--min-gap', '300'],
  ['opening', Exit.aborted, 'run', 'kernel.ts', '--space', '2^32'],
  ['kernels', Exit.aborted, 'run', 'kernel.ts', '--space', '2^32'],
  ['kernels', Exit.aborted, 'uhash', 'mine', '--challenge', '00ff', '--difficulty', '30'],
] as const;
test.runIf(process.platform === 'linux').for(slowCompilers.slice(0, byTier(1, slowCompilers.length)))(
  'the first SIGTERM ends a command and the compiler that it runs (%s)',
  async (given) => {
    const [phase, exit, ...command] = given;
    const folder = mkdtempSync(join(tmpdir(), 'millrace-signals-'));
    const [compiler, pidFile] = [join(folder, 'cc'), join(folder, 'pid')];
    const isSlow = phase === 'opening' ? ':' : '! grep -q napi "$file"';
    writeFileSync(
      compiler,
      `#!/bin/sh
for file; do case "$file" in *.c) ${isSlow} && { echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec sleep 60; };; esac; done
exec cc "$@"
`,
      { mode: 0o755 },
    );
    writeFileSync(
      join(folder, 'kernel.ts'),
      `import { items, u32, when } from 'millrace';
export default items('none', { hit: { x: u32 } }, ({ index, emit }) => when(index.lo.eq(7), () => emit({ x: 7 })));
`,
    );
    try {
      const env = { ...process.env, CC: compiler, MILLRACE_CACHE_DIR: join(folder, 'cache'), XDG_DATA_HOME: folder };
      const started = spawn(process.execPath, [main, ...command, '--device', 'native'], { cwd: folder, env });
      const ended = new Promise<number | null>((resolve) => started.once('close', resolve));
      await expect.poll(() => existsSync(pidFile) || started.exitCode !== null).toBe(true);
      expect(started.exitCode).toBeNull();
      const limit = setTimeout(() => started.kill('SIGKILL'), patience(20_000)); // the compiler takes a minute
      started.kill('SIGTERM');
      expect(await ended).toBe(exit);
      clearTimeout(limit);
      const pid = Number(readFileSync(pidFile, 'utf8'));
      await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
