import { useCallback, useState } from 'preact/hooks';
import type { FleetWorkerRow, WorkerOrder, WorkerQuery, WorkerState } from '../../../fleet/view/rows.js';
import { count, NONE, orNone, percent, rateText } from '../text.js';
import { VirtualList } from '../virtual-list.js';
import { sendToFleet } from './control.js';
import { showWorkers, workerWindow } from './model.js';

export interface WorkersProps {
  readonly fleet: string;
  /** Only workers of this job, with their shares of it. */
  readonly job: string | undefined;
}

/** The columns and how the list is ordered by each. */
const COLUMNS: readonly (readonly [name: string, order: WorkerOrder | undefined])[] = [
  ['worker', 'name'],
  ['state', 'state'],
  ['share', 'share'],
  ['rate', 'rate'],
  ['fed', 'fed'],
  ['leases', 'leases'],
  ['heard', 'heard'],
  ['trust', 'trust'],
  ['devices', undefined],
];
const STATES: readonly WorkerState[] = ['working', 'idle', 'draining', 'refused', 'stale', 'gone'];

/** The workers of a fleet. The coordinator orders and filters them; the page has the rows that can be seen. */
export function Workers({ fleet, job }: WorkersProps) {
  const [order, setOrder] = useState<WorkerOrder>('share');
  const [isReversed, setReversed] = useState(false);
  const [search, setSearch] = useState('');
  const [state, setState] = useState<WorkerState>();
  const [message, setMessage] = useState('');
  const load = useCallback(
    (from: number, rows: number, signal: AbortSignal): Promise<readonly FleetWorkerRow[]> => {
      const filter = { ...(state !== undefined && { state }), ...(job !== undefined && { job }) };
      const query: WorkerQuery = { from, count: rows, order, isReversed, search, ...filter };
      return showWorkers(query, signal);
    },
    [order, isReversed, search, state, job],
  );
  const sortBy = (name: WorkerOrder): void => {
    setReversed(name === order && !isReversed);
    setOrder(name);
  };
  const drain = async (worker: string): Promise<void> =>
    setMessage(await sendToFleet(fleet, { action: 'drain', worker }));
  const window = workerWindow.value;
  const total = window?.total ?? 1;
  return (
    <section class="panel workers" aria-labelledby="workers">
      <div class="title">
        <h2 id="workers">
          {job === undefined ? 'Workers' : 'Workers of the job'}{' '}
          <span data-test="workers">{count(window?.total ?? 0)}</span>
        </h2>
        <span class="actions">
          <output class="dim">{message}</output>
          <label>
            <span class="hidden">State</span>
            <select
              value={state ?? ''}
              onChange={(event) => setState((event.currentTarget.value || undefined) as WorkerState | undefined)}
            >
              <option value="">all states</option>
              {STATES.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span class="hidden">Search in workers</span>
            <input
              type="search"
              placeholder="search"
              value={search}
              onInput={(event) => setSearch(event.currentTarget.value.trim())}
            />
          </label>
        </span>
      </div>
      <fieldset class="row order" aria-label="Order of the workers">
        {COLUMNS.map(([name, by]) =>
          by === undefined ? (
            <span key={name} class="dim">
              {name}
            </span>
          ) : (
            <button
              key={name}
              type="button"
              class="plain"
              aria-pressed={by === order}
              aria-label={`Order by ${name}`}
              onClick={() => sortBy(by)}
            >
              {name}
              {by === order && (isReversed ? ' ▴' : ' ▾')}
            </button>
          ),
        )}
      </fieldset>
      <VirtualList
        label="Workers"
        total={total}
        version={`${window?.total ?? 0} ${versionOf(window)}`}
        load={load}
        head={null}
        row={(worker) => <Worker worker={worker} onDrain={drain} />}
      />
      {window?.total === 0 && <p class="dim">No worker{search !== '' || state ? ' matches' : ' yet'}.</p>}
    </section>
  );
}

let versions = 0;
const seen = new WeakMap<object, number>();

/** Another number for each update. */
function versionOf(window: object | undefined): number {
  if (window === undefined) return 0;
  const known = seen.get(window) ?? ++versions;
  seen.set(window, known);
  return known;
}

interface WorkerProps {
  readonly worker: FleetWorkerRow;
  readonly onDrain: (id: string) => Promise<void>;
}

function Worker({ worker, onDrain }: WorkerProps) {
  const { id, state, reason, share, perSecond, fed, leases, heardSeconds, faults, trust, agreements, devices } = worker;
  const isCounted = state === 'working' || state === 'idle' || state === 'draining';
  const names = devices
    .map(({ id: device, perSecond: own }) => (isCounted ? `${device} ${rateText(own, '')}` : device))
    .join(', ');
  // An id is that of a user and of a process: the name that it was started with, and a number.
  const name = id.replace(/^[^.]*\./, '').replace(/-[0-9a-f]{12}$/, '');
  return (
    <>
      <span class={isCounted ? '' : 'faded'} title={id} data-worker={id}>
        {name}
      </span>
      <span class={CLASS[state]} title={reason ?? ''}>
        {state}
      </span>
      <span>{orNone(share, percent)}</span>
      <span>{isCounted ? rateText(perSecond, '') : NONE}</span>
      <span>{isCounted ? orNone(fed, percent) : NONE}</span>
      <span>{count(leases)}</span>
      <span>{heardText(heardSeconds)}</span>
      <span title={`${count(agreements)} agreements, ${count(faults)} wrong results`}>{trust}</span>
      <span class="last">
        <span class="mono" title={names}>
          {names || NONE}
        </span>
        {(state === 'working' || state === 'idle') && (
          <button type="button" class="small" aria-label={`Drain ${name}`} onClick={() => void onDrain(id)}>
            Drain
          </button>
        )}
      </span>
    </>
  );
}

const CLASS: Readonly<Record<WorkerState, string>> = {
  working: 'good',
  idle: '',
  draining: 'warn',
  refused: 'bad',
  stale: 'faded',
  gone: 'faded',
};

/** The server sends 0 for a worker whose heartbeats come on time. */
const heardText = (seconds: number): string => (seconds === 0 ? 'now' : `${Math.round(seconds)} s ago`);
