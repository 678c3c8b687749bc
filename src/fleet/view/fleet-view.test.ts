import { describe, expect, test } from 'vitest';
import { Intervals } from '../../engine/work/intervals.js';
import { between } from '../../engine/work/space.js';
import { type CommitEntry, Coordinator, type CoordinatorEvent, type GrantMessage } from '../protocol/index.js';
import { FleetView, type ViewedJob } from './fleet-view.js';
import { readOverview, readWorkerPage, readWorkerQuery } from './read.js';
import { ALL_WORKERS, WORKER_ORDERS } from './rows.js';

/** A coordinator without a network, whose commits succeed at once, and a view of it. */
class Fleet {
  now = 0;
  readonly revoked = new Set<string>();
  readonly core: Coordinator;
  readonly view: FleetView;
  readonly #grants = new Map<string, GrantMessage>();
  readonly #jobs: ViewedJob[] = [];
  #number = 0;

  constructor(isOwn = true) {
    const tokens = { make: () => 'token', isValid: () => true };
    const trust = { isOwn: () => isOwn, isRevoked: (who: string) => this.revoked.has(who), random: () => 0 };
    this.core = new Coordinator({ term: 3, tokens, now: 0, trust });
    this.view = new FleetView({
      ...{ core: this.core, fleet: 'f', server: () => '2.9.10', term: 3, now: () => this.now },
      jobs: () => this.#jobs,
      hits: () => 0,
    });
  }

  add(id: string, length: bigint): void {
    const space = between(0n, length);
    this.#handle({ kind: 'add', job: { id, name: 'kernel', space, mode: 'all' } });
    const { core } = this;
    this.#jobs.push({
      ...{ id, name: id, manifest: { space }, hitCount: 0, outcome: undefined },
      ...{ submitters: new Set<string>(), provenance: { workers: [] } },
      get done() {
        return core.jobs.get(id)?.table.counted ?? Intervals.none;
      },
    });
  }

  /** A worker of a rate asks for a lease. Returns its length. */
  lease(worker: string, job: string, perMs: number): bigint {
    this.#handle({
      kind: 'message',
      message: { kind: 'want', worker, request: ++this.#number, rates: [{ job, perMs }] },
    });
    return this.#grants.get(worker)?.claim.range.length ?? 0n;
  }

  finish(worker: string): void {
    const grant = this.#grants.get(worker);
    if (grant === undefined) throw new Error('no lease');
    const { claim, token } = grant;
    const number = ++this.#number;
    const result = { kind: 'result', worker, number, claim, token, ranges: [claim.range], hits: [] } as const;
    this.#handle({ kind: 'result', receipt: number, result });
  }

  beat(worker: string): void {
    const leases = [...this.core.jobs.values()].flatMap(({ table }) =>
      table.leaseCount(worker) > 0 ? [this.#report(worker)] : [],
    );
    this.#handle({ kind: 'message', message: { kind: 'beat', worker, answered: 0, rates: [], leases } });
  }

  control(event: CoordinatorEvent): void {
    this.#handle(event);
  }

  /** State and share of each worker. */
  get rows(): string[] {
    return this.view
      .workers(ALL_WORKERS)
      .workers.map(
        ({ id, state, share }) => `${id} ${state}${share === undefined ? '' : ` ${Math.round(share * 100)}`}`,
      );
  }

  #report(worker: string) {
    const grant = this.#grants.get(worker);
    if (grant === undefined) throw new Error('no lease');
    return { ...grant.claim, token: grant.token, left: grant.claim.range.length };
  }

  #handle(event: CoordinatorEvent): void {
    for (const effect of this.core.handle(event, this.now)) {
      if (effect.kind === 'send' && effect.message.kind === 'grant') this.#grants.set(effect.to, effect.message);
      if (effect.kind === 'commit') this.#commit(effect.entries);
    }
  }

  #commit(_: readonly CommitEntry[]): void {
    this.now += 5;
    this.#handle({ kind: 'committed' });
  }
}

describe('a view of a fleet', () => {
  test('a silent worker is stale, then gone, then forgotten; and is in no sum', () => {
    const fleet = new Fleet();
    fleet.add('a', 1n << 40n);
    expect(fleet.lease('x', 'a', 100)).toBe(200_000n); // 2 s of work
    expect(fleet.lease('y', 'a', 300)).toBe(600_000n);
    fleet.finish('x');
    fleet.finish('y');
    fleet.lease('y', 'a', 300);
    expect(fleet.rows).toEqual(['y working 75', 'x idle 25']);
    expect(fleet.view.overview().jobs[0]).toMatchObject({ perSecond: 300_000, workers: 1, done: 800_000 });
    fleet.now += 4_000;
    fleet.beat('x');
    fleet.now += 2_000;
    expect(fleet.rows).toEqual(['x idle 100', 'y stale']);
    expect(fleet.view.overview()).toMatchObject({
      states: { idle: 1, stale: 1 },
      jobs: [{ perSecond: 0, workers: 0 }],
    });
    fleet.now += 4_500;
    fleet.beat('x');
    fleet.control({ kind: 'tick' });
    expect(fleet.rows).toEqual(['x idle 100', 'y gone']);
    expect(fleet.view.overview()).toMatchObject({
      states: { idle: 1, gone: 1 },
      jobs: [{ leftShare: 0.75, leases: 0 }],
    });
    // What it had is handed out again.
    expect(fleet.view.coverage('a')?.redone.reduce((sum: number, one) => sum + Number(one), 0)).toBe(1_200_000);
    fleet.now += 61_000;
    fleet.beat('x');
    expect(fleet.rows).toEqual(['x idle 100']);
  });

  test('results of a worker that is not trusted are to be checked, not done', () => {
    const sum = (counts: readonly unknown[] = []) => counts.reduce((all: number, one) => all + Number(one), 0);
    const coverageOf = (isOwn: boolean) => {
      const fleet = new Fleet(isOwn);
      fleet.add('a', 1n << 40n);
      const length = Number(fleet.lease('x', 'a', 100));
      expect(sum(fleet.view.coverage('a')?.onDevice)).toBe(length);
      fleet.finish('x');
      const { onDevice, unconfirmed } = fleet.view.coverage('a') ?? {};
      return { onDevice: sum(onDevice), unconfirmed: sum(unconfirmed) / length };
    };
    expect(coverageOf(true)).toEqual({ onDevice: 0, unconfirmed: 0 });
    expect(coverageOf(false)).toEqual({ onDevice: 0, unconfirmed: 1 });
  });

  test('an index counts as the time that the mean worker takes for it, also when its job is over', () => {
    const fleet = new Fleet();
    // x: 2 s of a fast job; y: 2 s of a job that is a thousand times slower.
    fleet.add('fast', 1n << 40n);
    fleet.lease('x', 'fast', 1000);
    fleet.finish('x');
    fleet.control({ kind: 'control', job: 'fast', state: 'ended' });
    fleet.add('slow', 1n << 40n);
    fleet.lease('y', 'slow', 1);
    fleet.finish('y');
    expect(fleet.rows).toEqual(['x idle 50', 'y idle 50']);
    expect(fleet.view.workers({ ...ALL_WORKERS, job: 'slow' }).workers.map(({ id, share }) => [id, share])).toEqual([
      ['y', 1],
    ]);
  });

  test('states, reasons and the coordinator’s own figures', () => {
    const fleet = new Fleet();
    fleet.add('a', 1n << 40n);
    for (const worker of ['x', 'y', 'z']) fleet.lease(worker, 'a', 100);
    fleet.now += 1000;
    fleet.finish('x');
    fleet.control({ kind: 'drain', worker: 'y' });
    fleet.revoked.add('z');
    fleet.control({ kind: 'revoke', who: 'z' });
    expect(fleet.rows).toEqual(['x idle 100', 'y draining 0', 'z refused']);
    expect(fleet.view.workers({ ...ALL_WORKERS, state: 'refused' }).workers).toMatchObject([
      { id: 'z', reason: 'it was revoked', perSecond: 0 },
    ]);
    expect(fleet.view.overview()).toMatchObject({
      states: { working: 0, idle: 1, draining: 1, refused: 1, stale: 0, gone: 0 },
      leases: 1,
      coordinator: {
        leasesGranted: 3,
        results: 1,
        commits: 1,
        resultsWaiting: 0,
        commitLagSeconds: 0,
        commitSeconds: 0.005,
      },
    });
    fleet.control({ kind: 'priority', job: 'a', priority: 5 });
    expect(fleet.view.overview().jobs[0]?.priority).toBe(5);
  });

  test('workers are listed in every order, and found by their names', () => {
    const fleet = new Fleet();
    fleet.add('a', 1n << 40n);
    const step = (worker: string, perMs: number, finishes: boolean): void => {
      fleet.now += 10;
      fleet.lease(worker, 'a', perMs);
      if (finishes) fleet.finish(worker);
    };
    step('carl', 200, true);
    step('ann', 300, true);
    step('bob', 100, false);
    step('ann', 300, false);
    fleet.control({ kind: 'drain', worker: 'bob' });
    const listed = (query: object): string =>
      fleet.view
        .workers({ ...ALL_WORKERS, ...query })
        .workers.map(({ id }) => id)
        .join(' ');
    expect(
      WORKER_ORDERS.map((order) => `${order}: ${listed({ order })}, ${listed({ order, isReversed: true })}`),
    ).toEqual([
      'share: ann carl bob, bob carl ann',
      'rate: ann bob carl, carl bob ann', // carl does nothing now
      'state: ann carl bob, bob carl ann',
      'name: ann bob carl, carl bob ann',
      'fed: ann bob carl, ann bob carl', // none has said
      'leases: ann bob carl, carl ann bob',
      'heard: carl bob ann, ann bob carl',
      'trust: ann bob carl, ann bob carl',
    ]);
    expect([listed({ search: 'AR' }), listed({ search: 'x' })]).toEqual(['carl', '']);
  });

  test('travels as it is, and nothing else is read', () => {
    const fleet = new Fleet();
    fleet.add('a', 1n << 100n);
    fleet.lease('x', 'a', 100);
    const overview: unknown = JSON.parse(JSON.stringify(fleet.view.overview()));
    expect(readOverview(overview)).toEqual(overview);
    const page: unknown = JSON.parse(JSON.stringify(fleet.view.workers(ALL_WORKERS)));
    expect(readWorkerPage(page)).toEqual(page);
    expect(() => readOverview({ ...(overview as object), states: {} })).toThrow(/states.working/);
    expect(() => readWorkerQuery({ order: 'x' })).toThrow(/is not a value of order/);
    expect(() => readWorkerQuery({ count: 1e6 })).toThrow(/count/);
    expect(readWorkerQuery({})).toMatchObject({ from: 0, order: 'share', isReversed: false });
  });
});
