import type { Browser } from 'playwright-core';

/** The category of Chromium's trace that has tasks, and the one that says which process has a page. */
const CATEGORIES = ['disabled-by-default-devtools.timeline', 'devtools.timeline'];

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time, in µs. */
  readonly tdur?: number;
  readonly args: { readonly name?: string; readonly data?: { readonly url?: string } };
}

/** Records the tasks of pages from now on. */
export const traceTasks = (browser: Browser): Promise<void> =>
  browser.startTracing(undefined, { categories: CATEGORIES });

/**
 * The processor time of each task of the pages of a host since then, in ms: waiting for a busy processor does not count. Pages
 * of Chromium itself, which it makes for its own windows, are not counted either.
 */
export async function tasksOf(browser: Browser, url: string): Promise<number[]> {
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const { origin } = new URL(url);
  const isOurs = ({ name, args }: TraceEvent): boolean =>
    name === 'CommitLoad' && args.data?.url?.startsWith(origin) === true;
  const processes = new Set(traceEvents.filter(isOurs).map(({ pid }) => pid));
  const named = traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  const threads = new Set(named.filter(({ pid }) => processes.has(pid)).map(({ pid, tid }) => `${pid} ${tid}`));
  return traceEvents
    .filter(({ name, pid, tid }) => name === 'RunTask' && threads.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1000);
}
