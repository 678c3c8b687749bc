import type { DashboardState } from '../live/state.js';
import { startSession } from './session.js';

/**
 * What the page shows first; undefined if the server refuses. This is a script of its own: it runs while the browser still
 * reads that of the page, so that the figures are there when the page is drawn.
 */
export const firstState: Promise<DashboardState | undefined> = startSession<DashboardState>().catch(() => undefined);
