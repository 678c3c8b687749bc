import type { Call } from '../../console/command/action.js';
import { Exit } from '../../console/command/exit.js';
import { age, count, duration, percent, plural, rate } from '../../console/output/format.js';
import type { CommandResult } from '../../console/output/output.js';
import { registerSecret } from '../../console/output/redact.js';
import { table } from '../../console/output/table.js';
import { shareOf } from '../../engine/work/space.js';
import { FleetClient } from '../../fleet/client/index.js';
import { inviteFor } from '../../fleet/local.js';
import { Bus } from '../../fleet/nats/index.js';
import type { FleetJobRow, FleetWorkerRow, Index } from '../../fleet/view/rows.js';
import { displayText } from '../../network/fields.js';

export interface ViewOptions {
  readonly dataDir: string;
  readonly fleet?: string;
}

export interface JobsOptions extends ViewOptions {
  readonly recheck?: string;
}

export async function status(call: Call<ViewOptions>): Promise<CommandResult> {
  const { output } = call;
  const { overview, workers } = await withClient(call, async (client) => ({
    overview: await client.overview(),
    workers: await client.allWorkers(),
  }));
  const { server, term, jobs, jobCount, coordinator } = overview;
  const here = workers.filter(isHere).length;
  output.line(`nats-server ${server}, coordinator ${term}, ${plural(here, 'worker')}, ${plural(jobCount, 'job')}`);
  if (here > 0) for (const line of workerTable(workers)) output.line(line);
  if (jobs.length > 0) for (const line of jobTable(jobs)) output.line(line);
  const { leasesPerSecond, resultsWaiting, commitLagSeconds } = coordinator;
  const oldest = resultsWaiting === 0 ? '' : `, the oldest for ${duration(commitLagSeconds)}`;
  output.line(
    `${leasesPerSecond.toFixed(1)} leases/s, ${plural(resultsWaiting, 'result')} on the way to the ledger${oldest}`,
  );
  return { exit: Exit.ok, answer: { fleet: overview, workers } };
}

export async function workers(call: Call<ViewOptions>): Promise<CommandResult> {
  const all = await withClient(call, (client) => client.allWorkers());
  for (const line of workerTable(all)) call.output.line(line);
  return { exit: Exit.ok, answer: { workers: all } };
}

export async function jobs(call: Call<JobsOptions>): Promise<CommandResult> {
  const [id] = call.args;
  const { recheck } = call.options;
  if (id !== undefined) return recheck === undefined ? showJob(call, id) : recheckJob(call, id, recheck);
  const { jobs: all } = await withClient(call, (client) => client.overview());
  for (const line of jobTable(all)) call.output.line(line);
  return { exit: Exit.ok, answer: { jobs: all } };
}

/** Does something with the job whose id begins with a text. Undefined if it is not one job, which is said. */
async function withJob<T>(
  call: Call<ViewOptions>,
  text: string,
  work: (client: FleetClient, id: string) => Promise<T>,
): Promise<T | undefined> {
  const found = await withClient(call, async (client) => {
    const all = (await client.overview()).jobs.filter(({ id }) => id.startsWith(text.toLowerCase()));
    return all.length === 1 && all[0] ? { value: await work(client, all[0].id) } : all.length;
  });
  if (typeof found !== 'number') return found.value;
  call.output.say(found === 0 ? `no job has the id ${text}` : `${found} jobs have ids that begin with ${text}`);
  return undefined;
}

/** Lets what a user alone has done of a job that is over be done again. */
async function recheckJob(call: Call<ViewOptions>, text: string, user: string): Promise<CommandResult> {
  const { output } = call;
  const rechecked = await withJob(call, text, async (client, id) => ({ id, indices: await client.recheck(id, user) }));
  if (rechecked === undefined) return { exit: Exit.no, answer: { job: null } };
  const { id, indices } = rechecked;
  const job = `job ${id.slice(0, 12)}`;
  if (indices === 0n) output.say(`nothing of ${job} rests on the word of ${user} alone`);
  else output.line(`${job}: ${count(indices)} indices, which only ${user} has done, are open: submit it again`);
  return { exit: indices === 0n ? Exit.no : Exit.ok, answer: { job: id, indices } };
}

/** Says who has done a job, whose id begins with a text. */
async function showJob(call: Call<ViewOptions>, text: string): Promise<CommandResult> {
  const { output } = call;
  const found = await withJob(call, text, (client, id) => client.provenance(id));
  if (found === undefined) return { exit: Exit.no, answer: { job: null } };
  const { id, name, state, submitters, workers: parts, length, done } = found;
  const by = submitters.length === 0 ? '' : `, submitted by ${submitters.map((user) => displayText(user)).join(', ')}`;
  output.line(`${id.slice(0, 12)} ${displayText(name)}: ${displayText(state)}${by}`);
  const known = parts.reduce((sum, { indices }) => sum + BigInt(indices), 0n);
  const rows = parts.map(({ user, indices, rangeCount, isExact, ranges }) => [
    displayText(user),
    count(BigInt(indices)),
    percent(shareOf(BigInt(indices), BigInt(length))),
    `${isExact ? '' : 'about '}${count(rangeCount)}`,
    ranges.slice(0, SHOWN_RANGES).map(rangeText).join(', ') + (rangeCount > SHOWN_RANGES ? ', …' : ''),
  ]);
  // Of a job that was cancelled and submitted again, or that an earlier release has worked on.
  const unknown = BigInt(done) - known;
  if (unknown > 0n) rows.push(['not known', count(unknown), percent(shareOf(unknown, BigInt(length))), '', '']);
  for (const line of table([['user', 'indices', 'share', 'ranges', 'the first'], ...rows])) output.line(line);
  return { exit: Exit.ok, answer: { job: found } };
}

const SHOWN_RANGES = 3;
const rangeText = ([start, end]: readonly [Index, Index]): string => `${start}–${BigInt(end) - 1n}`;

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
  const revoked = await withClient(call, (client) => client.revoke(name));
  if (revoked === undefined) {
    output.say(`no user is called ${name}`);
    return { exit: Exit.no, answer: { users: [] } };
  }
  const { reopened, rested } = revoked;
  output.line(`${name} is revoked`);
  for (const { job, indices, ranges } of reopened)
    output.line(
      `job ${job.slice(0, 12)}: ${count(indices)} indices in ${plural(ranges, 'range')}, which only ${name} has done, are done again`,
    );
  for (const { job, name: kernel, indices, length } of rested)
    output.line(
      `job ${job.slice(0, 12)} ${displayText(kernel)} is over: ${percent(shareOf(indices, length))} of it rests on the word of ${name} alone`,
    );
  if (rested.length > 0)
    output.say(`\`millrace fleet jobs ID --recheck ${name}\` lets that be done again when the job is submitted again`);
  return { exit: Exit.ok, answer: { users: [name], reopened, rested } };
}

/** Those that are gone are only in the events. */
const workerTable = (all: readonly FleetWorkerRow[]): string[] =>
  table([
    ['worker', 'user', 'state', 'trust', 'share', 'rate', 'fed', 'leases', 'heard', 'faults'],
    ...all.filter(isHere).map(({ id, state, reason, share, perSecond, fed, leases, heardSeconds, faults, trust }) => {
      const [user = '', process = ''] = displayText(id).split('.');
      return [
        process,
        user,
        reason === undefined ? state : `${state}: ${displayText(reason)}`,
        trust,
        share === undefined ? NONE : percent(share),
        rate(perSecond, ''),
        fed === undefined ? NONE : percent(fed),
        count(leases),
        `${age(heardSeconds * 1000)} ago`,
        count(faults),
      ];
    }),
  ]);

const jobTable = (all: readonly FleetJobRow[]): string[] =>
  table([
    ['job', 'kernel', 'state', 'done', 'unaudited', 'audits', 'left', 'hits', 'leases', 'rate'],
    ...all.map(
      ({ id, name, state, fraction, length, done, unsettled, audited, etaSeconds, hits, leases, perSecond }) => [
        id.slice(0, 12),
        displayText(name),
        displayText(state),
        percent(fraction),
        percent(shareOf(BigInt(unsettled), BigInt(length))),
        // What audits have cost so far, of what was done.
        percent(Number(audited) / Math.max(1, Number(BigInt(done) + BigInt(unsettled)))),
        etaSeconds === undefined ? NONE : duration(etaSeconds),
        count(hits),
        count(leases),
        rate(perSecond, ''),
      ],
    ),
  ]);

const NONE = '–';

const isHere = ({ state }: FleetWorkerRow): boolean => state !== 'gone';

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
