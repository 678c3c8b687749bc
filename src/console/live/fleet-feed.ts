import type { FleetOverview } from '../../fleet/view/rows.js';
import type { Output } from '../output/output.js';
import type { LiveFleet } from './event-hub.js';

/**
 * Publishes the figures of a fleet: once a second while a page watches, and every 10 s as events of `--json`. Without either
 * nothing is computed.
 */
export function startFleetFeed(
  { hub, event, hasEvents }: Output,
  fleet: LiveFleet,
  overview: () => FleetOverview,
): { end(): void } {
  hub.fleet = fleet;
  let turn = 0;
  const publish = (): void => {
    if (hasEvents && turn % EVENT_TURNS === 0) event('fleet', { ...overview() });
    else if (hub.isWatched) hub.publish('fleet', { ...overview() });
    turn++;
  };
  publish();
  const timer = setInterval(publish, PUBLISH_MS).unref();
  return {
    end: () => {
      clearInterval(timer);
      hub.fleet = undefined;
    },
  };
}

const PUBLISH_MS = 1000;
const EVENT_TURNS = 10;
