import type { Call } from '../../console/command/action.js';
import { Exit } from '../../console/command/exit.js';
import { count, percent, rate } from '../../console/output/format.js';
import type { CommandResult } from '../../console/output/output.js';
import { registerSecret } from '../../console/output/redact.js';
import { table } from '../../console/output/table.js';
import { shareOf } from '../../engine/work/space.js';
import { FleetClient } from '../../fleet/client/index.js';
import { inviteFor } from '../../fleet/local.js';
import { Bus } from '../../fleet/nats/index.js';
import { fieldReader } from '../../network/fields.js';

export interface ViewOptions {
  readonly dataDir: string;
  readonly fleet?: string;
}

export async function status(call: Call<ViewOptions>): Promise<CommandResult> {
  const { output } = call;
  const { server, term, workers, jobs } = await statusOf(call);
  output.line(`nats-server ${server}, coordinator ${term}, ${workers.length} workers, ${jobs.length} jobs`);
  if (workers.length > 0) for (const line of workerTable(workers)) output.line(line);
  if (jobs.length > 0) for (const line of jobTable(jobs)) output.line(line);
  return { exit: Exit.ok, answer: { server, term, workers, jobs } };
}

export async function workers(call: Call<ViewOptions>): Promise<CommandResult> {
  const { workers: all } = await statusOf(call);
  for (const line of workerTable(all)) call.output.line(line);
  return { exit: Exit.ok, answer: { workers: all } };
}

export async function jobs(call: Call<ViewOptions>): Promise<CommandResult> {
  const { jobs: all } = await statusOf(call);
  for (const line of jobTable(all)) call.output.line(line);
  return { exit: Exit.ok, answer: { jobs: all } };
}

export async function drain(call: Call<ViewOptions>): Promise<CommandResult> {
  const { args, output } = call;
  const [name = ''] = args;
  const drained = await withClient(call, (client) => client.drain(name));
  if (drained.length === 0) output.say(`no worker is called ${name}`);
  for (const id of drained) output.line(`${id} finishes its leases and leaves`);
  return { exit: drained.length === 0 ? Exit.no : Exit.ok, answer: { workers: drained } };
}

export async function revoke(call: Call<ViewOptions>): Promise<CommandResult> {
  const { args, output } = call;
  const [name = ''] = args;
  const isRevoked = await withClient(call, (client) => client.revoke(name));
  if (isRevoked) output.line(`${name} is revoked`);
  else output.say(`no user is called ${name}`);
  return { exit: isRevoked ? Exit.ok : Exit.no, answer: { users: isRevoked ? [name] : [] } };
}

const workerTable = (all: readonly WorkerLine[]): string[] =>
  table([
    ['worker', 'user', 'state', 'rate', 'fed', 'faults'],
    ...all.map(({ id, state, perMs, fed, faults }) => {
      const [user = '', process = ''] = id.split('.');
      const share = fed === undefined ? '' : percent(fed);
      return [process, user, state, rate(perMs * 1000, ''), share, String(faults)];
    }),
  ]);

const jobTable = (all: readonly JobLine[]): string[] =>
  table([
    ['job', 'kernel', 'state', 'done', 'hits', 'leases', 'rate'],
    ...all.map(({ id, name, state, done, length, hits, leases, perMs }) => {
      const share = percent(shareOf(done, length));
      return [id.slice(0, 12), name, state, share, count(hits), count(leases), rate(perMs * 1000, '')];
    }),
  ]);

interface WorkerLine {
  readonly id: string;
  readonly state: string;
  readonly perMs: number;
  /** Share of the time with work that its devices were busy. */
  readonly fed?: number;
  readonly faults: number;
}

interface JobLine {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly done: bigint;
  readonly length: bigint;
  readonly hits: number;
  readonly leases: number;
  readonly perMs: number;
}

interface FleetStatus {
  readonly server: string;
  readonly term: number;
  readonly workers: readonly WorkerLine[];
  readonly jobs: readonly JobLine[];
}

async function statusOf(call: Call<ViewOptions>): Promise<FleetStatus> {
  const read = fieldReader('the status of the fleet', 'use the same version of Millrace on every machine of the fleet');
  const answer = await withClient(call, (client) => client.status());
  const small = (value: unknown, field: string): number => read.integer(value, field, 0, Number.MAX_SAFE_INTEGER);
  const perMsOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
  return {
    server: read.text(answer.server, 'server', 100),
    term: small(answer.term, 'term'),
    workers: read.list(answer.workers, 'workers', 1e6).map((entry) => {
      const { id, faults, barred, isDraining, rates, fed } = read.object(entry, 'workers');
      const state =
        barred !== undefined ? `barred: ${read.text(barred, 'barred', 2000)}` : isDraining ? 'draining' : 'working';
      const perMs = read
        .list(rates, 'rates', 1e4)
        .reduce<number>((sum, one) => sum + perMsOf(read.object(one, 'rates').perMs), 0);
      const known = typeof fed === 'number' ? { fed } : {};
      return { id: read.text(id, 'id', 300), state, perMs, ...known, faults: small(faults, 'faults') };
    }),
    jobs: read.list(answer.jobs, 'jobs', 1e6).map((entry) => {
      const { id, name, state, done, length, hits, leases, perMs } = read.object(entry, 'jobs');
      return {
        id: read.text(id, 'id', 64),
        name: read.text(name, 'name', 300),
        state: read.text(state, 'state', 40),
        done: read.bigInteger(done, 'done', 0n, 1n << 128n),
        length: read.bigInteger(length, 'length', 0n, 1n << 128n),
        hits: small(hits, 'hits'),
        leases: small(leases, 'leases'),
        perMs: perMsOf(perMs),
      };
    }),
  };
}

export async function withClient<T>(call: Call<ViewOptions>, work: (client: FleetClient) => Promise<T>): Promise<T> {
  const { options } = call;
  const own = inviteFor(options.fleet, options.dataDir);
  registerSecret(own.seed);
  const bus = await Bus.connect(own, 'millrace fleet');
  try {
    return await work(new FleetClient(bus));
  } finally {
    await bus.close();
  }
}
