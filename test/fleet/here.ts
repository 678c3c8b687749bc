import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workloads } from '../../src/cli/fleet/workloads.js';
import type { Device } from '../../src/device/device.js';
import { openDevice } from '../../src/device/registry.js';
import { Engine } from '../../src/engine/engine.js';
import { FleetClient } from '../../src/fleet/client/index.js';
import { FleetHost, type FleetHostOptions } from '../../src/fleet/coordinator/index.js';
import { fleetFolder, saveInvite } from '../../src/fleet/local.js';
import { Bus, parseInvite } from '../../src/fleet/nats/index.js';
import { type ProtocolVersions, VERSIONS } from '../../src/fleet/protocol/index.js';
import { WorkerService } from '../../src/fleet/worker/index.js';
import type { FleetWorkload } from '../../src/fleet/workload.js';
import { openStore, type Store } from '../../src/store/index.js';

/** A fleet in this process: a real server, a coordinator, and workers on real devices. Commands find it by its folder. */
export class FleetHere {
  readonly folder: string;
  #host: FleetHost;
  /** What the coordinator and the workers have said. */
  readonly notes: string[];
  readonly #store: Store;
  readonly #buses: Bus[] = [];
  readonly #workers: { readonly service: WorkerService; readonly engine: Engine; readonly device: Device }[] = [];

  private constructor(folder: string, host: FleetHost, store: Store, notes: string[]) {
    this.folder = folder;
    this.#host = host;
    this.#store = store;
    this.notes = notes;
  }

  static async start(server?: FleetHostOptions['server'], versions?: ProtocolVersions): Promise<FleetHere> {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-fleet-'));
    const notes: string[] = [];
    const say = (text: string) => void notes.push(text);
    const store = await openStore(folder);
    const own = { folder: fleetFolder(folder), store, workloads };
    const host = await FleetHost.start({ ...own, server, versions, say, warn: say });
    saveInvite(folder, host.invite);
    return new FleetHere(folder, host, store, notes);
  }

  get host(): FleetHost {
    return this.#host;
  }

  /** Replaces the coordinator and its server. Connections to the earlier ones are of no use then. */
  async restart(): Promise<void> {
    await this.#host.close();
    const say = (text: string) => void this.notes.push(text);
    const folder = fleetFolder(this.folder);
    this.#host = await FleetHost.start({ folder, store: this.#store, workloads, say, warn: say });
  }

  /** The environment in which commands find this fleet. */
  get env(): NodeJS.ProcessEnv {
    return { MILLRACE_HOME: this.folder };
  }

  async connect(name: string): Promise<Bus> {
    const bus = await Bus.connect(this.host.invite, name);
    this.#buses.push(bus);
    return bus;
  }

  async client(): Promise<FleetClient> {
    return new FleetClient(await this.connect('client'));
  }

  /** Connects as a new user with a role. */
  async connectAs(name: string, role: 'worker' | 'submitter', isTrusted = false): Promise<Bus> {
    const { line } = await (await this.client()).invite(role, 600, name, isTrusted);
    const bus = await Bus.connect(parseInvite(line), name);
    this.#buses.push(bus);
    return bus;
  }

  /** Joins with one thread of a CPU device of this machine. */
  async join(id: string, name: string, known: readonly FleetWorkload[] = workloads): Promise<WorkerService> {
    return this.joinBy(await this.connect(id), id, name, known);
  }

  /** The same with the connection of a user. */
  async joinBy(
    bus: Bus,
    id: string,
    name: string,
    known: readonly FleetWorkload[] = workloads,
    versions = VERSIONS,
  ): Promise<WorkerService> {
    const say = (text: string) => void this.notes.push(`${id}: ${text}`);
    const device = await openDevice(name, { threads: 1 });
    const engine = new Engine([device]);
    const own = { bus, engine, id, workloads: known, launchLimitMs: 2000 };
    const service = new WorkerService({ ...own, versions, say, warn: say });
    this.#workers.push({ service, engine, device });
    return service;
  }

  async close(): Promise<void> {
    for (const { service, engine, device } of this.#workers) {
      await service.close();
      await engine.close();
      await device.close();
    }
    for (const bus of this.#buses) await bus.close();
    await this.host.close();
    await this.#store.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
