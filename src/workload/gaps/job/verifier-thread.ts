import { runInThread } from '../../../device/pool/threads/threads.js';
import type { TaskReply, TaskRequest } from './verifier.js';
import { verifierTasks } from './verifier-tasks.js';

/** A worker thread of the verifier. */
runInThread<undefined>(async (_, ready, port) => {
  const answer = ({ id, name, args }: TaskRequest): TaskReply => {
    try {
      const task = verifierTasks[name] as (...args: readonly unknown[]) => unknown;
      return { id, result: task(...args) };
    } catch (cause) {
      return { id, error: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) };
    }
  };
  port.listen((request) => port.post(answer(request as TaskRequest)));
  ready();
  await new Promise<never>(() => undefined); // until the thread is terminated
});
