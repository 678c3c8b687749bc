import { render } from 'preact';
import { Facts } from '../../page/facts.js';
import { count, NONE, orNone, percent, rateText } from '../../page/text.js';
import type { JoinState } from '../messages.js';
import { done, isPausedHidden, kept, state, want } from './model.js';

/** The page that works for a fleet. Nothing runs before its user starts it. */
function Join() {
  const now = state.value;
  return (
    <>
      <header class="bar">
        <h1>Millrace</h1>
        {now?.member && <span class="dim">fleet {now.member.fleet}</span>}
        <output class={`connection ${now?.connection ?? 'connecting'}`} data-test="connection">
          {kept.value && CONNECTION_TEXT[now?.connection ?? 'connecting']}
        </output>
      </header>
      <main>{kept.value === undefined ? <NoInvite /> : <Shown now={now} />}</main>
    </>
  );
}

function NoInvite() {
  return (
    <div class="panel">
      <p>This page needs a link with an invite, which the person who runs the coordinator can make.</p>
      <p class="dim">The command is: millrace fleet invite --browser</p>
    </div>
  );
}

function Shown({ now }: { readonly now: JoinState | undefined }) {
  if (now === undefined) return <p class="panel">Connecting…</p>;
  return (
    <>
      {now.reason !== undefined && (
        <p class={`panel ${now.connection === 'ended' ? 'bad' : 'warn'}`} role="alert" data-test="reason">
          {now.reason}
        </p>
      )}
      {now.connection !== 'ended' && <Consent now={now} />}
      <Contribution now={now} />
      {now.notes.length > 0 && (
        <section class="panel" aria-label="Messages">
          <ul class="notes dim">
            {now.notes.map((note, at) => (
              <li key={`${at} ${note}`}>{note}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

/** What will run, for whom, on what, and the button. */
function Consent({ now }: { readonly now: JoinState }) {
  const { about } = document.documentElement.dataset;
  const { member, summary } = now;
  return (
    <section class="panel" aria-label="Work">
      <h2>{about || 'Work for a fleet'}</h2>
      <p>
        With your consent this page computes for the fleet {member?.fleet} at {member?.server}, as {member?.user}
        {member?.expires !== undefined && `, until ${new Date(member.expires * 1000).toLocaleString()} at most`}. Its
        jobs are arithmetic on ranges of numbers, in the sandbox of this page: they see no files and no other pages.
        They use your processor or graphics card, and its electricity, until you stop.
      </p>
      <p data-test="kinds">{kindsText(now.workloads)}</p>
      <Jobs jobs={summary?.jobs} workloads={now.workloads} />
      <Controls now={now} />
    </section>
  );
}

function Jobs({ jobs, workloads }: { readonly jobs: Jobs; readonly workloads: readonly string[] }) {
  if (jobs === undefined) return null;
  if (jobs.length === 0) return <p data-test="jobs">The fleet has no job now; the next one will run.</p>;
  return (
    <>
      <p>What runs now:</p>
      <ul data-test="jobs">
        {jobs.map(({ name, work = 'kernel', submitters = [], state: of, fraction, perSecond }, at) => (
          <li key={`${at} ${name}`}>
            <strong>{name}</strong>
            {submitters.length > 0 && ` for ${submitters.join(', ')}`}:{' '}
            {of === 'running' ? rateText(perSecond, '') : of}, {percent(fraction)} done
            {work !== 'kernel' && !workloads.includes(work) && (
              <span class="dim">; not in this page: others do it</span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

type Jobs = NonNullable<JoinState['summary']>['jobs'] | undefined;

/** Says what this page can be asked to compute. */
function kindsText(workloads: readonly string[]): string {
  const known = workloads.map((name) => {
    const what = WORKLOAD_TEXT[name];
    return what === undefined ? name : `${what} (${name})`;
  });
  return `A job is ${['a kernel that its submitter has written', ...known].join(', ')}.`;
}

const WORKLOAD_TEXT: Readonly<Record<string, string>> = {
  block: "a search for the nonce of a block's header",
  gaps: 'a search for large gaps between primes',
  uhash: 'a search for proofs of UniversalHash',
};

function Controls({ now }: { readonly now: JoinState }) {
  const wanted = kept.value;
  if (wanted === undefined) return null;
  const { isWanted, share, device, pausesHidden } = wanted;
  const toggle = () => want({ isWanted: !isWanted });
  return (
    <div class="controls">
      <label>
        Device
        <select
          value={device ?? now.devices[0]?.id}
          disabled={isWanted}
          onChange={({ currentTarget }) => want({ device: currentTarget.value })}
        >
          {now.devices.map(({ id, name }) => (
            <option key={id} value={id}>
              {id}: {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>
          At most <output data-test="share">{Math.round(share * 100)} %</output> of the time
        </span>
        <input
          type="range"
          min={5}
          max={100}
          step={5}
          value={Math.round(share * 100)}
          onInput={({ currentTarget }) => want({ share: Number(currentTarget.value) / 100 })}
        />
      </label>
      <label class="line">
        <input
          type="checkbox"
          checked={pausesHidden}
          onChange={({ currentTarget }) => want({ pausesHidden: currentTarget.checked })}
        />
        Pause while this page is hidden
      </label>
      <button
        type="button"
        class={isWanted ? '' : 'primary'}
        onClick={toggle}
        disabled={now.connection !== 'open' && !isWanted}
      >
        {isWanted ? 'Stop' : 'Start'}
      </button>
    </div>
  );
}

function Contribution({ now }: { readonly now: JoinState }) {
  const { ranges, indices, hits } = done.value;
  const own = now.phase === 'working' ? now.summary?.worker : undefined;
  return (
    <section class="panel" aria-label="Contribution">
      <h2 data-test="phase">{phaseText(now)}</h2>
      <Facts
        facts={[
          ['ranges', count(ranges)],
          ['indices', count(indices)],
          ['rate', now.phase === 'working' ? rateText(now.perSecond, '') : NONE],
          ['hits', count(hits)],
          ['share of the fleet', orNone(own?.share, percent)],
          ['results', own ? TRUST_TEXT[own.trust] : NONE],
          ['device', now.device ?? NONE],
          ['workers', orNone(now.summary?.workers, count)],
        ]}
      />
      <p class="dim">
        Ranges count when the coordinator has confirmed them. A reload keeps them; closing the tab ends this worker.
      </p>
    </section>
  );
}

function phaseText(now: JoinState): string {
  if (now.connection === 'ended') return 'Ended';
  if (isPausedHidden.value) return 'Paused while hidden';
  if (now.connection === 'lost' && now.phase === 'working') return 'Working on what is here';
  return PHASE_TEXT[now.phase];
}

const PHASE_TEXT = {
  idle: 'Not working',
  starting: 'Starting',
  working: 'Working',
  leaving: 'Reporting what is done',
} as const;

const TRUST_TEXT = {
  own: 'count at once',
  trusted: 'count after samples',
  new: 'are done twice at first',
  barred: 'do not count: some were wrong',
} as const;

const CONNECTION_TEXT = {
  connecting: 'connecting',
  open: 'connected',
  lost: 'no connection; trying again',
  ended: 'not connected',
} as const;

const root = document.getElementById('app');
if (root) render(<Join />, root);
