import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { DashboardState, JobDetail, ProcessState } from '../live/state.js';
import { encodeShare } from '../playground/page/share.js';
import { Rates } from './charts/rates.js';
import { Strip } from './charts/strip.js';
import { Timeline } from './charts/timeline.js';
import { Controls, StoredControls } from './controls.js';
import { Devices } from './devices.js';
import { type Fact, Facts } from './facts.js';
import { CopyButton, Hits } from './hits.js';
import { coverage } from './model.js';
import { fedOf, joulesOf, Messages, stateText } from './overview.js';
import { read } from './session.js';
import {
  count,
  duration,
  energyText,
  indexText,
  NONE,
  orNone,
  percent,
  rateText,
  shellText,
  timeText,
} from './text.js';

/** A job that a process runs. */
export function LiveJob({ process, state }: { readonly process: ProcessState; readonly state: DashboardState }) {
  const { progress, unit, messages } = process;
  const strip = coverage.value;
  const { nowMs } = state;
  return (
    <>
      <section class="panel" aria-labelledby="job">
        <div class="title">
          <h2 id="job">
            {process.name} <span>{process.command}</span> {process.jobId && <span class="mono">{process.jobId}</span>}
          </h2>
          <Controls process={process} />
        </div>
        <Facts main={mainFactsOf(process, nowMs)} facts={factsOf(process, nowMs)} />
        {strip && <Strip coverage={strip} holder="on a device" />}
      </section>
      <Rates devices={(progress?.devices ?? []).map(({ id }) => id)} unit={unit} />
      <Devices processes={[process]} />
      {hasHits(process.args) && <Hits jobKey={process.key} found={progress?.hits ?? 0} />}
      <Timeline jobKey={process.key} />
      <Repeat args={process.args} folder={process.folder} params={process.params}>
        <PlaygroundLink args={process.args} codeOf={process.hasCode ? process.key : undefined} />
      </Repeat>
      {messages.length > 0 && <Messages messages={messages} nowMs={nowMs} />}
    </>
  );
}

/** A job of the ledger that no process runs now. */
export function StoredJob({ id }: { readonly id: string }) {
  const [job, setJob] = useState<JobDetail>();
  const [fault, setFault] = useState('');
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    read<JobDetail>(`/api/jobs/${id}`, controller.signal).then(setJob, (error: Error) => {
      if (!controller.signal.aborted) setFault(error.message);
    });
    return () => controller.abort();
  }, [id, turn]);
  if (!job) return <p class="panel">{fault === '' ? 'Loading…' : fault}</p>;
  const nowMs = Date.now();
  return (
    <>
      <section class="panel" aria-labelledby="job">
        <div class="title">
          <h2 id="job">
            {job.name} <span class="mono">{job.id}</span>
          </h2>
          <StoredControls job={job} onChange={() => setTurn((now) => now + 1)} />
        </div>
        <Facts
          main={[
            job.reason === undefined
              ? ['state', job.state]
              : ['state', `${job.state}: ${job.reason.split('\n', 1)[0]}`, 'wide'],
            ['left', orNone(job.etaSeconds, duration)],
            ['hits', count(job.hits)],
            ['worked', duration(job.elapsedSeconds)],
          ]}
          facts={[
            ['done', `${indexText(job.done)} of ${indexText(job.length)} (${percent(job.fraction)})`, 'wide'],
            ['devices', job.devices.join(', ') || NONE, 'wide'],
            ['started', timeText(job.begunMs, nowMs)],
            ['last active', timeText(job.activeMs, nowMs)],
            ['priority', String(job.priority)],
          ]}
        />
        <Strip coverage={job.coverage} />
      </section>
      {hasHits(job.args) && <Hits jobKey={id} found={job.hits} />}
      <Repeat args={job.args} folder={job.folder} params={job.params}>
        <PlaygroundLink args={job.args} codeOf={undefined} />
      </Repeat>
    </>
  );
}

/** These make rows for a file: they find nothing. */
const hasHits = ([command = '']: readonly string[]): boolean => command !== 'words' && command !== 'encode';

function mainFactsOf(process: ProcessState, nowMs: number): Fact[] {
  const { progress, unit } = process;
  return [
    ['state', stateText(process)],
    ['rate', rateText(progress?.perSecond, unit)],
    ['fed', orNone(fedOf(process), percent)],
    ['left', orNone(progress?.etaSeconds, duration)],
    ['finish', orNone(progress?.etaSeconds, (seconds) => timeText(nowMs + seconds * 1000, nowMs))],
    ['hits', orNone(progress?.hits, count)],
    ['running for', orNone(progress?.seconds, duration)],
  ];
}

function factsOf(process: ProcessState, nowMs: number): Fact[] {
  const { progress, unit } = process;
  const length = progress?.length;
  const done = orNone(progress?.done, indexText);
  const share = progress?.fraction === undefined ? '' : ` (${percent(progress.fraction)})`;
  const restore = progress?.restorePoint;
  return [
    length === undefined ? ['tried', done, 'wide'] : ['done', `${done} of ${indexText(length)}${share}`, 'wide'],
    ['indices', orNone(progress?.current, ({ from, to }) => `${indexText(from)} to ${indexText(to)}`), 'wide'],
    [
      'restore point',
      restore ? `${indexText(restore.done)}, ${duration(restore.secondsAgo)} ago` : 'nothing is stored',
      'wide',
    ],
    ['energy', orNone(joulesOf(process), energyText)],
    ['highest rate', rateText(progress?.maxPerSecond, unit)],
    ['since', orNone(process.startedMs, (ms) => timeText(ms, nowMs))],
    ...process.notes.map(({ label, text }): Fact => (text.length > 24 ? [label, text, 'wide'] : [label, text])),
  ];
}

interface RepeatProps {
  readonly args: readonly string[];
  readonly folder: string;
  readonly params: string;
  readonly children: ComponentChildren;
}

/** The values that define a job, and the command that repeats it. */
function Repeat({ args, folder, params, children }: RepeatProps) {
  const command = `millrace ${shellText(args)}`;
  return (
    <section class="panel" aria-labelledby="repeat">
      <div class="title">
        <h2 id="repeat">Parameters</h2>
        <span class="actions">
          {children}
          <CopyButton text={command} label="Copy the command" name="copy command" />
        </span>
      </div>
      {params !== '' && <p class="mono">{params}</p>}
      <pre class="mono" data-test="command">
        {command}
      </pre>
      {folder !== '' && <p class="dim">in {folder}</p>}
    </section>
  );
}

/** Commands whose kernels are examples of the playground. */
const WORKLOADS = ['block', 'encode', 'gaps', 'uhash', 'words'];

interface PlaygroundLinkProps {
  readonly args: readonly string[];
  /** The key of the job whose code the server has; undefined if it has none. */
  readonly codeOf: string | undefined;
}

/** Opens a job's kernel in the playground: its own file as code that waits for a click, or a workload's example. */
function PlaygroundLink({ args: [command = ''], codeOf }: PlaygroundLinkProps) {
  const [fragment, setFragment] = useState<string>();
  useEffect(() => {
    setFragment(undefined);
    if (codeOf === undefined) return undefined;
    const controller = new AbortController();
    read<{ readonly code: string }>(`/api/jobs/${codeOf}/code`, controller.signal)
      .then(({ code }) => encodeShare(code))
      .then((encoded) => controller.signal.aborted || setFragment(encoded))
      .catch(() => undefined); // the connection's state is shown above
    return () => controller.abort();
  }, [codeOf]);
  const target = fragment ?? (WORKLOADS.includes(command) ? `example=${command}` : undefined);
  return target === undefined ? null : <a href={`/playground#${target}`}>Open the kernel in the playground</a>;
}
