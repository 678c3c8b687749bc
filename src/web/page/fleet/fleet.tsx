import type { DashboardState } from '../../live/state.js';
import { Strip } from '../charts/strip.js';
import { type Fact, Facts } from '../facts.js';
import { count, duration, NONE, orNone, percent, scaled } from '../text.js';
import { FleetJob } from './job.js';
import { FleetJobs } from './jobs.js';
import { coverageOf, head, jobCoverage, jobs } from './model.js';
import { Workers } from './workers.js';

export interface FleetPageProps {
  readonly fleet: { readonly key: string; readonly job: string | undefined };
  readonly state: DashboardState;
}

/** A fleet: its figures, jobs and workers; or one of its jobs. */
export function FleetPage({ fleet: { key, job: id }, state }: FleetPageProps) {
  const isHere = state.fleets.some((one) => one.key === key);
  const figures = head.value;
  const job = jobs.value.find((one) => one.id === id);
  const shown = jobs.value.find((one) => one.id === jobCoverage.value?.job);
  const strip = shown && coverageOf(shown.id);
  return (
    <>
      <nav aria-label="Way back">
        <a href="#/">All jobs</a>
        {id !== undefined && (
          <>
            {' · '}
            <a href={`#/fleet/${key}`}>Fleet {key}</a>
          </>
        )}
      </nav>
      {!isHere && (
        <p class="panel warn" role="status">
          {figures
            ? 'The coordinator has ended: these are its last figures.'
            : `No coordinator of the fleet ${key} runs.`}
        </p>
      )}
      {figures && id === undefined && (
        <>
          <section class="panel" aria-labelledby="fleet">
            <div class="title">
              <h2 id="fleet">Fleet {key}</h2>
              <span class="dim">
                nats-server {figures.server}, coordinator {figures.term}
              </span>
            </div>
            <Facts main={mainFactsOf(figures)} facts={factsOf(figures)} />
          </section>
          <FleetJobs fleet={key} jobs={jobs.value} jobCount={figures.jobCount} nowMs={state.nowMs} />
          {shown && strip && (
            <section class="panel" aria-labelledby="coverage">
              <h2 id="coverage">Coverage of {shown.name}</h2>
              <Strip coverage={strip} holder="with a worker" />
            </section>
          )}
        </>
      )}
      {id !== undefined && <FleetJob fleet={key} id={id} job={job} nowMs={state.nowMs} />}
      {figures && <Workers fleet={key} job={id} />}
    </>
  );
}

type Figures = NonNullable<typeof head.value>;

function mainFactsOf({ states, devices, fed, coordinator }: Figures): Fact[] {
  const { working, idle, draining, stale, gone, refused } = states;
  const others = Object.entries({ draining, stale, refused, gone }).filter(([, workers]) => workers > 0);
  return [
    ['workers', count(working + idle + draining)],
    ['working', count(working)],
    ['idle', count(idle)],
    ['not counted', others.map(([state, workers]) => `${count(workers)} ${state}`).join(', ') || NONE],
    ['devices', count(devices)],
    ['fed', orNone(fed, percent)],
    ['hits', count(coordinator.hits)],
  ];
}

function factsOf({ leases, coordinator }: Figures): Fact[] {
  const { leasesPerSecond, resultsPerSecond, resultsWaiting, commitLagSeconds, commitSeconds } = coordinator;
  return [
    ['leases', count(leases)],
    ['leases granted', `${scaled(leasesPerSecond)}/s`],
    ['results', `${scaled(resultsPerSecond)}/s`],
    ['results waiting', count(resultsWaiting)],
    ['commit lag', commitLagSeconds === 0 ? NONE : duration(commitLagSeconds)],
    ['last commit', orNone(commitSeconds, duration)],
  ];
}
