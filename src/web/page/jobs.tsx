import { useCallback, useEffect, useState } from 'preact/hooks';
import type { JobPage, JobRow } from '../live/state.js';
import { read } from './session.js';
import { count, duration, indexText, NONE, orNone, percent, shortTimeText, timeText } from './text.js';
import { VirtualList } from './virtual-list.js';

/** Listing jobs counts their hits, which takes 50 ms for a million. */
const REFRESH_MS = 15_000;

/** All jobs of the ledger, newest first. `version` changes when processes start or end. */
export function Jobs({ version }: { readonly version: string }) {
  const [search, setSearch] = useState('');
  const [page, setPage] = useState<JobPage>();
  const [turn, setTurn] = useState(0);
  const load = useCallback(
    async (from: number, rows: number, signal: AbortSignal): Promise<readonly JobRow[]> => {
      const query = `from=${from}&count=${rows}&search=${encodeURIComponent(search)}`;
      const next = await read<JobPage>(`/api/jobs?${query}`, signal);
      setPage(next);
      return next.rows;
    },
    [search],
  );
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && setTurn((now) => now + 1), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  const total = page?.total ?? 1;
  return (
    <section class="panel jobs" aria-labelledby="jobs">
      <div class="title">
        <h2 id="jobs">
          Jobs <span data-test="jobs">{count(page?.total ?? 0)}</span>
        </h2>
        <span class="actions">
          {page && page.open.jobs > 0 && (
            <span class="dim" data-test="open-work">
              <OpenWork open={page.open} />
            </span>
          )}
          <label>
            <span class="hidden">Search in jobs</span>
            <input
              type="search"
              placeholder="search"
              value={search}
              onInput={(event) => setSearch(event.currentTarget.value.trim())}
            />
          </label>
        </span>
      </div>
      <VirtualList
        label="Jobs"
        total={total}
        version={`${version} ${turn}`}
        load={load}
        head={HEAD.map((name) => <span key={name}>{name}</span>)}
        row={(job, tabIndex) => <Job job={job} tabIndex={tabIndex} />}
      />
      {page?.total === 0 && <p class="dim">{search === '' ? 'No job is stored here yet.' : 'No job matches.'}</p>}
    </section>
  );
}

/** The work that is left of all unfinished jobs, and when it would end if they ran one after the other from now on. */
function OpenWork({ open: { jobs, etaSeconds } }: Pick<JobPage, 'open'>) {
  const known = `${count(jobs)} unfinished`;
  if (etaSeconds === undefined) return <>{known}</>;
  const now = Date.now();
  const end = timeText(now + etaSeconds * 1000, now);
  return <>{`${known}, ${duration(etaSeconds)} of work, one after the other until ${end}`}</>;
}

const HEAD = ['job', 'state', 'done', 'left', 'finish', 'hits', 'worked', 'last', 'id'];

function Job({ job, tabIndex }: { readonly job: JobRow; readonly tabIndex: number }) {
  const now = Date.now();
  const space = `of ${indexText(job.length)}`;
  return (
    <>
      <span title={`${job.name} ${job.params}`}>
        <a href={`#/job/${job.id}`} tabIndex={tabIndex}>
          {job.name}
        </a>{' '}
        <span class="dim">{job.params}</span>
      </span>
      <span>{job.state}</span>
      <span title={space}>{percent(job.fraction)}</span>
      <span>{orNone(job.etaSeconds, duration)}</span>
      <Time atMs={finishOf(job, now)} nowMs={now} />
      <span>{count(job.hits)}</span>
      <span>{duration(job.elapsedSeconds)}</span>
      <Time atMs={job.activeMs} nowMs={now} />
      <span class="mono dim">{job.id}</span>
    </>
  );
}

/** When a job ended, or will end if it runs. */
function finishOf({ isRunning, state, etaSeconds, activeMs }: JobRow, now: number): number | undefined {
  if (isRunning) return etaSeconds === undefined ? undefined : now + etaSeconds * 1000;
  return state === 'complete' || state === 'answered' ? activeMs : undefined;
}

function Time({ atMs, nowMs }: { readonly atMs: number | undefined; readonly nowMs: number }) {
  if (atMs === undefined) return <span>{NONE}</span>;
  return <span title={timeText(atMs, nowMs)}>{shortTimeText(atMs, nowMs)}</span>;
}
