import type { Device } from '../../../device/device.js';
import type { DeviceList } from '../../../device/kinds.js';
import { Engine } from '../../../engine/engine.js';
import { FleetClient } from '../../../fleet/client/index.js';
import { type Invite, parseInvite } from '../../../fleet/nats/index.js';
import { WorkerService } from '../../../fleet/worker/index.js';
import type { FleetWorkload } from '../../../fleet/workload.js';
import { firstLine, MillraceError } from '../../../kernel/error.js';
import { addContribution, type ContributionData, type JoinRequest, type JoinState, NOTHING } from '../messages.js';
import { connectPage, type PageConnection } from './connect.js';
import { RecentRate } from './recent-rate.js';

export interface SessionOptions {
  readonly devices: { list(): Promise<DeviceList>; open(id: string): Promise<Device> };
  /** Workloads that run in a page, besides users' kernels. */
  readonly workloads: readonly FleetWorkload[];
  readonly post: (state: JoinState) => void;
}

/** The thread of a page that works for a fleet: an ordinary worker, on the devices of a page, over a WebSocket. */
export class JoinSession {
  readonly #options: SessionOptions;
  #state: JoinState;
  #name = '';
  #connection: PageConnection | undefined;
  #working: Working | undefined;
  /** Of workers that have left. */
  #past: ContributionData = NOTHING;
  readonly #rate = new RecentRate();
  #isVisible = true;
  #lastAsked = -Infinity;
  /** What is begun and ended, one after the other. */
  #order: Promise<void> = Promise.resolve();

  constructor(options: SessionOptions) {
    this.#options = options;
    const workloads = options.workloads.map(({ name }) => name);
    const figures = { done: NOTHING, perSecond: 0, notes: [], devices: [], workloads };
    this.#state = { connection: 'connecting', phase: 'idle', ...figures };
    setInterval(() => void this.#refresh(), REFRESH_MS);
  }

  handle(request: JoinRequest): void {
    switch (request.ask) {
      case 'connect':
        this.#name = request.name;
        void this.#connect(request.invite);
        break;
      case 'start':
        this.#next(() => this.#start(request.device, request.share));
        break;
      case 'limit':
        this.#working?.service.limit(request.share);
        break;
      case 'stop':
        this.#next(() => this.#stop());
        break;
      case 'look':
        this.#isVisible = request.isVisible;
        void this.#refresh();
        break;
      default:
        request satisfies never;
    }
  }

  #next(step: () => Promise<void>): void {
    this.#order = this.#order.then(step).catch((error: unknown) => {
      this.#note(firstLine(error));
      this.#show({ phase: 'idle' });
    });
  }

  /** Tries again until the server is there or refuses. */
  async #connect(line: string): Promise<void> {
    void this.#listDevices();
    try {
      const invite = readInvite(line);
      const { fleet, user, url, expires } = invite;
      this.#show({ member: { fleet, user, server: new URL(url).host, ...(expires !== undefined && { expires }) } });
      this.#connection = await this.#reach(invite);
    } catch (error) {
      this.#end(firstLine(error));
      return;
    }
    const { bus, watch } = this.#connection;
    this.#connected();
    watch((isUp) => (isUp ? this.#connected() : this.#lost('the connection is lost; trying again')));
    const why = await bus.ended;
    await this.#leave();
    this.#end(firstLine(why));
  }

  /** Takes a while where a GPU has to be started. */
  async #listDevices(): Promise<void> {
    const { devices } = await this.#options.devices.list();
    this.#show({ devices: devices.map(({ id, name }) => ({ id, name })) });
  }

  async #reach(invite: Invite): Promise<PageConnection> {
    for (;;) {
      try {
        return await connectPage(invite, `millrace page ${this.#name}`);
      } catch (error) {
        if (!(error instanceof MillraceError) || error.code !== 'io') throw error;
        this.#lost(`${firstLine(error)}; trying again`);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  #connected(): void {
    const { reason: _, ...rest } = this.#state;
    this.#state = rest;
    this.#lastAsked = -Infinity;
    this.#show({ connection: 'open' });
    void this.#refresh();
  }

  #lost(reason: string): void {
    this.#show({ connection: 'lost', reason });
  }

  #end(reason: string): void {
    this.#show({ connection: 'ended', phase: 'idle', reason });
  }

  async #start(id: string, share: number): Promise<void> {
    if (this.#working || !this.#connection) return;
    this.#show({ phase: 'starting' });
    const device = await this.#options.devices.open(id);
    const engine = new Engine([device], { onWarning: (text) => this.#note(text) });
    const { workloads } = this.#options;
    const service = new WorkerService({
      bus: this.#connection.bus,
      engine,
      // Another id for each start: messages to an earlier one are not for this one.
      id: `${this.#name}-${randomHex(6)}`,
      workloads,
      // The fleet gives no other jobs to this worker.
      only: ['kernel', ...workloads.map(({ name }) => name)],
      say: (text) => this.#note(text),
      warn: (text) => this.#note(text),
    });
    service.limit(share);
    this.#working = { service, engine, device };
    this.#show({ phase: 'working', device: device.info.name });
    void service.left.then(() => this.#next(() => this.#left(service)));
  }

  /** The fleet has drained the worker. */
  async #left(service: WorkerService): Promise<void> {
    if (this.#working?.service !== service) return;
    this.#note('drained: the fleet wants no more work from this page');
    await this.#leave();
  }

  async #stop(): Promise<void> {
    const { service } = this.#working ?? {};
    if (service === undefined) return;
    this.#show({ phase: 'leaving' });
    service.leave('stopped');
    await Promise.race([service.left, new Promise((resolve) => setTimeout(resolve, LEAVE_MS))]);
    await this.#leave();
  }

  /** Ends the work at once. */
  async #leave(): Promise<void> {
    const working = this.#working;
    this.#working = undefined;
    if (working) {
      this.#past = addContribution(this.#past, working.service.contribution);
      await working.service.close();
      await working.engine.close();
      await working.device.close();
    }
    const { device: _, ...rest } = this.#state;
    this.#state = rest;
    this.#show({ phase: 'idle' });
  }

  #note(text: string): void {
    this.#show({ notes: [...this.#state.notes, text].slice(-MAX_NOTES) });
  }

  #show(changes: Partial<JoinState>): void {
    this.#state = { ...this.#state, ...changes };
    this.#options.post(this.#state);
  }

  /** Measures, and asks the fleet from time to time if somebody looks. */
  async #refresh(): Promise<void> {
    const { service, engine } = this.#working ?? {};
    const items = engine?.devices.reduce((sum, device) => sum + device.items, 0n) ?? 0n;
    const perSecond = this.#rate.add(items, performance.now());
    const done = service ? addContribution(this.#past, service.contribution) : this.#past;
    this.#show({ done, perSecond });
    const now = performance.now();
    if (this.#state.connection !== 'open' || !this.#isVisible || now - this.#lastAsked < ASK_MS) return;
    this.#lastAsked = now;
    try {
      const client = this.#connection && new FleetClient(this.#connection.bus);
      const summary = await client?.about(service?.id);
      if (summary) this.#show({ summary });
    } catch (error) {
      if (this.#state.connection === 'open') this.#note(firstLine(error));
    }
  }
}

interface Working {
  readonly service: WorkerService;
  readonly engine: Engine;
  readonly device: Device;
}

/** Throws `usage` unless the text is an invite for a page. */
function readInvite(line: string): Invite {
  const invite = parseInvite(line);
  const isWebSocket = invite.url.startsWith('ws://') || invite.url.startsWith('wss://');
  if (isWebSocket && invite.role === 'worker') return invite;
  throw new MillraceError({
    code: 'usage',
    message: `this invite is for a ${invite.role} with the millrace command, not for a browser`,
    asked: 'to connect to a fleet',
    advice: 'ask for a link: `millrace fleet invite --browser`',
  });
}

const randomHex = (bytes: number): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('');

const REFRESH_MS = 500;
/** Between questions to the coordinator. */
const ASK_MS = 3_000;
const RETRY_MS = 1_000;
const LEAVE_MS = 3_000;
const MAX_NOTES = 5;
