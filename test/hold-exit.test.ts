import type { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { waitForThreads } from '../src/device/pool/threads/hold-exit.js';
import { startThread } from '../src/device/pool/threads/threads.js';
import { isShort } from './tier.js';

test.skipIf(isShort)('a thread that exits while it waits to be reused is not reused', async () => {
  const exited = new Promise((resolve) => {
    process.once('worker', (worker: Worker) => worker.once('exit', resolve));
  });
  const file = new URL('idle-exit-worker.mjs', import.meta.url);
  const start = () => startThread({ file, name: 'exits', data: undefined, isKept: true, died: () => undefined });
  expect(await start().ended).toBe(true);
  await exited;
  const next = start();
  await next.ready;
  expect(await next.ended).toBe(true);
});

test('a process waits at exit for a thread that holds it, and no new action starts', async () => {
  const words = new Int32Array(new SharedArrayBuffer(12));
  const file = new URL('hold-exit-worker.mjs', import.meta.url);
  const thread = startThread({ file, name: 'stays', data: words, died: () => undefined });
  await thread.ready;
  waitForThreads();
  expect(words[0]).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(words[1]).toBe(0);
  thread.terminate();
  await thread.ended;
});
