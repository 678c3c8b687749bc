import { Intervals } from '../engine/intervals.js';
import { between, endOf, type Range } from '../engine/space.js';
import { MillraceError } from '../kernel/error.js';
import type { Connection } from './connection.js';
import { idOf } from './identity.js';
import { addJob, findByKey, type JobRecord } from './jobs.js';
import {
  addHits,
  addRange,
  countWithin,
  intervalsOf,
  type Progress,
  readProgress,
  type StoredHit,
} from './progress.js';
import { spell, unspell } from './text.js';

/**
 * A job as JSON, to be gone on with on another machine, or to bring what was done there home. Indices are decimal text,
 * since JSON's numbers end at 2^53. What is imported is added: ranges that are done here already stay as they are.
 */
export interface Exported {
  readonly format: typeof FORMAT;
  readonly version: 1;
  readonly key: string;
  readonly name: string;
  readonly command: string;
  readonly params: unknown;
  /** First, and past the last. */
  readonly space: readonly [string, string];
  readonly args: readonly string[];
  readonly elapsedMs: number;
  readonly devices: readonly string[];
  readonly done: readonly (readonly [string, string])[];
  readonly hits: readonly ExportedHit[];
}

export interface ExportedHit {
  readonly index: string;
  readonly nth: number;
  readonly fields: unknown;
  readonly foundMs: number;
}

const FORMAT = 'millrace-job';

export function exportJob(job: JobRecord, { done, hits }: Progress): Exported {
  const { key, name, command, params, space, call, elapsedMs, devices } = job;
  return {
    format: FORMAT,
    version: 1,
    key,
    name,
    command,
    params: plain(params),
    space: [space.start.toString(), endOf(space).toString()],
    args: call.args,
    elapsedMs,
    devices,
    done: [...intervalsOf(done)].map((range) => [range.start.toString(), endOf(range).toString()]),
    hits: hits.map(({ index, nth, fields, foundMs }) => ({
      index: index.toString(),
      nth,
      fields: JSON.parse(fields) as unknown,
      foundMs,
    })),
  };
}

/** `write` runs an action in a transaction while nobody else has the job. */
export function importJob(
  connection: Connection,
  given: unknown,
  write: (id: string, action: () => void) => void,
): { readonly id: string; readonly indices: bigint; readonly hits: number } {
  const { key, name, command, params, space, args, done, hits } = checked(given);
  const known = findByKey(connection, key);
  const id = known?.id ?? idOf(key, 0);
  let indices = 0n;
  let fresh = 0;
  write(id, () => {
    if (!known) {
      addJob(connection, { key, name, command, params, space, call: { args, folder: '' } }, 0, Date.now());
    }
    const before = readProgress(connection, id);
    const have = new Set(before.hits.map(({ index, nth }) => `${index} ${nth}`));
    const news = hits.filter(({ index, nth }) => !have.has(`${index} ${nth}`));
    addHits(connection, id, news, Date.now());
    fresh = news.length;
    const all = [...before.hits, ...news].map(({ index }) => index).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    const covered = intervalsOf(before.done);
    for (const range of done) {
      for (const { start, length } of covered.missing(range)) {
        addRange(connection, id, { start, past: start + length, hits: countWithin(all, start, start + length) });
        indices += length;
      }
    }
  });
  return { id, indices, hits: fresh };
}

interface Checked extends Pick<Exported, 'key' | 'name' | 'command' | 'args'> {
  readonly params: Readonly<Record<string, unknown>>;
  readonly space: Range;
  readonly done: Intervals;
  readonly hits: readonly StoredHit[];
}

/** Throws `input-format` where it is no export, or says that indices are done which are not of its space. */
function checked(given: unknown): Checked {
  const { format, version, key, name, command, params, space, args, done, hits } = (given ?? {}) as Partial<Exported>;
  if (format !== FORMAT) throw refuse('it is no exported job');
  if (version !== 1) throw refuse(`it has version ${String(version)}, this Millrace knows 1`);
  if (typeof key !== 'string' || !/^[0-9a-f]{64}$/.test(key)) throw refuse('its key is damaged');
  if (typeof name !== 'string' || typeof command !== 'string') throw refuse('it has no name or no command');
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string')) throw refuse('it has no arguments');
  if (!Array.isArray(done) || !Array.isArray(hits)) throw refuse('it has no list of what is done, or of hits');
  const whole = rangeOf(space);
  const ranges = done.map(rangeOf);
  for (const range of ranges) if (!isWithin(range, whole)) throw refuse(`${range.start} is not in its space`);
  const found = hits.map(({ index, nth, fields, foundMs }): StoredHit => {
    const at = numberOf(index);
    if (!isWithin(between(at, at + 1n), whole)) throw refuse(`${at} is not in its space`);
    if (!Number.isSafeInteger(nth) || nth < 0) throw refuse(`the hit at ${at} has no number`);
    if (typeof fields !== 'object' || fields === null) throw refuse(`the hit at ${at} has no values`);
    if (!Number.isSafeInteger(foundMs)) throw refuse(`the hit at ${at} has no time`);
    return { index: at, nth, fields: JSON.stringify(fields), foundMs };
  });
  const values = unspell(JSON.stringify(params ?? {})) as Record<string, unknown>;
  return { key, name, command, params: values, space: whole, args, done: Intervals.of(ranges), hits: found };
}

function rangeOf(pair: unknown): Range {
  const [first, past] = Array.isArray(pair) ? pair.map(numberOf) : [];
  if (first === undefined || past === undefined || past <= first) throw refuse(`${JSON.stringify(pair)} is no range`);
  return between(first, past);
}

function numberOf(text: unknown): bigint {
  if (typeof text !== 'string' || !/^\d{1,39}$/.test(text)) throw refuse(`${JSON.stringify(text)} is no index`);
  return BigInt(text);
}

const isWithin = (range: Range, whole: Range): boolean => range.start >= whole.start && endOf(range) <= endOf(whole);

/** Values that JSON lacks, as the ledger writes them. */
const plain = (value: unknown): unknown => JSON.parse(spell(value));

const refuse = (message: string): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message,
    asked: 'to import a job',
    advice: 'give a file that `millrace jobs export` wrote',
  });
