import { availableParallelism } from 'node:os';
import { type Helper, HelperPool, type Reply } from '../../gpu/build/helper-pool.js';
import { startThread, workerUrl } from '../../pool/threads/threads.js';
import type { Answers, Question } from './helper-worker.js';

const helperPool = new HelperPool<Question, Answers>({
  // NVRTC compiles in several threads at once; more threads than this gain nothing while the GPU runs.
  maxHelpers: Math.max(1, Math.min(4, availableParallelism() - 1)),
  idleMs: 10_000,
  keptHelpers: 1,
  start: startHelper,
  failure: {
    message: 'the thread that queries the CUDA driver failed',
    asked: 'a list of GPUs, or a compiled kernel',
    advice: 'check nvidia-smi; if the driver works, please report this',
  },
});

/** Asks a thread that may block (`helper-worker.ts`). */
export const ask: typeof helperPool.ask = helperPool.ask.bind(helperPool);

function startHelper(replied: (reply: Reply) => void, gone: (reason: string) => void): Helper {
  const thread = startThread({
    file: workerUrl(import.meta.url, 'helper-worker.js'),
    name: 'millrace cuda service',
    data: undefined,
    onMessage: (message) => replied(message as Reply),
    died: (cause) => gone(cause instanceof Error ? cause.message : String(cause)),
  });
  thread.ready.catch(() => undefined); // `died` reports it
  return {
    ask: (question) => thread.post(question),
    keepAlive: (needed) => thread.keepAlive(needed),
    end: () => thread.terminate(),
  };
}
