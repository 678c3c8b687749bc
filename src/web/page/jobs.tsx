import { useCallback, useEffect, useState } from 'preact/hooks';
import type { JobPage, JobRow } from '../live/state.js';
import { read } from './session.js';
import { count, duration, indexText, orNone, percent, timeText } from './text.js';
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
            <span class="dim">
              {count(page.open.jobs)} unfinished, {orNone(page.open.etaSeconds, duration)} of work
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
        head={HEAD.map((name) => (
          <span key={name} class={name === 'job' ? 'wide' : ''}>
            {name}
          </span>
        ))}
        row={(job) => <Job job={job} />}
      />
    </section>
  );
}

const HEAD = ['id', 'state', 'done', 'hits', 'worked', 'last', 'job'];

function Job({ job }: { readonly job: JobRow }) {
  const space = `of ${indexText(job.length)}`;
  return (
    <>
      <span class="mono">
        <a href={`#/job/${job.id}`}>{job.id}</a>
      </span>
      <span>{job.state}</span>
      <span title={space}>{percent(job.fraction)}</span>
      <span>{count(job.hits)}</span>
      <span>{duration(job.elapsedSeconds)}</span>
      <span>{timeText(job.activeMs, Date.now())}</span>
      <span class="wide" title={`${job.name} ${job.params}`}>
        {job.name} <span class="dim">{job.params}</span>
      </span>
    </>
  );
}
