import { fork } from 'node:child_process';
import { availableParallelism, tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type TemporaryFolder, temporaryFolder } from '../../cache/temporary.js';
import { type Helper, HelperPool, type Reply } from '../../gpu/build/helper-pool.js';
import { atExit, joinedFile, workerUrl } from '../../pool/threads/threads.js';
import type { Answers, Question } from './helper-process.js';

const helperPool = new HelperPool<Question, Answers>({
  maxHelpers: Math.max(1, Math.min(8, availableParallelism())), // compilers of OpenCL platforms use one core each
  idleMs: 5000, // a platform's compiler holds some 100 MB, NVIDIA's context more
  start: startHelper,
  failure: {
    message: 'the process that queries the OpenCL platforms failed',
    asked: 'a list of OpenCL devices, or a compiled kernel',
    advice: 'check whether clinfo works; if it does, please report this with the kernel',
  },
});

/**
 * Asks a process (`helper-process.ts`) for calls that take long or may crash. It is a process, not a thread: compiling
 * takes PoCL up to half a minute and cannot be interrupted, so a process with such a thread could not exit; and a
 * compiler that crashes ends its process.
 */
export const ask: typeof helperPool.ask = helperPool.ask.bind(helperPool);

/** An exiting process ends its helpers. A killed one cannot: they notice by themselves. */
atExit(() => helperPool.end());

/**
 * A folder for PoCL's own cache. Processes that compile the same kernel at the same time must not share one: PoCL may
 * return a binary made of files that another process is still writing, and loading it aborts the process.
 */
function privateCache(): TemporaryFolder | undefined {
  try {
    return temporaryFolder(tmpdir(), 'millrace-opencl-');
  } catch {
    return undefined; // where no temporary folder can be made, the shared cache is used
  }
}

function startHelper(replied: (reply: Reply) => void, gone: (reason: string) => void): Helper {
  const cache = privateCache();
  const child = fork(fileURLToPath(joinedFile(workerUrl(import.meta.url, 'helper-process.js'))), {
    serialization: 'advanced',
    execArgv: [],
    env: { ...process.env, ...(cache && { POCL_CACHE_DIR: cache.path }) },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  /** The end of its stderr: compilers print there before they crash. */
  let stderrTail = '';
  const lost = (reason: string): void => {
    const last = stderrTail.trim().split('\n').at(-1) ?? '';
    gone(last === '' ? reason : `${reason}: ${last}`);
  };
  child.stderr?.on('data', (data) => {
    stderrTail = `${stderrTail}${data}`.slice(-2000);
  });
  child.on('message', (reply) => replied(reply as Reply));
  child.on('error', (error) => lost(error.message));
  child.on('exit', (code, signal) => {
    cache?.remove();
    lost(`it ended with ${signal ?? `code ${code}`}`);
  });
  return {
    ask: (question) => {
      child.send(question as Question, (error) => {
        if (error) lost(error.message);
      });
    },
    keepAlive: (needed) => {
      // The child, its channel and its pipe: each would keep this process alive.
      const pipe = child.stderr as { ref?(): void; unref?(): void } | null;
      for (const handle of [child, child.channel, pipe]) {
        if (needed) handle?.ref?.();
        else handle?.unref?.();
      }
    },
    end: () => void child.kill('SIGKILL'),
  };
}
