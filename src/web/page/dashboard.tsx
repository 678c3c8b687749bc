import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { connection } from './connection.js';
import { FleetPage } from './fleet/fleet.js';
import { shownFleet } from './fleet/model.js';
import { LiveJob, StoredJob } from './job.js';
import { receive, shownKey, shownProcess, state } from './model.js';
import { Overview } from './overview.js';
import { firstState } from './start.js';
import { percent } from './text.js';

/** The dashboard's page. */
function Dashboard() {
  const now = connection.value;
  const title = titleText();
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <>
      <header class="bar">
        <h1>
          <a href="#/">Millrace</a>
        </h1>
        {state.value?.directory !== undefined && <span class="dim mono">{state.value.directory}</span>}
        <output class={`connection ${now}`} data-test="connection">
          {CONNECTION_TEXT[now]}
        </output>
      </header>
      <main>{now === 'refused' ? <Refused /> : <Shown />}</main>
    </>
  );
}

/** How far the job is that the page shows, for a tab that is not in front. */
function titleText(): string {
  const process = shownProcess.value;
  if (!process) return 'Millrace';
  const { fraction } = process.progress ?? {};
  return `${fraction === undefined ? '' : `${percent(fraction)} `}${process.name} – Millrace`;
}

function Shown() {
  const all = state.value;
  const key = shownKey.value;
  if (!all) return <p class="panel">Loading…</p>;
  const fleet = shownFleet.value;
  if (fleet) return <FleetPage fleet={fleet} state={all} />;
  if (key === undefined) return <Overview state={all} />;
  const process = shownProcess.value;
  return (
    <>
      <nav aria-label="Way back">
        <a href="#/">All jobs</a>
      </nav>
      {process ? <LiveJob process={process} state={all} /> : <StoredJob key={key} id={key} />}
    </>
  );
}

function Refused() {
  return (
    <div class="panel">
      <p>This page needs the address that the program printed: it holds the token.</p>
      <p class="dim">A program that was started again may have another address.</p>
    </div>
  );
}

const CONNECTION_TEXT = {
  connecting: 'connecting',
  open: 'live',
  lost: 'no connection: the figures are old; trying again',
  refused: 'not allowed',
  ended: 'the command has ended: these are its last figures',
} as const;

const root = document.getElementById('app');
if (root) {
  // If the server is slow, the page says so.
  const timer = setTimeout(() => render(<Dashboard />, root), 300);
  void firstState.then((first) => {
    clearTimeout(timer);
    receive(first);
    render(<Dashboard />, root);
  });
}
