import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Exit } from '../src/console/exit.js';
import { main } from './command-line.js';
import { patience } from './tier.js';

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

const endOf = (guarded: boolean, signal: NodeJS.Signals): Promise<NodeJS.Signals | null> =>
  new Promise((resolve) => {
    const cwd = fileURLToPath(new URL('..', import.meta.url));
    const started = spawn(process.execPath, ['--input-type=module', '-e', child(guarded)], { cwd });
    let limit: NodeJS.Timeout | undefined;
    started.stdout.once('data', () => {
      limit = setTimeout(() => started.kill('SIGKILL'), patience(3000));
      started.kill(signal);
    });
    started.once('close', (_, by) => {
      clearTimeout(limit);
      resolve(by);
    });
  });

test.runIf(process.platform === 'linux')('a handler put back without its flags is put right', async () => {
  const unguarded = endOf(false, 'SIGTERM');
  expect(await Promise.all([endOf(true, 'SIGINT'), endOf(true, 'SIGTERM')])).toEqual(['SIGINT', 'SIGTERM']);
  expect(await unguarded).toBe('SIGKILL');
});

/** Commands with a checkpoint to write, while a C compiler works that takes a minute. */
test.runIf(process.platform === 'linux').for([
  ['gaps', 'search', '--start', '2^80', '--length', '2^24', '--min-gap', '300'],
  ['run', 'kernel.ts', '--space', '2^32'],
])('a first SIGTERM ends %s while a compiler works, and the compiler', async (command) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-signals-'));
  const [compiler, pidFile] = [join(folder, 'cc'), join(folder, 'pid')];
  const works = `case "$*" in *-shared*.c*) echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec sleep 60;; esac`;
  writeFileSync(compiler, `#!/bin/sh\n${works}\nexec cc "$@"\n`, { mode: 0o755 });
  writeFileSync(
    join(folder, 'kernel.ts'),
    `import { items, u32, when } from 'millrace';\nexport default items('none', { hit: { x: u32 } }, ({ index, emit }) => when(index.lo.eq(7), () => emit({ x: 7 })));\n`,
  );
  try {
    const env = { ...process.env, CC: compiler, MILLRACE_CACHE_DIR: join(folder, 'cache'), XDG_DATA_HOME: folder };
    const started = spawn(process.execPath, [main, ...command, '--device', 'native'], { cwd: folder, env });
    const ended = new Promise<number | null>((resolve) => started.once('close', resolve));
    await expect.poll(() => existsSync(pidFile) || started.exitCode !== null).toBe(true);
    expect(started.exitCode).toBeNull();
    const limit = setTimeout(() => started.kill('SIGKILL'), patience(4000));
    started.kill('SIGTERM');
    expect([Exit.stopped, Exit.aborted]).toContain(await ended);
    clearTimeout(limit);
    const pid = Number(readFileSync(pidFile, 'utf8'));
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
