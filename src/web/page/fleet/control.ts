import type { FleetAction } from '../../../fleet/view/rows.js';
import { messageOf, post } from '../session.js';

/** Asks the coordinator for a change. Resolves to what has changed, or why not. */
export async function sendToFleet(fleet: string, action: FleetAction): Promise<string> {
  try {
    const response = await post(`/api/fleets/${fleet}/control`, action);
    return response.ok ? ((await response.json()) as { what: string }).what : await messageOf(response);
  } catch {
    return 'the server does not answer';
  }
}
