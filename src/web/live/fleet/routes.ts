import { readFleetAction, readWorkerQuery } from '../../../fleet/view/read.js';
import type { SendEvent } from '../../server/replies.js';
import type { Route } from '../../server/server.js';
import type { Dashboard } from '../dashboard.js';

/** The parts of the dashboard's page that are about fleets. */
export function fleetRoutes(dashboard: Dashboard): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/view/:viewer/workers',
      handle: async ({ params, body }) => {
        await dashboard.showWorkers(params.viewer ?? '', readWorkerQuery(await body()));
        return { json: {} };
      },
    },
    {
      method: 'POST',
      path: '/api/fleets/:key/control',
      handle: async ({ params, body }) => {
        const what = await dashboard.controlFleet(params.key ?? '', readFleetAction(await body()));
        return { json: { what } };
      },
    },
  ];
}

/** Sends the events of a fleet with those of the dashboard, if the page shows one. */
export function openFleet(dashboard: Dashboard, query: URLSearchParams, send: SendEvent): () => void {
  const key = query.get('fleet');
  if (key === null) return () => undefined;
  return dashboard.viewFleet(query.get('viewer') ?? '', key, query.get('fleetJob') ?? undefined, send);
}
