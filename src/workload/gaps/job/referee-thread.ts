import { inThread } from '../../../device/pool/threads/threads.js';
import type { Reply, Request } from './referee.js';
import { rulings } from './rulings.js';

/** A worker thread of the referee. */
inThread<undefined>(async (_, ready, port) => {
  const answer = ({ id, name, args }: Request): Reply => {
    try {
      const rule = rulings[name] as (...given: readonly unknown[]) => unknown;
      return { id, ruling: rule(...args) };
    } catch (cause) {
      return { id, failed: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) };
    }
  };
  port.listen((request) => port.post(answer(request as Request)));
  ready();
  await new Promise<never>(() => undefined); // until the thread is terminated
});
