import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isLong, isShort, patience } from './tier.js';

/** `node scripts/bench-gate.mjs` (`npm run bench:gate`), while another program keeps a processor busy. */
const script = fileURLToPath(new URL('../scripts/bench-gate.mjs', import.meta.url));
const workloads = isLong ? ['block', 'words', 'uhash', 'encode', 'gaps'] : ['words', 'gaps'];
const TRIES = 3;

let busy: ChildProcess;
beforeAll(() => {
  busy = spawn(process.execPath, ['-e', 'for (;;) ;'], { stdio: 'ignore' });
});
afterAll(() => busy.kill('SIGKILL'));

const gate = (...more: string[]) => {
  const { status, stdout } = spawnSync(process.execPath, [script, ...more, ...workloads], { encoding: 'utf8' });
  return {
    status,
    words: stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(0, 4)),
    stdout,
  };
};

it.skipIf(isShort)('accepts kernels as fast as the frozen ones', { timeout: patience(900_000) }, ({ skip }) => {
  const { status, words, stdout } = gate();
  if (words.every((word) => word === 'none')) return skip('no frozen kernels for this processor');
  expect(status, stdout).toBe(0);
  expect(words.at(-1), stdout).toBe('kept');
});

it.skipIf(isShort)('reports a 10% loss in every try', { timeout: patience(900_000) }, ({ skip }) => {
  const { status, words, stdout } = gate('--slowed');
  const measured = words.filter((word) => word !== 'none');
  if (measured.length === 0) return skip('no frozen kernels for this processor');
  expect(status, stdout).toBe(1);
  expect(measured, stdout).toEqual(measured.map(() => 'LOST'));
  expect(measured.length % TRIES).toBe(0);
});
