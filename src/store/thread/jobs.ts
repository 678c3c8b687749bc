import { hostname } from 'node:os';
import { endOf, type Range } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import { indexOf, indexText, spell, unspell } from '../encoding.js';
import { idOf } from '../identity.js';
import { type Connection, Damaged } from './connection.js';
import { insertion, isWhole, type JobRow, marked, selection, valuesOf } from './rows.js';

/** Rows of jobs: their definition and their state. */

/**
 * `open`: started, waiting to be resumed; `running` and `paused`: a process works on it; `complete`: every index is done;
 * `answered`: the answer is known without the remaining indices; `cancelled`; `replaced`: by a job restarted with
 * `--fresh`.
 */
export type JobState = (typeof STATES)[number];
const STATES = ['open', 'running', 'paused', 'complete', 'answered', 'cancelled', 'replaced'] as const;

/** A request to the process that runs a job. */
export type Request = (typeof REQUESTS)[number];
const REQUESTS = ['pause', 'resume', 'cancel'] as const;

/** The command line that resumes a job. */
export interface JobCall {
  readonly args: readonly string[];
  readonly folder: string;
  /** Environment variables that set options. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Describes the job that a command is about to run. */
export interface JobOpening {
  readonly key: string;
  /** Display name: `run kernel.ts`. */
  readonly name: string;
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly space: Range;
  readonly call: JobCall;
  readonly priority?: number;
  /** Starts from the beginning even if progress is stored. */
  readonly fresh?: boolean;
  /** Restarts a finished job and deletes its record: its output is stored elsewhere. */
  readonly anew?: boolean;
}

/** States of jobs that will not be resumed. */
export const OVER: readonly JobState[] = ['complete', 'answered', 'cancelled', 'replaced'];

export interface JobRecord {
  readonly id: string;
  readonly key: string;
  readonly generation: number;
  readonly name: string;
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly space: Range;
  readonly madeMs: number;
  readonly activeMs: number;
  readonly state: JobState;
  readonly priority: number;
  readonly elapsedMs: number;
  readonly call: JobCall;
  /** Devices that have worked on the job. */
  readonly devices: readonly string[];
  /** The process that runs the job, or ran it last. */
  readonly owner: { readonly pid: number; readonly host: string } | undefined;
  readonly request: Request | undefined;
  /** Why it was stopped, if known. */
  readonly reason: string | undefined;
}

/** Returns the newest generation of a job, undefined if there is none. Throws `Damaged` if its row is damaged. */
export function findByKey(connection: Connection, key: string): JobRecord | undefined {
  return recordOf(connection.get(selection('jobs', 'WHERE key = ? ORDER BY generation DESC LIMIT 1'), key));
}

export function findById(connection: Connection, id: string): JobRecord | undefined {
  return recordOf(connection.get(selection('jobs', 'WHERE id = ?'), id));
}

/** Returns all jobs by priority, highest first, then by last activity, newest first. */
export function allJobs(connection: Connection): JobRecord[] {
  const rows = connection.all(selection('jobs', 'ORDER BY priority DESC, active_ms DESC'));
  return rows.flatMap((row) => recordOf(row) ?? []);
}

/** Returns jobs in state `running` with a higher priority. Their process may have died. */
export function runningAbove(connection: Connection, priority: number): JobRecord[] {
  const rows = connection.all(selection('jobs', "WHERE state = 'running' AND priority > ?"), priority);
  return rows.flatMap((row) => recordOf(row) ?? []);
}

/** Inserts a new job. Must run inside a transaction. */
export function addJob(connection: Connection, opening: JobOpening, generation: number, nowMs: number): string {
  const { key, name, command, params, space, call, priority = 0 } = opening;
  const id = idOf(key, generation);
  const row = marked('jobs', {
    id,
    key,
    generation,
    name,
    command,
    params: spell(params),
    first: indexText(space.start),
    past: indexText(endOf(space)),
    made_ms: nowMs,
    state: 'open',
    priority,
    elapsed_ms: 0,
    active_ms: nowMs,
    call: spell(call),
    devices: '[]',
    owner: null,
    request: null,
    reason: null,
  });
  connection.run(insertion('jobs'), ...valuesOf('jobs', row));
  return id;
}

/** Records that this process works on a job. Must run inside a transaction. */
export function take(connection: Connection, id: string, { call, priority }: JobOpening, nowMs: number): void {
  const owner = spell({ pid: process.pid, host: hostname() });
  connection.run(
    `UPDATE jobs SET state = 'running', owner = ?, call = ?, active_ms = ?, request = NULL, reason = NULL,
       priority = coalesce(?, priority) WHERE id = ?`,
    owner,
    spell(call),
    nowMs,
    priority ?? null,
    id,
  );
}

export function setState(connection: Connection, id: string, state: JobState, reason?: string): void {
  connection.run('UPDATE jobs SET state = ?, reason = ?, request = NULL WHERE id = ?', state, reason ?? null, id);
}

export function setRequest(connection: Connection, id: string, request: Request): void {
  connection.run('UPDATE jobs SET request = ? WHERE id = ?', request, id);
}

export function noteTime(
  connection: Connection,
  id: string,
  { elapsedMs, devices }: { readonly elapsedMs: number; readonly devices: readonly string[] },
  nowMs: number,
): void {
  const before = connection.get('SELECT CAST(devices AS BLOB) AS devices FROM jobs WHERE id = ?', id)?.devices;
  const all = new Set([...stringsOf(read(String(before))), ...devices]);
  connection.run(
    'UPDATE jobs SET elapsed_ms = elapsed_ms + ?, active_ms = ?, devices = ? WHERE id = ?',
    Math.round(elapsedMs),
    nowMs,
    spell([...all]),
    id,
  );
}

/** Deletes a job with its ranges and hits. Must run inside a transaction. */
export function removeJob(connection: Connection, id: string): void {
  for (const table of ['done', 'hits']) connection.run(`DELETE FROM ${table} WHERE job = ?`, id);
  connection.run('DELETE FROM jobs WHERE id = ?', id);
}

function recordOf(row: object | undefined): JobRecord | undefined {
  if (row === undefined) return undefined;
  const job = row as JobRow;
  if (!isWhole('jobs', job)) throw new Damaged(`the record of job ${job.id} is not as it was written`);
  const start = indexOf(job.first);
  return {
    id: job.id,
    key: job.key,
    generation: job.generation,
    name: job.name,
    command: job.command,
    params: unspell(job.params) as Record<string, unknown>,
    space: { start, length: indexOf(job.past) - start },
    madeMs: job.made_ms,
    activeMs: job.active_ms,
    state: STATES.includes(job.state as JobState) ? (job.state as JobState) : 'open',
    priority: job.priority,
    elapsedMs: job.elapsed_ms,
    call: callOf(read(job.call)),
    devices: stringsOf(read(job.devices)),
    owner: ownerOf(read(job.owner)),
    request: REQUESTS.find((request) => request === job.request),
    reason: job.reason ?? undefined,
  };
}

/** Decodes a column that changes and therefore has no checksum. Damaged text counts as missing. */
function read(text: string | null): unknown {
  try {
    return text === null ? undefined : unspell(text);
  } catch {
    return undefined;
  }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => Object(value) as Record<string, unknown>;

const stringsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];

function callOf(value: unknown): JobCall {
  const { args, folder, environment } = fieldsOf(value);
  const variables = Object.entries(fieldsOf(environment)).filter((entry): entry is [string, string] => {
    return typeof entry[1] === 'string';
  });
  return {
    args: stringsOf(args),
    folder: typeof folder === 'string' ? folder : '',
    ...(environment !== undefined && { environment: Object.fromEntries(variables) }),
  };
}

function ownerOf(value: unknown): JobRecord['owner'] {
  const { pid, host } = fieldsOf(value);
  return typeof pid === 'number' && typeof host === 'string' ? { pid, host } : undefined;
}

export const noSuchJob = (given: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `there is no job ${given}`,
    asked: given,
    advice: 'see `millrace jobs list`',
  });
