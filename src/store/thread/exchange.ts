import { createHash } from 'node:crypto';
import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, MOST_INDICES, type Range } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import { spell, unspell } from '../encoding.js';
import { idOf } from '../identity.js';
import type { Connection } from './connection.js';
import { ExportText, refuse } from './export-text.js';
import { addJob, findByKey, type JobRecord } from './jobs.js';
import { addHits, intervalsOf, type Progress, readProgress, type StoredHit, writeRanges } from './progress.js';

/**
 * A job as JSON, to be resumed on another machine or merged back from there. Indices are decimal text, since JSON's
 * numbers are exact only up to 2^53. An import only adds: ranges that are already done here stay done.
 */
export interface Exported {
  readonly format: typeof FORMAT;
  readonly version: 1;
  readonly key: string;
  readonly name: string;
  readonly command: string;
  readonly params: unknown;
  /** First index, and the index after the last. */
  readonly space: readonly [string, string];
  readonly args: readonly string[];
  readonly elapsedMs: number;
  readonly devices: readonly string[];
  readonly done: readonly (readonly [string, string])[];
  /** Ascending by index, then by nth. */
  readonly hits: readonly ExportedHit[];
  /** SHA-256 of all other members. Version 0.1.0 did not write it. */
  readonly digest?: string;
}

export interface ExportedHit {
  readonly index: string;
  readonly nth: number;
  readonly fields: unknown;
  readonly foundMs: number;
}

const FORMAT = 'millrace-job';

/** Limits of an import. A job with more hits or ranges is not exported. */
const MAX_HITS = 2 ** 21;
const MAX_RANGES = 2 ** 20;
const MAX_HIT_CHARACTERS = 2 ** 20;
const MAX_RANGE_CHARACTERS = 128;
/** Members of an export that are one value each, with their maximum length. */
const MAX_MEMBER_CHARACTERS: Readonly<Record<string, number>> = {
  format: 64,
  version: 64,
  key: 128,
  name: 2 ** 16,
  command: 1024,
  params: 4 * 2 ** 20,
  space: MAX_RANGE_CHARACTERS,
  args: 2 ** 20,
  elapsedMs: 64,
  devices: 2 ** 16,
  digest: 128,
};

export function exportJob(job: JobRecord, { done, hits }: Progress): Exported {
  const { id, key, name, command, params, space, call, elapsedMs, devices } = job;
  if (hits.length > MAX_HITS || done.length > MAX_RANGES) {
    throw new MillraceError({
      code: 'usage',
      message: `job ${id} has ${hits.length} hits in ${done.length} ranges`,
      asked: 'to export it',
      advice: `an export holds ${MAX_HITS} hits and ${MAX_RANGES} ranges at most; copy the data directory instead`,
    });
  }
  const exported: Exported = {
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
  return { ...exported, digest: digestOf(exported, exported.hits) };
}

/** Hashes hits one at a time: all of them as one text would be as large as the file. */
function digestOf(exported: Omit<Exported, 'hits' | 'digest'>, hits: Iterable<ExportedHit>): string {
  const { format, version, key, name, command, params, space, args, elapsedMs, devices, done } = exported;
  const hash = createHash('sha256');
  hash.update(JSON.stringify([format, version, key, name, command, params, space, args, elapsedMs, devices]));
  hash.update(JSON.stringify(done));
  for (const { index, nth, fields, foundMs } of hits) hash.update(JSON.stringify([index, nth, fields, foundMs]));
  return hash.digest('hex');
}

/** Returns the text of an export that is given as text or as the object that `exportJob` returned. */
export function exportText(given: unknown): string {
  if (typeof given === 'string') return given;
  try {
    return JSON.stringify(given) ?? '';
  } catch (cause) {
    throw refuse('it cannot be written as JSON', cause);
  }
}

/** Adds an exported job. `write` runs an action in one transaction while no process works on the job. */
export function importJob(
  connection: Connection,
  text: string,
  write: (id: string, action: () => void) => void,
): { readonly id: string; readonly indices: bigint; readonly hits: number } {
  const { key, name, command, params, space, args, done, hits } = readExport(text);
  const known = findByKey(connection, key);
  if (known && (known.command !== command || !isSame(known.space, space))) {
    throw refuse(`it has the key of job ${known.id}, and another command or space`);
  }
  const id = known?.id ?? idOf(key, 0);
  let indices = 0n;
  let added = 0;
  write(id, () => {
    if (!known) {
      addJob(connection, { key, name, command, params, space, call: { args, folder: '' } }, 0, Date.now());
    }
    const before = readProgress(connection, id);
    const have = new Set(before.hits.map(({ index, nth }) => `${index} ${nth}`));
    const news = hits.filter(({ index, nth }) => !have.has(`${index} ${nth}`));
    addHits(connection, id, news, Date.now());
    added = news.length;
    const found = [...before.hits, ...news].map(({ index }) => index).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    indices = writeRanges(connection, id, before.done, done, found);
  });
  return { id, indices, hits: added };
}

const isSame = (a: Range, b: Range): boolean => a.start === b.start && a.length === b.length;

interface Imported extends Pick<Exported, 'key' | 'name' | 'command' | 'args'> {
  readonly params: Readonly<Record<string, unknown>>;
  readonly space: Range;
  readonly done: Intervals;
  readonly hits: readonly StoredHit[];
}

/** Parses an export. Throws `input-format` if any part is invalid or exceeds the limits. */
function readExport(text: string): Imported {
  const scan = new ExportText(text);
  const members = new Map<string, unknown>();
  for (const name of scan.members()) {
    if (members.has(name)) throw refuse(`it has ${name} twice`);
    const maxCharacters = MAX_MEMBER_CHARACTERS[name];
    if (name === 'done') members.set(name, [...limited(scan.elements(MAX_RANGE_CHARACTERS), MAX_RANGES, 'ranges')]);
    else if (name === 'hits') members.set(name, readHits(scan));
    else if (maxCharacters !== undefined) members.set(name, scan.value(maxCharacters));
    else throw refuse(`it has the unknown member ${quoted(name)}`);
  }
  scan.end();
  return checked(Object.fromEntries(members) as Members);
}

/** A hit whose values are text, as the ledger stores them, so that few objects exist at a time. */
type TextHit = Omit<ExportedHit, 'fields'> & { readonly fields: string };

/** Members as parsed; only the hits are checked. */
type Members = Partial<Omit<Exported, 'hits'>> & { readonly hits?: readonly TextHit[] };

function readHits(scan: ExportText): TextHit[] {
  const hits: TextHit[] = [];
  for (const hit of limited(scan.elements(MAX_HIT_CHARACTERS), MAX_HITS, 'hits')) hits.push(readHit(hit));
  return hits;
}

function readHit(given: unknown): TextHit {
  if (!isObject(given)) throw refuse(`${quoted(given)} is not a hit`);
  const { index, nth, fields, foundMs, ...others } = given;
  const [other] = Object.keys(others);
  if (other !== undefined) throw refuse(`a hit has the unknown member ${quoted(other)}`);
  const at = indexOf(index);
  if (!isCount(nth) || nth >= 2 ** 32) throw refuse(`the hit at ${at} has ${quoted(nth)} for nth, not a number from 0`);
  if (!isObject(fields)) throw refuse(`the hit at ${at} has no values`);
  if (!isCount(foundMs)) throw refuse(`the hit at ${at} has ${quoted(foundMs)} for foundMs, not milliseconds`);
  checkSpelling(fields);
  return { index: at.toString(), nth, fields: JSON.stringify(fields), foundMs };
}

function checked(given: Members): Imported {
  const { format, version, key, name, command, params, space, args, elapsedMs, devices, done, hits, digest } = given;
  if (format !== FORMAT) throw refuse(`its format is ${quoted(format)}, not ${FORMAT}`);
  if (version !== 1) throw refuse(`its version is ${quoted(version)}, and this Millrace reads 1`);
  if (typeof key !== 'string' || !/^[0-9a-f]{64}$/.test(key)) throw refuse('its key is not 64 hexadecimal digits');
  if (typeof name !== 'string' || typeof command !== 'string') throw refuse('its name or its command is not text');
  if (!isObject(params)) throw refuse('its params are not an object');
  if (!isTexts(args)) throw refuse('its args are not a list of texts');
  if (elapsedMs !== undefined && !isCount(elapsedMs)) throw refuse(`its elapsedMs is ${quoted(elapsedMs)}`);
  if (devices !== undefined && !isTexts(devices)) throw refuse('its devices are not a list of texts');
  if (done === undefined || hits === undefined) throw refuse('it has no list of what is done, or none of hits');
  checkSpelling(params);
  const whole = rangeOf(space);
  const ranges = done.map(rangeOf);
  let end = whole.start;
  for (const range of ranges) {
    if (range.start < end) throw refuse(`the range from ${range.start} is outside its space, or not in order`);
    end = endOf(range);
  }
  if (end > endOf(whole)) throw refuse(`the range up to ${end} is outside its space`);
  if (digest !== undefined && digest !== digestOf(given as Omit<Exported, 'hits'>, withValues(hits))) {
    throw refuse('it was changed after it was written: its digest does not fit');
  }
  const found = hits.map(({ index, nth, fields, foundMs }) => ({ index: BigInt(index), nth, fields, foundMs }));
  found.forEach(({ index, nth }, at) => {
    const last = found[at - 1];
    const isNext = last === undefined || last.index < index || (last.index === index && last.nth < nth);
    if (!isNext) throw refuse(`the hit at ${index} is there twice, or not in order`);
    if (index < whole.start || index >= endOf(whole)) throw refuse(`the hit at ${index} is outside its space`);
  });
  const values = unspell(JSON.stringify(params)) as Record<string, unknown>;
  return { key, name, command, params: values, space: whole, args, done: Intervals.of(ranges), hits: found };
}

function* withValues(hits: readonly TextHit[]): Generator<ExportedHit> {
  for (const hit of hits) yield { ...hit, fields: JSON.parse(hit.fields) as unknown };
}

function* limited<T>(values: Iterable<T>, max: number, what: string): Generator<T> {
  let count = 0;
  for (const value of values) {
    if (++count > max) throw refuse(`it has more than ${max} ${what}`);
    yield value;
  }
}

function rangeOf(pair: unknown): Range {
  if (!Array.isArray(pair) || pair.length !== 2) throw refuse(`${quoted(pair)} is not a range of two indices`);
  const [first, past] = [indexOf(pair[0]), indexOf(pair[1])];
  if (past <= first) throw refuse(`the range ${quoted(pair)} is empty`);
  return between(first, past);
}

function indexOf(text: unknown): bigint {
  const index = typeof text === 'string' && /^\d{1,39}$/.test(text) ? BigInt(text) : -1n;
  if (index < 0n || index > MOST_INDICES) throw refuse(`${quoted(text)} is not an index: text of a number up to 2^128`);
  return index;
}

/** Throws unless values that JSON lacks, encoded as objects of one member (`spell`), can be decoded later. */
function checkSpelling(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const members = Object.entries(value);
  for (const [name, member] of members) {
    const isSpelled = SPELLED[name];
    if (isSpelled === undefined) checkSpelling(member);
    else if (members.length > 1 || typeof member !== 'string' || !isSpelled.test(member)) {
      throw refuse(`${quoted(value)} is not a value of an export`);
    }
  }
}

/** A number of 100,000 digits takes some milliseconds to read; twice the digits take four times as long. */
const SPELLED: Readonly<Record<string, RegExp | undefined>> = {
  $big: /^-?\d{1,100000}$/,
  $float: /^(NaN|-?Infinity|-0)$/,
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

/** Quotes a value in an error message, shortened, on one line. */
function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
}

const MAX_QUOTED = 60;

/** Encodes values that JSON lacks as the ledger does. */
const plain = (value: unknown): unknown => JSON.parse(spell(value));
