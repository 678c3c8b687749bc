import { useState } from 'preact/hooks';
import type { FleetAction, FleetJobRow } from '../../../fleet/view/rows.js';
import { Strip } from '../charts/strip.js';
import { PriorityForm } from '../controls.js';
import { type Fact, Facts } from '../facts.js';
import { count, duration, indexText, NONE, orNone, percent, rateText, timeText } from '../text.js';
import { sendToFleet } from './control.js';
import { coverageOf } from './model.js';

export interface FleetJobProps {
  readonly fleet: string;
  readonly id: string;
  readonly job: FleetJobRow | undefined;
  readonly nowMs: number;
}

/** One job of a fleet. The list of its workers follows it. */
export function FleetJob({ fleet, id, job, nowMs }: FleetJobProps) {
  const strip = coverageOf(id);
  if (!job) return <p class="panel">The fleet does not have this job now.</p>;
  return (
    <section class="panel" aria-labelledby="fleet-job">
      <div class="title">
        <h2 id="fleet-job">
          {job.name} <span class="mono">{id.slice(0, 12)}</span>
        </h2>
        <Controls fleet={fleet} job={job} />
      </div>
      <Facts main={mainFactsOf(job, nowMs)} facts={factsOf(job)} />
      {strip && <Strip coverage={strip} holder="with a worker" />}
    </section>
  );
}

function mainFactsOf(job: FleetJobRow, nowMs: number): Fact[] {
  return [
    ['state', job.state],
    ['rate', rateText(job.perSecond, '')],
    ['left', orNone(job.etaSeconds, duration)],
    ['finish', orNone(job.etaSeconds, (seconds) => timeText(nowMs + seconds * 1000, nowMs))],
    ['hits', count(job.hits)],
    ['workers', count(job.workers)],
    ['leases', count(job.leases)],
  ];
}

function factsOf(job: FleetJobRow): Fact[] {
  return [
    ['done', `${indexText(job.done)} of ${indexText(job.length)} (${percent(job.fraction)})`, 'wide'],
    ['cannot run it', job.refusals === 0 ? NONE : count(job.refusals)],
    ['by workers that left', job.leftShare === 0 ? NONE : percent(job.leftShare)],
    ['waits for audits', BigInt(job.unsettled) === 0n ? NONE : indexText(job.unsettled)],
    ['done again', BigInt(job.audited) === 0n ? NONE : indexText(job.audited)],
    ['reopened', BigInt(job.reopened ?? 0) === 0n ? NONE : indexText(job.reopened ?? 0)],
    ['priority', String(job.priority)],
  ];
}

function Controls({ fleet, job }: { readonly fleet: string; readonly job: FleetJobRow }) {
  const [message, setMessage] = useState('');
  const { id, state } = job;
  const isOver = state !== 'running' && state !== 'paused';
  const send = async (action: FleetAction): Promise<void> => setMessage(await sendToFleet(fleet, action));
  return (
    <fieldset class="actions">
      <legend class="hidden">Controls</legend>
      <button type="button" disabled={state !== 'running'} onClick={() => void send({ action: 'pause', job: id })}>
        Pause
      </button>
      <button type="button" disabled={state !== 'paused'} onClick={() => void send({ action: 'resume', job: id })}>
        Resume
      </button>
      <button type="button" disabled={isOver} onClick={() => void send({ action: 'stop', job: id })}>
        Stop
      </button>
      <PriorityForm
        priority={job.priority}
        isDisabled={isOver}
        set={(priority) => void send({ action: 'priority', job: id, priority })}
      />
      <output class="dim">{message}</output>
    </fieldset>
  );
}
