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
