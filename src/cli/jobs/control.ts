import { hostname } from 'node:os';
import { Exit } from '../../console/command/exit.js';
import { controlProcess, liveProcesses } from '../../console/live/processes.js';
import { plural } from '../../console/output/format.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import type { JobSummary, Store } from '../../store/index.js';
import type { StoreCall, StoreOptions } from './command.js';

/** `millrace jobs pause` */
export async function pause({ output, args, store }: StoreCall<StoreOptions>): Promise<CommandResult> {
  return forEach(args, store, async (summary) => {
    const { id } = summary.job;
    if (!summary.isRunning) return report(output, id, 'no process runs it', false);
    await send(store, summary, 'pause');
    const isDone = await waitUntil(store, id, ({ job, isRunning }) => job.state === 'paused' || !isRunning);
    return report(output, id, isDone ? 'paused' : 'pause requested, no answer yet', isDone);
  });
}

/** `millrace jobs cancel` */
export async function cancel({ output, args, store }: StoreCall<StoreOptions>): Promise<CommandResult> {
  return forEach(args, store, async (summary) => {
    const { id } = summary.job;
    if (!summary.isRunning) {
      await store.cancel(id);
      return report(output, id, 'cancelled');
    }
    await send(store, summary, 'cancel');
    const isDone = await waitUntil(store, id, ({ isRunning }) => !isRunning);
    return report(output, id, isDone ? 'cancelled' : 'cancellation requested, no answer yet', isDone);
  });
}

/**
 * Asks the process that runs a job: on its socket, which it answers at once, or by the ledger, which it reads once a second,
 * if it does not listen or runs on another machine.
 */
export async function send(store: Store, { job }: JobSummary, action: 'pause' | 'resume' | 'cancel'): Promise<void> {
  const process = liveProcesses(store.directory).find(({ pid }) => pid === job.owner?.pid);
  try {
    if (!process || job.owner?.host !== hostname()) throw new Error('it does not listen');
    await controlProcess(store.directory, process, { action });
  } catch {
    await store.request(job.id, action);
  }
}

/** `millrace jobs remove` */
export async function remove({ output, args, store }: StoreCall<StoreOptions>): Promise<CommandResult> {
  return forEach(args, store, async ({ job: { id }, hits }) => {
    await store.remove(id);
    return report(output, id, `removed${hits > 0 ? `, with ${plural(hits, 'hit')}` : ''}`);
  });
}

/** `millrace jobs priority` */
export async function setPriority({ output, args, store }: StoreCall<StoreOptions>): Promise<CommandResult> {
  const [given = '', priority] = args;
  const { job } = await store.find(given);
  await store.setPriority(job.id, Number(priority));
  report(output, job.id, `priority ${priority}`);
  return Exit.ok;
}

/** Applies `act` to each job; the exit status is `no` if it fails for one of them. */
async function forEach(
  args: readonly (string | readonly string[])[],
  store: Store,
  act: (summary: JobSummary) => Promise<boolean>,
): Promise<CommandResult> {
  let isDone = true;
  for (const given of args.flat()) isDone = (await act(await store.find(given))) && isDone;
  return isDone ? Exit.ok : Exit.no;
}

function report(output: Output, id: string, what: string, isDone = true): boolean {
  output.event('changed', { id, what });
  output.say(`job ${id}: ${what}`);
  return isDone;
}

/** Waits until a condition holds. The process that runs a job polls once a second; its chunks may take another. */
export async function waitUntil(
  store: Store,
  id: string,
  condition: (summary: JobSummary) => boolean,
): Promise<boolean> {
  for (let waited = 0; waited < MAX_ANSWER_MS; waited += POLL_MS) {
    if (condition(await store.find(id))) return true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return false;
}

const MAX_ANSWER_MS = 10_000;
const POLL_MS = 200;
