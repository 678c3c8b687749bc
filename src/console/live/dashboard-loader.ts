import type { Output } from '../output/output.js';
import type { Address } from '../telemetry/options.js';
import type { EventHub } from './event-hub.js';

/** The dashboard of `--dashboard`: a server of one command's page. */
export interface CommandDashboard {
  /** The address to open, with its token. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts the dashboard of a command. Set by the program: the pages are in a layer above this one, and are loaded only when
 * they are asked for.
 */
export const dashboardLoader: {
  start?: (address: Address, hub: EventHub, dataDir: string | undefined) => Promise<CommandDashboard>;
} = {};

/** Starts the dashboard of a command and tells the user its address. Undefined if `--dashboard` was not given. */
export async function openDashboard(
  address: Address | undefined,
  { hub, sayUnredacted, event }: Output,
  dataDir: string | undefined,
): Promise<CommandDashboard | undefined> {
  const dashboard = address && (await dashboardLoader.start?.(address, hub, dataDir));
  if (!dashboard) return undefined;
  sayUnredacted(`dashboard: ${dashboard.url}`);
  // The address is a key to the page, which events must not have: anybody may read a log of them.
  event('listening', { url: dashboard.url.replace(/#.*/, '') });
  return dashboard;
}
