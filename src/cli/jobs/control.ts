import { Exit } from '../../console/command/exit.js';
import type { Ending, Output } from '../../console/output/output.js';
import type { JobSummary, Store } from '../../store/index.js';
import type { StoreCall, StoreOptions } from './command.js';

/** `millrace jobs pause` */
export async function pause({ output, args, store }: StoreCall<StoreOptions>): Promise<Ending> {
  return forEach(args, store, async (summary) => {
    const { id } = summary.job;
    if (!summary.isRunning) return say(output, id, 'nobody runs it', false);
    await store.request(id, 'pause');
    const isDone = await until(store, id, ({ job, isRunning }) => job.state === 'paused' || !isRunning);
    return say(output, id, isDone ? 'paused' : 'it was asked to pause, and has not answered yet', isDone);
  });
}

/** `millrace jobs cancel` */
export async function cancel({ output, args, store }: StoreCall<StoreOptions>): Promise<Ending> {
  return forEach(args, store, async (summary) => {
    const { id } = summary.job;
    if (!summary.isRunning) {
      await store.cancel(id);
      return say(output, id, 'cancelled');
    }
    await store.request(id, 'cancel');
    const isDone = await until(store, id, ({ isRunning }) => !isRunning);
    return say(output, id, isDone ? 'cancelled' : 'it was asked to end, and has not answered yet', isDone);
  });
}

/** `millrace jobs remove` */
export async function remove({ output, args, store }: StoreCall<StoreOptions>): Promise<Ending> {
  return forEach(args, store, async ({ job: { id }, hits }) => {
    await store.remove(id);
    return say(output, id, `removed${hits > 0 ? `, with ${hits} hits` : ''}`);
  });
}

/** `millrace jobs priority` */
export async function setPriority({ output, args, store }: StoreCall<StoreOptions>): Promise<Ending> {
  const [given = '', priority] = args;
  const { job } = await store.find(given);
  await store.setPriority(job.id, Number(priority));
  say(output, job.id, `priority ${priority}`);
  return Exit.ok;
}

/** Applies `act` to each job; the exit status is `no` if it fails for one of them. */
async function forEach(
  args: readonly (string | readonly string[])[],
  store: Store,
  act: (summary: JobSummary) => Promise<boolean>,
): Promise<Ending> {
  let isDone = true;
  for (const given of args.flat()) isDone = (await act(await store.find(given))) && isDone;
  return isDone ? Exit.ok : Exit.no;
}

function say(output: Output, id: string, what: string, isDone = true): boolean {
  output.event('changed', { id, what });
  output.say(`job ${id}: ${what}`);
  return isDone;
}

/** Waits until a condition holds. The process that runs a job polls once a second; its chunks may take another. */
export async function until(store: Store, id: string, holds: (summary: JobSummary) => boolean): Promise<boolean> {
  for (let waited = 0; waited < ANSWER_MS; waited += LOOK_MS) {
    if (holds(await store.find(id))) return true;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return false;
}

const ANSWER_MS = 10_000;
const LOOK_MS = 200;
