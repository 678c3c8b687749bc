import { type ChildProcess, fork } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { between } from '../../src/engine/work/space.js';
import { Authority } from '../../src/fleet/access/index.js';
import { FleetClient, type FleetHit, FleetSearch } from '../../src/fleet/client/index.js';
import { packKernelJob, signingKey } from '../../src/fleet/manifest/index.js';
import { Bus, type FleetSubject, type Invite, parseInvite } from '../../src/fleet/nats/index.js';
import { copyCoordinator, FleetFiles } from '../../src/fleet/replica/index.js';
import { openStore, type Store } from '../../src/store/index.js';
import { byTier, isShort, patience } from '../tier.js';
import { expectedHits, roundsKernel } from './fleet.js';
import { type CoordinatorSpec, type MemberMessage, startMember, type WorkerSpec } from './members.mjs';
import { TestServer } from './server.js';
import { TcpProxy } from './tcp-proxy.js';

/** How much faster than usual the protocol's clocks run: a silent worker loses its leases after half a second. */
export const SPEED = 20;
const SPACE = byTier(6_000, 16_000);
const ROUNDS = 8;
const kernel = roundsKernel(ROUNDS);

/** A process of the fleet, connected to the server through its own proxy. */
export interface Running {
  readonly child: ChildProcess;
  readonly proxy: TcpProxy;
  readonly ended: Promise<unknown>;
  /** Resolves when it works; a standby does when it leads. */
  readonly ready: Promise<void>;
  /** Why it gave up. */
  failure: string | undefined;
}

export interface Recorded {
  readonly subject: FleetSubject;
  readonly user: string;
  readonly bytes: Uint8Array;
}

/** A fleet on a real server: a coordinator and a worker in processes of their own, and a worker in the test's. */
export class FaultWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'millrace-faults-'));
  /** What the processes have said, and which faults there were. */
  readonly log: string[] = [];
  /** Every message that was seen on its way. */
  readonly recorded: Recorded[] = [];
  readonly #all = new Set<Running>();
  readonly #waiting = new Set<() => void>();
  /** Connections as each of the workers, by name. */
  readonly #workerBuses = new Map<string, Bus>();
  readonly #invites = new Map<string, Invite>();
  coordinator!: Running;
  /** Follows the coordinator, in a folder of its own. */
  #standby: Standby | undefined;
  readonly #speed: number;
  worker!: Running;
  /** The connection of the worker in this process. */
  resident!: TcpProxy;
  #closeResident: () => Promise<void> = async () => undefined;
  /** Ends what else runs in this process. */
  readonly #closing: (() => Promise<void>)[] = [];
  server!: TestServer;
  #authority!: Authority;
  #fleet = '';
  #dataFolder = join(this.folder, 'data');
  #bus!: Bus;
  #proxy!: TcpProxy;
  #store!: Store;
  #results = 0;
  #names = 0;
  #jobs = 0;
  #coordinators = 0;
  #spare: ChildProcess | undefined;

  private constructor(speed: number) {
    this.#speed = speed;
  }

  /** A small one has a worker less. */
  static async start(speed = SPEED, isSmall = false): Promise<FaultWorld> {
    const world = new FaultWorld(speed);
    const files = new FleetFiles(join(world.#dataFolder, 'fleet'));
    world.#fleet = files.fleet;
    world.#authority = await Authority.open(files.folder, files.fleet);
    world.server = new TestServer(join(world.folder, 'server'), world.#authority.serverLines);
    await world.server.start();
    world.#proxy = await TcpProxy.start(() => world.server.port);
    world.#store = await openStore(world.#dataFolder);
    await Promise.all([
      world.startCoordinator().then((running) => {
        world.coordinator = running;
      }),
      isSmall ||
        world.startWorker().then((running) => {
          world.worker = running;
        }),
    ]);
    world.resident = await TcpProxy.start(() => world.server.port);
    const spec: WorkerSpec = { kind: 'worker', invite: await world.#invite(world.resident.url), speed };
    const { close } = await startMember(spec, (text) => world.say(`${spec.invite.user}: ${text}`));
    world.#closeResident = close;
    const credentials = await world.#authority.coordinator();
    world.#bus = await Bus.connect({ ...world.#address, ...credentials }, 'submitter', { callMs: CALL_MS });
    for (const subject of ['from', 'all', 'result'] as const)
      world.#bus.subscribe(subject, (bytes, user) => world.#record({ subject, user, bytes: bytes.slice() }));
    return world;
  }

  say(text: string): void {
    this.log.push(`${(performance.now() / 1000).toFixed(2)} s ${text}`);
  }

  startCoordinator(more: CoordinatorTraits = {}): Promise<Running> {
    const spec = { kind: 'coordinator', folder: this.#dataFolder, speed: this.#speed, ...more } as const;
    return this.#start(async (url) => ({ ...spec, url }));
  }

  /** Asks once for a user to be revoked, and resolves when the coordinator is dead. */
  async revokeUntilDeath(user: string): Promise<void> {
    const credentials = await this.#authority.coordinator();
    const bus = await Bus.connect({ ...this.#address, ...credentials }, 'revoking', { callMs: CALL_MS });
    new FleetClient(bus).revoke(user).catch(() => undefined); // there is no answer
    await this.coordinator.ended;
    // Its successor must not be asked again.
    await bus.close();
  }

  startWorker(): Promise<Running> {
    return this.#start(async (url) => ({ kind: 'worker', invite: await this.#invite(url), speed: this.#speed }));
  }

  /** Starts a worker that sends so many results, without their hits. Returns its user. */
  async startLiar(lies: number): Promise<string> {
    // Invited by the coordinator, which can revoke it.
    const { user, line } = await this.client.invite('worker', 600, `w${++this.#names}`, true);
    await this.#start(async (url) => ({
      ...{ kind: 'worker', speed: this.#speed, lies },
      invite: { ...parseInvite(line), url },
    }));
    return user;
  }

  /** Calls as the administrator. */
  get client(): FleetClient {
    return new FleetClient(this.#bus);
  }

  async #invite(url: string): Promise<Invite> {
    const name = `w${++this.#names}`;
    const credentials = await this.#authority.invite('worker', 1e6, { name, isTrusted: true });
    this.#invites.set(name, { ...this.#address, ...credentials });
    return { ...this.#address, ...credentials, url };
  }

  /** Starts a coordinator with a copy of the files, as if they were restored on another machine. */
  async replaceCoordinator(): Promise<{ readonly before: Running; readonly store: Store }> {
    const before = this.coordinator;
    const store = this.#store;
    const copy = join(this.folder, `data-${++this.#names}`);
    const isCopied = (path: string): boolean => !/\/locks|-shm$/.test(path.slice(this.#dataFolder.length));
    cpSync(this.#dataFolder, copy, { recursive: true, filter: isCopied });
    this.#dataFolder = copy;
    this.coordinator = await this.startCoordinator();
    this.#store = await openStore(copy);
    return { before, store };
  }

  /** Starts a standby of the coordinator, with a copy of its files; or the one that was started before, with its own. */
  async startStandby(more: CoordinatorTraits = {}): Promise<void> {
    const folder = this.#standby?.folder ?? join(this.folder, `data-${++this.#names}`);
    if (this.#standby === undefined) await copyCoordinator(this.#store, folder);
    const spec = { kind: 'coordinator', folder, speed: this.#speed, isStandby: true, ...more } as const;
    const running = await this.#start(async (url) => ({ ...spec, url }), FOLLOWS);
    this.#standby = { folder, running, leads: running.ready };
  }

  /** The same in this process, which is faster: it cannot be killed. */
  async startStandbyHere(): Promise<void> {
    const folder = join(this.folder, `data-${++this.#names}`);
    await copyCoordinator(this.#store, folder);
    const spec = { kind: 'coordinator', folder, url: this.#proxy.url, speed: this.#speed, isStandby: true } as const;
    await new Promise<void>((follows, reject) => {
      const member = startMember(spec, (text) => {
        this.say(`standby: ${text}`);
        if (FOLLOWS.test(text)) follows();
      });
      member.catch(reject);
      this.#closing.push(async () => (await member).close());
      this.#standby = { folder, running: undefined, leads: member };
    });
  }

  /** Resolves when the standby is dead. */
  async standbyEnded(): Promise<void> {
    await this.#standby?.running?.ended;
  }

  /** Waits until the standby leads: it is the coordinator from then on. */
  async promoteStandby(): Promise<void> {
    const standby = this.#standby;
    if (standby === undefined) throw new Error('there is no standby');
    await standby.leads;
    this.#standby = undefined;
    this.#dataFolder = standby.folder;
    if (standby.running) this.coordinator = standby.running;
    await this.#store.close();
    this.#store = await openStore(standby.folder);
  }

  /** Resolves when so many results have passed. */
  async moreResults(count: number): Promise<void> {
    const until = this.#results + count;
    while (this.#results < until) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Plays messages again, as their senders. */
  async replay(messages: readonly Recorded[]): Promise<void> {
    for (const { subject, user, bytes } of messages) {
      const bus = subject === 'all' ? this.#bus : await this.#busOf(user);
      bus?.publish(subject, bytes);
    }
    for (const bus of [this.#bus, ...this.#workerBuses.values()]) await bus.flush();
  }

  async #busOf(worker: string): Promise<Bus | undefined> {
    const invite = this.#invites.get(worker);
    const known = this.#workerBuses.get(worker) ?? (invite && (await Bus.connect(invite, `${worker} again`)));
    if (known) this.#workerBuses.set(worker, known);
    return known;
  }

  get #address(): Pick<Invite, 'url' | 'fleet'> {
    return { url: this.#proxy.url, fleet: this.#fleet };
  }

  /** Runs a job and compares its hits, their order and the ledger with arithmetic. Where ranges are reopened, hits come late. */
  async runJob(isInOrder = true): Promise<void> {
    const limit = 2 ** 22 + ++this.#jobs * 2 ** 15;
    const right = expectedHits(SPACE, limit, ROUNDS);
    const job = packKernelJob({ kernel, job: { limit }, buffers: {} }, between(0n, BigInt(SPACE)), 'all');
    const giveUp = AbortSignal.timeout(Math.ceil(patience(60_000)));
    const search = new FleetSearch(this.client, job, signingKey(), giveUp);
    const hits: FleetHit[] = [];
    try {
      for await (const hit of search) hits.push(hit);
    } catch (cause) {
      throw new Error(`the job fails:\n${this.log.slice(-40).join('\n')}`, { cause });
    }
    if (!isInOrder) hits.sort((a, b) => Number(a.index - b.index));
    if (!search.isOver) throw new Error(`the job does not end:\n${this.log.slice(-40).join('\n')}`);
    expect(hits).toEqual(right);
    const isThis = ({ params }: { readonly params: unknown }): boolean =>
      (params as { readonly job: { readonly limit: number } }).job.limit === limit;
    const find = async () => (await this.#store.jobs()).find((one) => isThis(one.job));
    await expect.poll(async () => (await find())?.job.state).toBe('complete');
    const { done, hits: stored } = await this.#store.progress((await find())!.job.id);
    expect(done).toEqual([{ start: 0n, end: BigInt(SPACE), hits: right.length }]);
    expect(stored.map(({ index, fields }) => ({ index, last: (JSON.parse(fields) as { last: number }).last }))).toEqual(
      right,
    );
  }

  async kill(running: Running): Promise<void> {
    running.child.kill('SIGKILL');
    await running.ended;
    await running.proxy.close();
    this.#all.delete(running);
  }

  async close(): Promise<void> {
    for (const bus of this.#workerBuses.values()) await bus.close();
    await this.#bus?.close();
    await Promise.all([...this.#all].map((running) => this.kill(running)));
    // A standby in this process starts to lead only after its leader is dead, and can be closed only then.
    for (const close of this.#closing) await close();
    await this.#closeResident();
    await this.resident?.close();
    this.#spare?.kill('SIGKILL');
    await this.#proxy?.close();
    await this.#store?.close();
    await this.server?.kill();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  #record(message: Recorded): void {
    this.recorded.push(message);
    if (this.recorded.length > MAX_RECORDED) this.recorded.splice(0, MAX_RECORDED / 2);
    if (message.subject !== 'result') return;
    this.#results++;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Starts a process, and waits until it works, or until it says something. */
  async #start(spec: (url: string) => Promise<CoordinatorSpec | WorkerSpec>, until?: RegExp): Promise<Running> {
    const proxy = await TcpProxy.start(() => this.server.port);
    const child = this.#spare ?? forkMember();
    // The next one loads its modules meanwhile.
    this.#spare = isShort ? undefined : forkMember();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const given = await spec(proxy.url);
    const name = given.kind === 'worker' ? given.invite.user : `coordinator ${++this.#coordinators}`;
    const heard = (what: (message: MemberMessage) => boolean) =>
      new Promise<void>((resolve, reject) => {
        child.on('message', (message: MemberMessage) => what(message) && resolve());
        void ended.then(() => reject(new Error(`${name} has ended: ${this.log.slice(-10).join('\n')}`)));
      });
    const ready = heard(({ kind }) => kind === 'ready');
    ready.catch(() => undefined); // told to those who wait for it
    const running: Running = { child, proxy, ended, ready, failure: undefined };
    this.#all.add(running);
    child.on('message', ({ kind, text }: MemberMessage) => {
      if (kind !== 'ready') this.say(`${name}: ${text}`);
      if (kind === 'failed') running.failure = text;
    });
    const isStarted = until ? heard(({ text }) => until.test(text)) : ready;
    this.say(`${name} starts`);
    child.send(given);
    await isStarted;
    this.say(`${name} works`);
    return running;
  }
}

const forkMember = (): ChildProcess =>
  fork(new URL('./members.mjs', import.meta.url), ['member'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });

type CoordinatorTraits = Pick<CoordinatorSpec, 'laterSeconds' | 'diesAt'>;

interface Standby {
  readonly folder: string;
  /** Undefined if it is in this process. */
  readonly running: Running | undefined;
  readonly leads: Promise<unknown>;
}

const FOLLOWS = /follows its leader/;
const MAX_RECORDED = 2000;
/** An answer that is lost is asked for again. */
const CALL_MS = 1000;
