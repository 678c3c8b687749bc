import { hitTexts } from '../../console/ledger/hit-text.js';
import { paramsText } from '../../console/ledger/params-text.js';
import { BINS } from '../../console/live/live-task.js';
import { binCounts, binsFor } from '../../engine/work/bins.js';
import { between, shareOf } from '../../engine/work/space.js';
import { decode, FINAL_STATES, type HitField, type HitQuery, type JobSummary, type Store } from '../../store/index.js';
import type { CoverageState, HitPage, HitRow, Index, JobDetail, JobPage, JobRow } from './state.js';
import type { WatchedProcess } from './watched-process.js';

/** What is in the ledger, as the page shows it. */

export function jobPageOf(
  summaries: readonly JobSummary[],
  processes: readonly WatchedProcess[],
  { from, count, search }: Required<HitQuery>,
): JobPage {
  const shown = summaries.filter(({ job }) => job.state !== 'replaced').sort(byActivity);
  const etas = new Map(processes.map(({ model: { state } }) => [state.jobId, state.progress?.etaSeconds]));
  const all = shown.map((summary) => rowOf(summary, etas.get(summary.job.id)));
  const rows = all.filter((row) => search === '' || matches(row, search.toLowerCase()));
  const open = all.filter(({ state }) => !(FINAL_STATES as readonly string[]).includes(state));
  return { total: rows.length, rows: rows.slice(from, from + count), open: openWork(open) };
}

const byActivity = (a: JobSummary, b: JobSummary): number => b.job.lastActiveMs - a.job.lastActiveMs;

const matches = ({ id, name, state, params }: JobRow, search: string): boolean =>
  [id, name, state, params].some((text) => text.toLowerCase().includes(search));

/** The remaining work of all unfinished jobs, one after the other. Undefined if a job has no rate yet. */
function openWork(open: readonly JobRow[]): JobPage['open'] {
  let etaSeconds: number | undefined = 0;
  for (const row of open)
    etaSeconds = etaSeconds === undefined || row.etaSeconds === undefined ? undefined : etaSeconds + row.etaSeconds;
  return { jobs: open.length, etaSeconds };
}

/** Seconds of work that is left at the mean rate so far. */
function meanEta({ job, done }: JobSummary): number | undefined {
  if (FINAL_STATES.includes(job.state) || job.elapsedMs === 0 || done === 0n) return undefined;
  return (Number(job.space.length - done) * (job.elapsedMs / 1000)) / Number(done);
}

function rowOf(summary: JobSummary, presentEta?: number): JobRow {
  const { job, done, hits, isRunning } = summary;
  const isRecordedActive = job.state === 'running' || job.state === 'paused';
  const { start, length } = job.space;
  return {
    id: job.id,
    name: job.name,
    state: isRecordedActive && !isRunning ? 'interrupted' : job.state,
    ...{ done: indexOf(done), start: indexOf(start), length: indexOf(length), fraction: shareOf(done, length) },
    hits,
    etaSeconds: presentEta ?? meanEta(summary),
    elapsedSeconds: job.elapsedMs / 1000,
    priority: job.priority,
    devices: job.devices,
    begunMs: job.createdMs,
    activeMs: job.lastActiveMs,
    params: paramsText(job.params),
    isRunning,
  };
}

export async function jobDetailOf(store: Store, id: string): Promise<JobDetail> {
  const summary = await store.find(id);
  const { job } = summary;
  const ranges = (await store.ranges(job.id)).map(({ start, end }) => between(start, end));
  const bins = binsFor(job.space, BINS);
  const none = Array<Index>(bins).fill(0);
  const coverage: CoverageState = {
    ...{ start: indexOf(job.space.start), length: indexOf(job.space.length), bins },
    done: binCounts(ranges, job.space, bins).map(indexOf),
    onDevice: none,
    redone: none,
  };
  const isOver = FINAL_STATES.includes(job.state);
  return { ...rowOf(summary), isOver, args: job.call.args, folder: job.call.folder, reason: job.reason, coverage };
}

/** Reads hits of stored jobs. It looks up each job once: finding one counts the hits of all. */
export class HitReader {
  readonly #store: Store;
  readonly #fields = new Map<string, readonly HitField[] | undefined>();

  constructor(store: Store) {
    this.#store = store;
  }

  async page(id: string, query: HitQuery): Promise<HitPage> {
    if (!this.#fields.has(id)) this.#fields.set(id, (await this.#store.find(id)).job.call.hit);
    const { total, hits } = await this.#store.hits(id, query);
    const rows = hits.map(({ index, fields, foundMs }): HitRow => {
      const values = hitTexts(decode(fields) as Record<string, unknown>, this.#fields.get(id));
      return { index: indexOf(index), values, foundMs };
    });
    return { total, rows };
  }
}

/** Reads all pages of hits in turn. */
export async function* allHits(page: (from: number, count: number) => Promise<HitPage>): AsyncGenerator<HitRow> {
  for (let from = 0; ; from += PAGE) {
    const { rows } = await page(from, PAGE);
    yield* rows;
    if (rows.length < PAGE) return;
  }
}

const PAGE = 10_000;

/** As in events: a number if that is exact, otherwise decimal text. */
const indexOf = (value: bigint): Index => (value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString());
