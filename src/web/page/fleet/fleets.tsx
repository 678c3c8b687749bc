import type { FleetSummary } from '../../live/state.js';
import { count } from '../text.js';

/** Fleets that processes of the data directory coordinate. */
export function Fleets({ fleets }: { readonly fleets: readonly FleetSummary[] }) {
  return (
    <section class="panel" aria-labelledby="fleets">
      <h2 id="fleets">Fleet</h2>
      <ul class="plain">
        {fleets.map(({ key, pid, workers, jobs }) => (
          <li key={key}>
            <a href={`#/fleet/${key}`}>Fleet {key}</a>{' '}
            <span class="dim">
              {count(workers)} {workers === 1 ? 'worker' : 'workers'}, {count(jobs)} {jobs === 1 ? 'job' : 'jobs'},
              process {pid}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
