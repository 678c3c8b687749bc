import type { Store } from '../../store/index.js';
import { Authority } from '../access/index.js';
import { type Clock, systemClock } from '../clock.js';
import { AccountUpdates, Bus, type Invite, PrivateServer } from '../nats/index.js';
import type { FleetWorkload } from '../workload.js';
import { AccessControl } from './access-control.js';
import { FleetFiles } from './files.js';
import { CoordinatorService } from './service.js';

export interface FleetHostOptions {
  /** Where the fleet's files are. */
  readonly folder: string;
  readonly store: Store;
  readonly workloads?: readonly FleetWorkload[];
  /** A server that runs already, and its token. Without it a private one is started. */
  readonly nats?: string | undefined;
  readonly token?: string | undefined;
  readonly say: (message: string) => void;
  readonly warn: (message: string) => void;
  readonly clock?: Clock;
}

/** A fleet that is served from here: its server, its keys, its coordinator. */
export class FleetHost {
  readonly authority: Authority;
  readonly bus: Bus;
  readonly service: CoordinatorService;
  /** For whoever serves the fleet. */
  readonly invite: Invite;
  /** Rejects when the fleet cannot be served any longer. */
  readonly failed: Promise<never>;
  readonly #closing: Closing;

  private constructor(parts: HostParts, closing: Closing) {
    this.authority = parts.authority;
    this.bus = parts.bus;
    this.service = parts.service;
    this.invite = parts.invite;
    this.failed = Promise.race([parts.service.failed, ...(parts.server ? [parts.server.failed] : [])]);
    this.failed.catch(() => undefined); // whoever waits for it is told
    this.#closing = closing;
  }

  static async start(options: FleetHostOptions): Promise<FleetHost> {
    const closing: Closing = [];
    try {
      return new FleetHost(await startParts(options, closing), closing);
    } catch (error) {
      await closeAll(closing);
      throw error;
    }
  }

  /** Leaves everything as it is for the next coordinator. */
  close(): Promise<void> {
    return closeAll(this.#closing);
  }
}

interface HostParts {
  readonly authority: Authority;
  readonly server: PrivateServer | undefined;
  readonly bus: Bus;
  readonly service: CoordinatorService;
  readonly invite: Invite;
}

/** What has to be closed, in the order in which it was opened. */
type Closing = (() => Promise<void>)[];

async function startParts(options: FleetHostOptions, closing: Closing): Promise<HostParts> {
  const { folder, store, workloads = [], nats, token, say, warn, clock = systemClock } = options;
  const files = new FleetFiles(folder);
  const authority = await Authority.open(files.folder, files.fleet);
  const accounts = (): readonly string[] => authority.serverLines;
  const server =
    nats === undefined ? await PrivateServer.start({ folder: files.serverFolder, accounts, warn }) : undefined;
  if (server) closing.push(() => server.stop());
  const address = { url: server?.url ?? nats ?? '', fleet: files.fleet, ...(token !== undefined && { token }) };
  const updates = server && (await AccountUpdates.connect(address, await authority.system()));
  if (updates) closing.push(() => updates.close());
  const access = await AccessControl.start({ authority, address, updates });
  const bus = await Bus.connect({ ...address, ...(await authority.coordinator()) }, 'millrace coordinator');
  closing.push(() => bus.close());
  const service = await CoordinatorService.start({ bus, access, files, store, workloads, say, warn, clock });
  closing.push(() => service.close());
  return { authority, server, bus, service, invite: { ...address, ...(await authority.admin()) } };
}

async function closeAll(closing: Closing): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}
