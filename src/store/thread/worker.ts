import { uninterruptible } from '../../device/pool/threads/hold-exit.js';
import { runInThread } from '../../device/pool/threads/threads.js';
import { type ErrorData, errorDataOf, type LedgerCall, type LedgerReply } from '../messages.js';
import { Ledger } from './ledger.js';

/**
 * The thread that owns the ledger. Calls arrive as messages, run one at a time, and are answered when they are done,
 * which for a commit means durable. Each call is `uninterruptible`: the library's binding aborts the process if its thread is ended
 * inside a call (seen in 4 of 120 processes that ended during a commit).
 */
runInThread<{ readonly directory: string }>(({ directory }, ready, port) => {
  let ledger: Ledger | undefined;
  return new Promise((resolve) => {
    port.listen((message) => {
      const { number, method, args } = message as LedgerCall;
      let outcome: { readonly value: unknown } | { readonly fault: ErrorData };
      try {
        const value = uninterruptible(() => {
          // A ledger that could not be opened is not opened only to be closed.
          if (ledger === undefined && method === 'close') return undefined;
          ledger ??= new Ledger(directory);
          const action = ledger[method] as (...given: unknown[]) => unknown;
          return action.apply(ledger, [...args]);
        });
        outcome = { value };
      } catch (error) {
        outcome = { fault: errorDataOf(error) };
      }
      const reply: LedgerReply = { number, notices: ledger?.notices() ?? [], ...outcome };
      port.post(reply);
      if (method === 'close') resolve();
    });
    ready();
  });
});
