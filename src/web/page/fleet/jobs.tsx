import type { FleetJobRow } from '../../../fleet/view/rows.js';
import { Cell } from '../facts.js';
import { count, duration, orNone, percent, rateText, timeText } from '../text.js';

export interface FleetJobsProps {
  readonly fleet: string;
  readonly jobs: readonly FleetJobRow[];
  readonly jobCount: number;
  readonly nowMs: number;
}

/** Rows of the table: those that are over are also in the ledger. */
const MAX_ROWS = 30;

/** The jobs of a fleet: those that are not over first. */
export function FleetJobs({ fleet, jobs, jobCount, nowMs }: FleetJobsProps) {
  const shown = jobs.slice(0, MAX_ROWS);
  return (
    <section class="panel" aria-labelledby="fleet-jobs">
      <h2 id="fleet-jobs">
        Jobs of the fleet <span data-test="fleet-jobs">{count(jobCount)}</span>
      </h2>
      {shown.length === 0 ? (
        <p class="dim">
          No job yet: <code>millrace run FILE --fleet</code> submits one.
        </p>
      ) : (
        <table class="cards">
          <thead>
            <tr>
              {['job', ...COLUMNS].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((job) => (
              <tr key={job.id} data-key={job.id}>
                <th scope="row">
                  <a href={`#/fleet/${fleet}/job/${job.id}`}>{job.name}</a>{' '}
                  <span class="dim mono">{job.id.slice(0, 12)}</span>
                  <progress value={job.fraction} max={1} aria-label={`Progress of ${job.name}`} />
                </th>
                {cellsOf(job, nowMs).map((text, at) => (
                  <Cell key={COLUMNS[at]} name={COLUMNS[at]} text={text} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {jobCount > shown.length && <p class="dim">and {count(jobCount - shown.length)} more, in the ledger</p>}
    </section>
  );
}

const COLUMNS = ['state', 'done', 'rate', 'left', 'finish', 'hits', 'workers', 'leases'];

const cellsOf = (job: FleetJobRow, nowMs: number): string[] => [
  job.state,
  percent(job.fraction),
  rateText(job.perSecond, ''),
  orNone(job.etaSeconds, duration),
  orNone(job.etaSeconds, (seconds) => timeText(nowMs + seconds * 1000, nowMs)),
  count(job.hits),
  count(job.workers),
  count(job.leases),
];
