import { hostname } from 'node:os';
import { join } from 'node:path';
import { firstLine, MillraceError } from '../../kernel/error.js';
import type { Store } from '../../store/index.js';
import { Authority, ownTls, type ServerTls } from '../access/index.js';
import { FleetClient } from '../client/index.js';
import { type Clock, systemClock } from '../clock.js';
import {
  AccountUpdates,
  Bus,
  type CommitLog,
  checkRemoteServer,
  checkVersion,
  externalAddresses,
  type Invite,
  isWildcard,
  type ListenAddress,
  PrivateServer,
  urlHost,
} from '../nats/index.js';
import type { ProtocolVersions } from '../protocol/index.js';
import { FleetFiles, Follower, Replica } from '../replica/index.js';
import type { FleetWorkload } from '../workload.js';
import { AccessControl } from './access-control.js';
import { CoordinatorService } from './service.js';

export interface FleetHostOptions {
  /** Where the fleet's files are. */
  readonly folder: string;
  readonly store: Store;
  readonly workloads?: readonly FleetWorkload[];
  /** The server. Default: a private one on loopback. */
  readonly server?: PrivateServerPlace | GivenServer | undefined;
  readonly say: (message: string) => void;
  readonly warn: (message: string) => void;
  readonly clock?: Clock;
  /** Of messages. Default: those of this release. */
  readonly versions?: ProtocolVersions | undefined;
  /** Unix time in seconds, by which invites expire. Default: the machine's. */
  readonly unixSeconds?: (() => number) | undefined;
  /** Follows the leader until that is silent, or the signal is aborted. Default: leads at once. */
  readonly standby?: AbortSignal | undefined;
}

/**
 * Where a private server listens. With `listen` it has TLS, with the files that are given or with a certificate of the
 * fleet's own; without, it is on loopback.
 */
export interface PrivateServerPlace {
  readonly kind: 'private';
  readonly listen?: ListenAddress | undefined;
  /** The name or address by which other machines reach it. */
  readonly advertise?: string | undefined;
  readonly tls?: ServerTls | undefined;
  /** Where browsers connect, the origins of pages that may, and the page that works for the fleet. */
  readonly websocket?: BrowserPlace | undefined;
}

export interface BrowserPlace {
  readonly listen: ListenAddress;
  readonly origins: readonly string[];
  /** The address of the page, without a fragment. */
  readonly page?: string | undefined;
}

/** A server that runs already. */
export interface GivenServer {
  readonly kind: 'given';
  readonly url: string;
  readonly ca?: string | undefined;
  readonly token?: string | undefined;
  /** Copies of the fleet's streams on the servers of a cluster. */
  readonly replicas?: number | undefined;
}

/** A fleet that is served from here: its server, its keys, its coordinator. */
export class FleetHost {
  readonly authority: Authority;
  readonly bus: Bus;
  readonly service: CoordinatorService;
  /** The administrator's. */
  readonly invite: Invite;
  /** Where other machines find the server. */
  readonly url: string;
  /** The private server. */
  readonly server: PrivateServer | undefined;
  /** The server's address for browsers, and the page that works for the fleet. */
  readonly browsers: OpenedServer['browsers'];
  /** Rejects when the fleet cannot be served any longer. */
  readonly failed: Promise<never>;
  readonly #closing: Closing;

  private constructor(parts: HostParts, closing: Closing) {
    this.authority = parts.authority;
    this.bus = parts.bus;
    this.service = parts.service;
    this.invite = parts.invite;
    this.url = parts.url;
    this.server = parts.server;
    this.browsers = parts.browsers;
    this.failed = Promise.race([parts.service.failed, ...(parts.server ? [parts.server.failed] : [])]);
    this.failed.catch(() => undefined); // told to those who wait for it
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
  readonly url: string;
  readonly browsers: OpenedServer['browsers'];
}

/** What has to be closed, in the order in which it was opened. */
type Closing = (() => Promise<void>)[];

async function startParts(options: FleetHostOptions, closing: Closing): Promise<HostParts> {
  const { folder, store, workloads = [], say, warn, clock = systemClock } = options;
  const files = new FleetFiles(folder);
  const { fleet } = files;
  const authority = await Authority.open(files.folder, fleet, options.unixSeconds);
  const { server, own, address, browsers } = await openServer(options, files, authority, closing);
  const coordinator = await authority.coordinator();
  const replicas = options.server?.kind === 'given' ? options.server.replicas : undefined;
  const bus = await Bus.connect({ ...own, fleet, ...coordinator }, 'millrace coordinator', { replicas });
  closing.push(() => bus.close());
  checkVersion(bus.serverVersion, new URL(address.url).hostname);
  if (!bus.hasUsers) warn('the server does not check users: everyone who can connect to it can do everything');
  const fetch = (digest: string): Promise<Uint8Array> => new FleetClient(bus, 0).fetch(digest);
  const replica = await Replica.open({ files, store, authority, workloads, warn, fetch });
  closing.push(() => replica.close());
  const log = bus.log(warn);
  const term = await lead(log, replica, options);
  const updates = bus.hasUsers ? await AccountUpdates.connect(own, await authority.system()) : undefined;
  if (updates) closing.push(() => updates.close());
  const isNamed = (user: string): boolean => replica.names(user);
  const access = await AccessControl.start({ authority, address: { ...address, fleet }, browsers, updates, isNamed });
  const { versions } = options;
  const service = await CoordinatorService.start({ bus, log, replica, access, term, say, warn, clock, versions });
  closing.push(() => service.close());
  const invite = { ...own, fleet, ...(await authority.admin()) };
  return { authority, server, bus, service, invite, url: address.url, browsers };
}

/** Waits until this machine is to lead, with all that the log has. Returns its term, which it has claimed. */
async function lead(
  log: CommitLog,
  replica: Replica,
  { standby, clock = systemClock, say, warn }: FleetHostOptions,
): Promise<number> {
  const follower = new Follower(log, replica, warn);
  if (standby) say(`standby of the fleet ${replica.files.fleet}: follows its leader`);
  for (;;) {
    try {
      if (standby) await follower.untilSilent(clock, standby);
      else await follower.catchUp();
      const term = replica.files.startTerm(follower.term);
      if (!(await log.claim(term, replica.number, follower.sequence))) continue;
      if (standby) say('the leader is silent: this coordinator takes over');
      return term;
    } catch (error) {
      if (error instanceof MillraceError || standby?.aborted) throw error;
      warn(`the log of commits cannot be read, trying again: ${firstLine(error)}`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

const RETRY_MS = 250;

interface OpenedServer {
  readonly server: PrivateServer | undefined;
  /** How this machine reaches it. */
  readonly own: Address;
  /** How others do. */
  readonly address: Address;
  /** How browsers do, and the page that does. */
  readonly browsers: { readonly url: string; readonly page: string } | undefined;
}

type Address = Pick<Invite, 'url' | 'ca' | 'token'>;

async function openServer(
  { server: given, warn }: FleetHostOptions,
  files: FleetFiles,
  authority: Authority,
  closing: Closing,
): Promise<OpenedServer> {
  if (given?.kind === 'given') {
    const { url, ca, token } = given;
    const address = { url, ...(ca !== undefined && { ca }), ...(token !== undefined && { token }) };
    await checkRemoteServer(address);
    return { server: undefined, own: address, address, browsers: undefined };
  }
  const accounts = (): readonly string[] => authority.serverLines;
  const place = given?.listen && placeOf(given.listen, given.advertise);
  const tls = place && (given?.tls ?? ownTls(join(files.folder, 'tls'), files.fleet, place.hosts));
  const settings = { listen: given?.listen, websocket: given?.websocket, tls };
  const server = await PrivateServer.start({ folder: files.serverFolder, accounts, ...settings, warn });
  closing.push(() => server.stop());
  const ca = tls?.ca === undefined ? {} : { ca: tls.ca };
  const address = { url: place ? urlAt(server.url, place.host) : server.url, ...ca };
  // A certificate of the user's own has the name that others use, and not that of loopback.
  const own = given?.tls ? address : { url: server.url, ...ca };
  const { websocketUrl } = server;
  const page = given?.websocket?.page;
  if (websocketUrl === undefined || page === undefined) return { server, own, address, browsers: undefined };
  return { server, own, address, browsers: { url: place ? urlAt(websocketUrl, place.host) : websocketUrl, page } };
}

/** The host by which other machines reach a server, and all that its certificate has to name. */
function placeOf({ host }: ListenAddress, advertise?: string): { host: string; hosts: readonly string[] } {
  const reached = isWildcard(host) ? externalAddresses() : [host];
  const main = advertise ?? reached[0] ?? hostname();
  return { host: main, hosts: [...new Set([main, ...reached, hostname(), 'localhost', '127.0.0.1', '::1'])] };
}

function urlAt(url: string, host: string): string {
  const { protocol, port } = new URL(url);
  return `${protocol}//${urlHost(host)}:${port}`;
}

async function closeAll(closing: Closing): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}
