import { hostname } from 'node:os';
import { endOf, type Range } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import { decode, encode, indexText, parseIndex } from '../encoding.js';
import { jobIdOf } from '../identity.js';
import { type Connection, LedgerDamagedError } from './connection.js';
import { insertSql, isIntact, type JobRow, selectSql, valuesOf, withChecksum } from './rows.js';

/** Rows of jobs: their definition and their state. */

/**
 * `open`: started, waiting to be resumed; `running` and `paused`: a process works on it; `complete`: every index is done;
 * `answered`: the answer is known without the remaining indices; `cancelled`; `replaced`: by a job restarted with
 * `--fresh`.
 */
export type JobState = (typeof STATES)[number];
const STATES = ['open', 'running', 'paused', 'complete', 'answered', 'cancelled', 'replaced'] as const;

/** A request to the process that runs a job. */
export type JobRequest = (typeof REQUESTS)[number];
const REQUESTS = ['pause', 'resume', 'cancel'] as const;

/** The command line that resumes a job. */
export interface JobCall {
  readonly args: readonly string[];
  readonly folder: string;
  /** Environment variables that set options. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The name of the kernel, if the job's name does not tell it. */
  readonly kernel?: string;
  /** The fields of a hit, in order, if they have types: how a hit is shown depends on them. */
  readonly hit?: readonly HitField[];
}

/** A field of a hit as the kernel declares it: `u32`, an array or not. */
export interface HitField {
  readonly name: string;
  readonly type: string;
  readonly array: boolean;
}

/** Describes the job that a command is about to run. */
export interface JobDefinition {
  readonly key: string;
  /** Display name: `run kernel.ts`. */
  readonly name: string;
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly space: Range;
  readonly call: JobCall;
  readonly priority?: number;
  /** Starts from the beginning even if progress is stored. */
  readonly restart?: boolean;
  /** Restarts a finished job and deletes its record: its output is stored elsewhere. */
  readonly restartIfFinished?: boolean;
}

/** States of jobs that will not be resumed. */
export const FINAL_STATES: readonly JobState[] = ['complete', 'answered', 'cancelled', 'replaced'];

export interface JobRecord {
  readonly id: string;
  readonly key: string;
  readonly generation: number;
  readonly name: string;
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly space: Range;
  readonly createdMs: number;
  readonly lastActiveMs: number;
  readonly state: JobState;
  readonly priority: number;
  readonly elapsedMs: number;
  readonly call: JobCall;
  /** Devices that have worked on the job. */
  readonly devices: readonly string[];
  /** The process that runs the job, or ran it last. */
  readonly owner: { readonly pid: number; readonly host: string } | undefined;
  readonly request: JobRequest | undefined;
  /** Why it was stopped, if known. */
  readonly reason: string | undefined;
}

/** Returns the newest generation of a job, undefined if there is none. Throws `LedgerDamagedError` if its row is damaged. */
export function findByKey(connection: Connection, key: string): JobRecord | undefined {
  return jobFromRow(connection.get(selectSql('jobs', 'WHERE key = ? ORDER BY generation DESC LIMIT 1'), key));
}

export function findById(connection: Connection, id: string): JobRecord | undefined {
  return jobFromRow(connection.get(selectSql('jobs', 'WHERE id = ?'), id));
}

/** Returns all jobs by priority, highest first, then by last activity, newest first. */
export function allJobs(connection: Connection): JobRecord[] {
  const rows = connection.all(selectSql('jobs', 'ORDER BY priority DESC, active_ms DESC'));
  return rows.flatMap((row) => jobFromRow(row) ?? []);
}

/** Returns jobs in state `running` with a higher priority. Their process may have died. */
export function runningJobsAbove(connection: Connection, priority: number): JobRecord[] {
  const rows = connection.all(selectSql('jobs', "WHERE state = 'running' AND priority > ?"), priority);
  return rows.flatMap((row) => jobFromRow(row) ?? []);
}

/** Inserts a new job. Must run inside a transaction. */
export function addJob(connection: Connection, definition: JobDefinition, generation: number, nowMs: number): string {
  const { key, name, command, params, space, call, priority = 0 } = definition;
  const id = jobIdOf(key, generation);
  const row = withChecksum('jobs', {
    id,
    key,
    generation,
    name,
    command,
    params: encode(params),
    first: indexText(space.start),
    past: indexText(endOf(space)),
    made_ms: nowMs,
    state: 'open',
    priority,
    elapsed_ms: 0,
    active_ms: nowMs,
    call: encode(call),
    devices: '[]',
    owner: null,
    request: null,
    reason: null,
  });
  connection.run(insertSql('jobs'), ...valuesOf('jobs', row));
  return id;
}

/** Records that this process works on a job. Must run inside a transaction. */
export function claimJob(connection: Connection, id: string, { call, priority }: JobDefinition, nowMs: number): void {
  const owner = encode({ pid: process.pid, host: hostname() });
  connection.run(
    `UPDATE jobs SET state = 'running', owner = ?, call = ?, active_ms = ?, request = NULL, reason = NULL,
       priority = coalesce(?, priority) WHERE id = ?`,
    owner,
    encode(call),
    nowMs,
    priority ?? null,
    id,
  );
}

export function setState(connection: Connection, id: string, state: JobState, reason?: string): void {
  connection.run('UPDATE jobs SET state = ?, reason = ?, request = NULL WHERE id = ?', state, reason ?? null, id);
}

export function setRequest(connection: Connection, id: string, request: JobRequest): void {
  connection.run('UPDATE jobs SET request = ? WHERE id = ?', request, id);
}

export function addWorkTime(
  connection: Connection,
  id: string,
  { elapsedMs, devices }: { readonly elapsedMs: number; readonly devices: readonly string[] },
  nowMs: number,
): void {
  const before = connection.get('SELECT CAST(devices AS BLOB) AS devices FROM jobs WHERE id = ?', id)?.devices;
  const all = new Set([...stringsOf(decodeColumn(String(before))), ...devices]);
  connection.run(
    'UPDATE jobs SET elapsed_ms = elapsed_ms + ?, active_ms = ?, devices = ? WHERE id = ?',
    Math.round(elapsedMs),
    nowMs,
    encode([...all]),
    id,
  );
}

/** Deletes a job with its ranges and hits. Must run inside a transaction. */
export function removeJob(connection: Connection, id: string): void {
  for (const table of ['done', 'hits']) connection.run(`DELETE FROM ${table} WHERE job = ?`, id);
  connection.run('DELETE FROM jobs WHERE id = ?', id);
}

/** Deletes a job that has neither ranges nor hits. */
export function removeUnusedJob(connection: Connection, id: string): void {
  const without = (table: string): string => `NOT EXISTS (SELECT 1 FROM ${table} WHERE job = jobs.id)`;
  connection.run(`DELETE FROM jobs WHERE id = ? AND ${without('done')} AND ${without('hits')}`, id);
}

function jobFromRow(row: object | undefined): JobRecord | undefined {
  if (row === undefined) return undefined;
  const job = row as JobRow;
  if (!isIntact('jobs', job)) throw new LedgerDamagedError(`the record of job ${job.id} does not match its checksum`);
  const start = parseIndex(job.first);
  return {
    id: job.id,
    key: job.key,
    generation: job.generation,
    name: job.name,
    command: job.command,
    params: decode(job.params) as Record<string, unknown>,
    space: { start, length: parseIndex(job.past) - start },
    createdMs: job.made_ms,
    lastActiveMs: job.active_ms,
    state: STATES.includes(job.state as JobState) ? (job.state as JobState) : 'open',
    priority: job.priority,
    elapsedMs: job.elapsed_ms,
    call: callOf(decodeColumn(job.call)),
    devices: stringsOf(decodeColumn(job.devices)),
    owner: ownerOf(decodeColumn(job.owner)),
    request: REQUESTS.find((request) => request === job.request),
    reason: job.reason ?? undefined,
  };
}

/** Decodes a column that changes and therefore has no checksum. Damaged text counts as missing. */
function decodeColumn(text: string | null): unknown {
  try {
    return text === null ? undefined : decode(text);
  } catch {
    return undefined;
  }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => Object(value) as Record<string, unknown>;

const stringsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];

function callOf(value: unknown): JobCall {
  const { args, folder, environment, kernel, hit } = fieldsOf(value);
  const variables = Object.entries(fieldsOf(environment)).filter((entry): entry is [string, string] => {
    return typeof entry[1] === 'string';
  });
  return {
    args: stringsOf(args),
    folder: typeof folder === 'string' ? folder : '',
    ...(environment !== undefined && { environment: Object.fromEntries(variables) }),
    ...(typeof kernel === 'string' && { kernel }),
    ...(Array.isArray(hit) && { hit: hit.map(hitFieldOf) }),
  };
}

function hitFieldOf(value: unknown): HitField {
  const { name, type, array } = fieldsOf(value);
  return { name: String(name), type: String(type), array: array === true };
}

function ownerOf(value: unknown): JobRecord['owner'] {
  const { pid, host } = fieldsOf(value);
  return typeof pid === 'number' && typeof host === 'string' ? { pid, host } : undefined;
}

export const noSuchJobError = (given: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `there is no job ${given}`,
    asked: given,
    advice: 'see `millrace jobs list`',
  });
