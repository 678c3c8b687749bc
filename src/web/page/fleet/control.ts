import type { FleetAction } from '../../../fleet/view/rows.js';
import { ask } from '../session.js';

/** Asks the coordinator for a change. Resolves to what has changed, or why not. */
export const sendToFleet = (fleet: string, action: FleetAction): Promise<string> =>
  ask(`/api/fleets/${fleet}/control`, action);
