import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFleetFeed } from '../../src/console/live/fleet-feed.js';
import { openOutput } from '../../src/console/output/output.js';
import { between } from '../../src/engine/work/space.js';
import { FleetClient } from '../../src/fleet/client/index.js';
import type { Clock } from '../../src/fleet/clock.js';
import { CoordinatedFleet, FleetHost } from '../../src/fleet/coordinator/index.js';
import { packKernelJob, signingKey } from '../../src/fleet/manifest/index.js';
import { Bus } from '../../src/fleet/nats/index.js';
import type { GrantMessage, WorkerMessage } from '../../src/fleet/protocol/index.js';
import { items } from '../../src/kernel/language/items.js';
import type { Kernel } from '../../src/kernel/language/signature.js';
import { openStore, type Store } from '../../src/store/index.js';
import { startCommandDashboard } from '../../src/web/live/start.js';

/**
 * A real coordinator with its server and ledger, and workers that are only messages to it: any number of them. The worker
 * n does n + 1 indices per ms. The coordinator's time stands still, so that no worker is late, however slow the machine is.
 */
export class SyntheticFleet {
  readonly host: FleetHost;
  readonly workers: readonly string[];
  readonly job: string;
  readonly #folder: string;
  readonly #store: Store;
  readonly #bus: Bus;
  readonly #granted = new Map<string, GrantMessage>();
  #requests = 0;
  #receipts = 0;
  readonly #closing: (() => unknown)[] = [];

  private constructor(parts: { folder: string; store: Store; host: FleetHost; bus: Bus; job: string }, count: number) {
    this.#folder = parts.folder;
    this.#store = parts.store;
    this.#bus = parts.bus;
    this.host = parts.host;
    this.job = parts.job;
    this.workers = Array.from({ length: count }, (_, n) => `admin.w${String(n).padStart(5, '0')}-${'0'.repeat(12)}`);
  }

  static async start(count: number): Promise<SyntheticFleet> {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-fleet-'));
    const store = await openStore(folder);
    const say = (): void => undefined;
    const host = await FleetHost.start({ folder: join(folder, 'fleet'), store, say, warn: say, clock: STILL });
    const bus = await Bus.connect(host.invite, 'test');
    const kernel = items('idle', {}, () => undefined) as unknown as Kernel;
    const packed = packKernelJob({ kernel, job: {}, buffers: {} }, between(0n, 1n << 60n), 'all');
    const job = await new FleetClient(bus).submit(packed, signingKey());
    return new SyntheticFleet({ folder, store, host, bus, job }, count);
  }

  rateOf(worker: string): number {
    return this.workers.indexOf(worker) + 1;
  }

  /** The worker asks for a lease. Returns its length. */
  lease(worker: string): bigint {
    const rates = [{ job: this.job, perMs: this.rateOf(worker) }];
    this.#send({ kind: 'want', worker, request: ++this.#requests, rates });
    const known = this.host.service.core.workers.get(worker) as { readonly reply?: GrantMessage } | undefined;
    if (known?.reply?.kind !== 'grant') throw new Error(`${worker} got no lease`);
    this.#granted.set(worker, known.reply);
    return known.reply.claim.range.length;
  }

  /** The worker has done its lease. */
  finish(worker: string): void {
    const grant = this.#granted.get(worker);
    if (grant === undefined) throw new Error(`${worker} has no lease`);
    const { claim, token } = grant;
    this.#granted.delete(worker);
    const number = ++this.#receipts;
    const result = { kind: 'result', worker, number, claim, token, ranges: [claim.range], hits: [] } as const;
    this.host.service.handle({ kind: 'result', receipt: -number, result });
  }

  leave(worker: string): void {
    this.#send({ kind: 'leave', worker, reason: 'stopped' });
  }

  beat(worker: string): void {
    const grant = this.#granted.get(worker);
    const leases = grant ? [{ ...grant.claim, token: grant.token, left: grant.claim.range.length }] : [];
    const perSecond = this.rateOf(worker) * 1000;
    this.#send({
      ...{ kind: 'beat', worker, answered: this.#requests, leases },
      rates: [{ job: this.job, perMs: this.rateOf(worker) }],
      devices: [{ id: 'native', perSecond, fed: 0.995 }],
    });
  }

  /** Serves the page of `fleet serve --dashboard`. Returns its address. */
  async dashboard(): Promise<string> {
    const output = openOutput({ log: 'error' });
    const { service } = this.host;
    const feed = startFleetFeed(output, new CoordinatedFleet(service), () => service.view.overview());
    const page = await startCommandDashboard({ host: '127.0.0.1', port: 0 }, output.hub, undefined);
    this.#closing.push(
      () => feed.end(),
      () => page.close(),
      () => output.close(),
    );
    return page.url;
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close();
    await this.#bus.close();
    await this.host.close();
    await this.#store.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #send(message: WorkerMessage): void {
    this.host.service.handle({ kind: 'message', message });
  }
}

const STILL: Clock = { now: () => 1000, after: () => () => undefined };
