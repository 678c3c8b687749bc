import type { DashboardState, Message, ProcessState } from '../live/state.js';
import { connection } from './connection.js';
import { Devices } from './devices.js';
import { Cell } from './facts.js';
import { Fleets } from './fleet/fleets.js';
import { Jobs } from './jobs.js';
import { count, duration, energyText, NONE, orNone, percent, rateText, timeText } from './text.js';

/** What runs now, on which devices, what went wrong, and every job ever kept. */
export function Overview({ state }: { readonly state: DashboardState }) {
  const { processes, directory, nowMs } = state;
  const messages = processes.flatMap((process) => process.messages.map((message) => ({ process, message })));
  return (
    <>
      {state.fleets.length > 0 && <Fleets fleets={state.fleets} />}
      {(processes.length > 0 || state.fleets.length === 0) && <RunningNow processes={processes} nowMs={nowMs} />}
      {processes.length > 0 && <Devices processes={processes} />}
      {messages.length > 0 && <Messages messages={messages.map(({ message }) => message)} nowMs={nowMs} />}
      {directory !== undefined && <Jobs version={processes.map(({ key }) => key).join()} />}
    </>
  );
}

interface RunningNowProps {
  readonly processes: readonly ProcessState[];
  readonly nowMs: number;
}

function RunningNow({ processes, nowMs }: RunningNowProps) {
  return (
    <section class="panel" aria-labelledby="running">
      <div class="title">
        <h2 id="running">Running now</h2>
        <Totals processes={processes} nowMs={nowMs} />
      </div>
      {processes.length === 0 ? (
        <p class="dim">
          Nothing runs now. Commands that run jobs in this data directory, such as <code>millrace run</code>, appear
          here.
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
            {processes.map((process) => (
              <Running key={process.key} process={process} nowMs={nowMs} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const COLUMNS = ['state', 'rate', 'fed', 'done', 'left', 'finish', 'hits', 'energy'];

function Running({ process, nowMs }: { readonly process: ProcessState; readonly nowMs: number }) {
  const { progress, unit } = process;
  const cells = [
    stateText(process),
    rateText(progress?.perSecond, unit),
    orNone(fedOf(process), percent),
    orNone(progress?.fraction, percent),
    orNone(progress?.etaSeconds, duration),
    orNone(progress?.etaSeconds, (seconds) => timeText(nowMs + seconds * 1000, nowMs)),
    orNone(progress?.hits, count),
    orNone(joulesOf(process), energyText),
  ];
  return (
    <tr data-key={process.key}>
      <th scope="row">
        <a href={`#/job/${process.key}`}>{process.name}</a> <span class="dim">{process.command}</span>
        {progress?.fraction !== undefined && (
          <progress value={progress.fraction} max={1} aria-label={`Progress of ${process.name}`} />
        )}
      </th>
      {cells.map((text, at) => (
        <Cell key={COLUMNS[at]} name={COLUMNS[at]} text={text} />
      ))}
    </tr>
  );
}

/** Sums over all processes: hits, energy, and when the last of them ends. */
function Totals({ processes, nowMs }: RunningNowProps) {
  if (processes.length < 2) return null;
  const hits = processes.reduce((sum, { progress }) => sum + (progress?.hits ?? 0), 0);
  const joules = processes.reduce((sum, process) => sum + (joulesOf(process) ?? 0), 0);
  const left = processes.flatMap(({ progress }) => progress?.etaSeconds ?? []);
  return (
    <span class="dim">
      {count(processes.length)} processes, {count(hits)} hits, {joules > 0 ? energyText(joules) : `energy ${NONE}`}
      {left.length > 0 && `, the last ends ${timeText(nowMs + Math.max(...left) * 1000, nowMs)}`}
    </span>
  );
}

export function Messages({ messages, nowMs }: { readonly messages: readonly Message[]; readonly nowMs: number }) {
  const latest = [...messages].sort((a, b) => b.atMs - a.atMs).slice(0, 20);
  return (
    <section class="panel" aria-labelledby="messages">
      <h2 id="messages">Warnings and errors</h2>
      <ul class="messages">
        {latest.map((message, at) => (
          <li key={`${message.atMs} ${at}`}>
            <time class="dim">{timeText(message.atMs, nowMs)}</time>{' '}
            <span class={message.kind === 'warning' ? 'warn' : 'bad'}>{message.kind}</span> {message.text}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function stateText({ exit, progress }: ProcessState): string {
  if (exit !== undefined) return `ended with status ${exit}`;
  return connection.value === 'ended' ? 'ended' : (progress?.state ?? 'starting');
}

/** The mean over the devices. */
export function fedOf({ progress }: ProcessState): number | undefined {
  const shares = (progress?.devices ?? []).flatMap(({ fed }) => fed ?? []);
  return shares.length === 0 ? undefined : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

export function joulesOf({ progress }: ProcessState): number | undefined {
  const known = (progress?.devices ?? []).flatMap(({ joules }) => joules ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, joules) => sum + joules, 0);
}
