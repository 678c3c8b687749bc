import { runInThread } from '../../device/pool/threads/threads.js';
import type { CheckerStart, CheckReply, CheckRequest } from './verify.js';

/** The thread that checks results with a function of a module. */
runInThread<CheckerStart>(async ({ module, name, data }, ready, port) => {
  const exports = (await import(/* webpackIgnore: true */ /* @vite-ignore */ module)) as Record<string, unknown>;
  const check = exports[name];
  if (typeof check !== 'function') throw new TypeError(`${module} does not export a function called ${name}`);
  const answer = async ({ id, given }: CheckRequest): Promise<CheckReply> => {
    try {
      const result = await check(given, data);
      return { id, result: typeof result === 'string' ? result : Boolean(result) };
    } catch (cause) {
      return { id, failed: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) };
    }
  };
  port.listen((request) => void answer(request as CheckRequest).then((reply) => port.post(reply)));
  ready();
  await new Promise<never>(() => undefined); // runs until the thread is terminated
});
