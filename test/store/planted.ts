import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Intervals } from '../../src/engine/work/intervals.js';
import { between, type Range } from '../../src/engine/work/space.js';
import { openStore, type Store } from '../../src/store/index.js';
import {
  millrace as command,
  type Ended,
  type HereOptions,
  millraceProcess,
  type Started,
  start,
} from '../command-line.js';
import type { Event } from '../events.js';
import { byTier } from '../tier.js';

/** A search whose hits are known, run by the built command. */

/** Takes WebAssembly 30 ms on one thread, the interpreter 20 s: tests stop a run on it and complete it on WebAssembly. */
export const SPACE = byTier(1_000_000, 2_000_000);

/** Every index of one residue hits, and the odd ones among them twice. */
const PLANTED = `import { items, u32, when } from 'millrace';
export default items('planted', { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
  const rest = index.lo.rem(job.every);
  when(rest.eq(7), () => emit({ n: index.lo }));
  when(rest.eq(7).and(index.lo.and(1).eq(1)), () => emit({ n: index.lo.not() }));
});
`;

/** Returns its hits in order: `index n`. */
export const planted = (every: number, space = SPACE): string[] =>
  Array.from({ length: Math.ceil((space - 7) / every) }, (_, k) => 7 + k * every).flatMap((index) =>
    index % 2 === 1 ? [`${index} ${index}`, `${index} ${~index >>> 0}`] : [`${index} ${index}`],
  );

export function writePlanted(folder: string): void {
  writeFileSync(join(folder, 'planted.mjs'), PLANTED);
  for (const device of ['wasm', 'interpreter']) {
    const place = join(folder, device, 'millrace');
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'config.json'), JSON.stringify({ device, threads: 1 }));
  }
}

export interface Given {
  readonly every: number;
  /** Additional arguments. */
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly space?: number;
  /** Default: `wasm`, on one thread. */
  readonly device?: 'wasm' | 'interpreter';
  /** Contains the data directory, `data`. */
  readonly folder: string;
  readonly uid?: number;
}

export interface SearchEnded {
  readonly exit: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly events: readonly Event[];
  /** Hits that were printed. */
  readonly hits: readonly string[];
}

/** A running search. */
export interface Searching extends Omit<Started, 'ended'> {
  readonly ended: Promise<SearchEnded>;
}

/** Starts the search as a process. */
export function startRun({ uid, ...given }: Given): Searching {
  const { args, options } = callOf(given);
  const { child, ended, until } = start(args, { ...options, ...(uid !== undefined && { uid }) });
  return { child, until, ended: ended.then(endedOf) };
}

/** Runs the search to its end in this process. */
export async function runHere({
  heard,
  ...given
}: Omit<Given, 'uid'> & Pick<HereOptions, 'heard'>): Promise<SearchEnded> {
  const { args, options } = callOf(given);
  return endedOf({ ...(await command(args, { ...options, ...(heard && { heard }) })), signal: null });
}

/** Arguments and variables do not name the device: `jobs resume` repeats both, and may run on another. */
function callOf({ every, args = [], env, space = SPACE, folder, device }: Given) {
  const own = ['run', 'planted.mjs', '--space', String(space), '--param', `every=${every}`, '--json'];
  return {
    args: [...own, '--data-dir', join(folder, 'data'), ...args],
    options: { cwd: folder, env: { ...on(folder, device), ...env } },
  };
}

/** The environment whose config file names the device. Ledgers are written often, so that no test waits a second. */
const on = (folder: string, device: Given['device'] = 'wasm'): NodeJS.ProcessEnv => ({
  XDG_CONFIG_HOME: join(folder, device),
  MILLRACE_CHECKPOINT_MS: '50',
});

const endedOf = ({ status, signal, events }: Omit<Ended, 'stdout' | 'stderr'>): SearchEnded => ({
  exit: status,
  signal,
  events,
  hits: hitsIn(events),
});

/** Returns the hits among events. */
export const hitsIn = (events: readonly Event[]): string[] =>
  events.flatMap(({ event, index, hit }) => (event === 'hit' ? `${index} ${(hit as { n: number }).n}` : []));

/** Runs another command on the same ledger. */
export const millrace = (folder: string, ...args: readonly string[]) => command(args, environmentOf(folder));

/** Runs `jobs resume` on a fast device. It starts processes that write to its own streams. */
export const resume = (folder: string, ...args: readonly string[]) =>
  millraceProcess(['jobs', 'resume', ...args], environmentOf(folder));

const environmentOf = (folder: string) => ({
  cwd: folder,
  env: { ...on(folder), MILLRACE_DATA_DIR: join(folder, 'data') },
});

export interface JobState {
  readonly faults: readonly string[];
  readonly done: readonly Range[];
  readonly hits: readonly string[];
  readonly state: string | undefined;
}

/** Reads the state of a job from the ledger, and finds inconsistencies. */
export async function stateOf(folder: string, every: number, space = SPACE): Promise<JobState> {
  const faults: string[] = [];
  const { job, progress } = await reading(join(folder, 'data'), faults, async (store) => {
    const found = (await store.jobs()).find(({ job }) => JSON.stringify(job.params) === `{"job":{"every":${every}}}`);
    return { job: found?.job, progress: found && (await store.progress(found.job.id)) };
  });
  if (!job || !progress) return { faults, done: [], hits: [], state: undefined };
  const { done, hits } = progress;
  const covered = Intervals.of(done.map(({ start, end }) => between(start, end)));
  if (covered.total !== done.reduce((sum, { start, end }) => sum + end - start, 0n)) faults.push('ranges overlap');
  const found = hits.map(({ index, fields }) => `${index} ${(JSON.parse(fields) as { n: number }).n}`);
  const isCovered = (hit: string): boolean => covered.has({ start: BigInt(hit.split(' ')[0]!), length: 1n });
  const wanted = planted(every, space).filter(isCovered);
  if (JSON.stringify(found) !== JSON.stringify(wanted)) faults.push('hits are not those of the ranges');
  return { faults, done: [...covered], hits: found, state: job.state };
}

/**
 * Reads a ledger that other processes use, in a separate thread. Its files are closed when the thread has ended. A `Ledger`
 * of this thread keeps them open until it is collected, and another process may delete the log meanwhile.
 */
export async function reading<T>(directory: string, notices: string[], read: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(directory, { warn: (notice) => notices.push(notice) });
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}
