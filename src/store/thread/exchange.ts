import { createHash } from 'node:crypto';
import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, MAX_INDICES, type Range } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import { decode, encode } from '../encoding.js';
import { jobIdOf } from '../identity.js';
import type { Connection } from './connection.js';
import { ExportReader, importError } from './export-reader.js';
import { addJob, findByKey, type JobRecord } from './jobs.js';
import { addHits, intervalsOf, type JobProgress, readProgress, type StoredHit, writeRanges } from './progress.js';

/**
 * A job as JSON, to be resumed on another machine or merged back from there. Indices are decimal text, since JSON's
 * numbers are exact only up to 2^53. An import only adds: ranges that are already done here stay done.
 */
export interface ExportedJob {
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

export function exportJob(job: JobRecord, { done, hits }: JobProgress): ExportedJob {
  const { id, key, name, command, params, space, call, elapsedMs, devices } = job;
  if (hits.length > MAX_HITS || done.length > MAX_RANGES) {
    throw new MillraceError({
      code: 'usage',
      message: `job ${id} has ${hits.length} hits in ${done.length} ranges`,
      asked: 'to export it',
      advice: `an export holds ${MAX_HITS} hits and ${MAX_RANGES} ranges at most; copy the data directory instead`,
    });
  }
  const exported: ExportedJob = {
    format: FORMAT,
    version: 1,
    key,
    name,
    command,
    params: encodedJson(params),
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
  return { ...exported, digest: exportDigest(exported, exported.hits) };
}

/** Hashes hits one at a time: all of them as one text would be as large as the file. */
function exportDigest(exported: Omit<ExportedJob, 'hits' | 'digest'>, hits: Iterable<ExportedHit>): string {
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
    throw importError('it cannot be written as JSON', cause);
  }
}

/** Adds an exported job. `write` runs an action in one transaction while no process works on the job. */
export function importJob(
  connection: Connection,
  text: string,
  write: (id: string, action: () => void) => void,
): { readonly id: string; readonly indices: bigint; readonly hits: number } {
  const { key, name, command, params, space, args, done, hits } = readExport(text);
  const stored = findByKey(connection, key);
  if (stored && (stored.command !== command || !isSameRange(stored.space, space))) {
    throw importError(`it has the key of job ${stored.id}, and another command or space`);
  }
  const id = stored?.id ?? jobIdOf(key, 0);
  let indices = 0n;
  let added = 0;
  write(id, () => {
    if (!stored) {
      addJob(connection, { key, name, command, params, space, call: { args, folder: '' } }, 0, Date.now());
    }
    const before = readProgress(connection, id);
    const storedKeys = new Set(before.hits.map(({ index, nth }) => `${index} ${nth}`));
    const newHits = hits.filter(({ index, nth }) => !storedKeys.has(`${index} ${nth}`));
    addHits(connection, id, newHits, Date.now());
    added = newHits.length;
    const found = [...before.hits, ...newHits].map(({ index }) => index).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    indices = writeRanges(connection, id, before.done, done, found);
  });
  return { id, indices, hits: added };
}

const isSameRange = (a: Range, b: Range): boolean => a.start === b.start && a.length === b.length;

interface ImportedJob extends Pick<ExportedJob, 'key' | 'name' | 'command' | 'args'> {
  readonly params: Readonly<Record<string, unknown>>;
  readonly space: Range;
  readonly done: Intervals;
  readonly hits: readonly StoredHit[];
}

/** Parses an export. Throws `input-format` if any part is invalid or exceeds the limits. */
function readExport(text: string): ImportedJob {
  const scan = new ExportReader(text);
  const members = new Map<string, unknown>();
  for (const name of scan.members()) {
    if (members.has(name)) throw importError(`it has ${name} twice`);
    const maxCharacters = MAX_MEMBER_CHARACTERS[name];
    if (name === 'done') members.set(name, [...limited(scan.elements(MAX_RANGE_CHARACTERS), MAX_RANGES, 'ranges')]);
    else if (name === 'hits') members.set(name, readHits(scan));
    else if (maxCharacters !== undefined) members.set(name, scan.value(maxCharacters));
    else throw importError(`it has the unknown member ${quoted(name)}`);
  }
  scan.end();
  return checkMembers(Object.fromEntries(members) as ExportMembers);
}

/** A hit whose values are text, as the ledger stores them, so that few objects exist at a time. */
type TextHit = Omit<ExportedHit, 'fields'> & { readonly fields: string };

/** Members as parsed; only the hits are checked. */
type ExportMembers = Partial<Omit<ExportedJob, 'hits'>> & { readonly hits?: readonly TextHit[] };

function readHits(scan: ExportReader): TextHit[] {
  const hits: TextHit[] = [];
  for (const hit of limited(scan.elements(MAX_HIT_CHARACTERS), MAX_HITS, 'hits')) hits.push(readHit(hit));
  return hits;
}

function readHit(given: unknown): TextHit {
  if (!isObject(given)) throw importError(`${quoted(given)} is not a hit`);
  const { index, nth, fields, foundMs, ...others } = given;
  const [other] = Object.keys(others);
  if (other !== undefined) throw importError(`a hit has the unknown member ${quoted(other)}`);
  const at = readIndex(index);
  if (!isCount(nth) || nth >= 2 ** 32)
    throw importError(`the hit at ${at} has ${quoted(nth)} for nth, not a number from 0`);
  if (!isObject(fields)) throw importError(`the hit at ${at} has no values`);
  if (!isCount(foundMs)) throw importError(`the hit at ${at} has ${quoted(foundMs)} for foundMs, not milliseconds`);
  checkEncoding(fields);
  return { index: at.toString(), nth, fields: JSON.stringify(fields), foundMs };
}

function checkMembers(given: ExportMembers): ImportedJob {
  const { format, version, key, name, command, params, space, args, elapsedMs, devices, done, hits, digest } = given;
  if (format !== FORMAT) throw importError(`its format is ${quoted(format)}, not ${FORMAT}`);
  if (version !== 1) throw importError(`its version is ${quoted(version)}, and this Millrace reads version 1`);
  if (typeof key !== 'string' || !/^[0-9a-f]{64}$/.test(key)) throw importError('its key is not 64 hexadecimal digits');
  if (typeof name !== 'string' || typeof command !== 'string') throw importError('its name or its command is not text');
  if (!isObject(params)) throw importError('its params are not an object');
  if (!isTexts(args)) throw importError('its args are not a list of texts');
  if (elapsedMs !== undefined && !isCount(elapsedMs)) throw importError(`its elapsedMs is ${quoted(elapsedMs)}`);
  if (devices !== undefined && !isTexts(devices)) throw importError('its devices are not a list of texts');
  if (done === undefined || hits === undefined)
    throw importError('it has no list of finished ranges, or no list of hits');
  checkEncoding(params);
  const spaceRange = readRange(space);
  const ranges = done.map(readRange);
  let end = spaceRange.start;
  for (const range of ranges) {
    if (range.start < end) throw importError(`the range from ${range.start} is outside its space or out of order`);
    end = endOf(range);
  }
  if (end > endOf(spaceRange)) throw importError(`the range up to ${end} is outside its space`);
  if (digest !== undefined && digest !== exportDigest(given as Omit<ExportedJob, 'hits'>, withValues(hits))) {
    throw importError('it was changed after it was written: its digest does not match');
  }
  const found = hits.map(({ index, nth, fields, foundMs }) => ({ index: BigInt(index), nth, fields, foundMs }));
  found.forEach(({ index, nth }, at) => {
    const last = found[at - 1];
    const isNext = last === undefined || last.index < index || (last.index === index && last.nth < nth);
    if (!isNext) throw importError(`the hit at ${index} is repeated or out of order`);
    if (index < spaceRange.start || index >= endOf(spaceRange))
      throw importError(`the hit at ${index} is outside its space`);
  });
  const values = decode(JSON.stringify(params)) as Record<string, unknown>;
  return { key, name, command, params: values, space: spaceRange, args, done: Intervals.of(ranges), hits: found };
}

function* withValues(hits: readonly TextHit[]): Generator<ExportedHit> {
  for (const hit of hits) yield { ...hit, fields: JSON.parse(hit.fields) as unknown };
}

function* limited<T>(values: Iterable<T>, max: number, what: string): Generator<T> {
  let count = 0;
  for (const value of values) {
    if (++count > max) throw importError(`it has more than ${max} ${what}`);
    yield value;
  }
}

function readRange(pair: unknown): Range {
  if (!Array.isArray(pair) || pair.length !== 2) throw importError(`${quoted(pair)} is not a range of two indices`);
  const [first, end] = [readIndex(pair[0]), readIndex(pair[1])];
  if (end <= first) throw importError(`the range ${quoted(pair)} is empty`);
  return between(first, end);
}

function readIndex(text: unknown): bigint {
  const index = typeof text === 'string' && /^\d{1,39}$/.test(text) ? BigInt(text) : -1n;
  if (index < 0n || index > MAX_INDICES)
    throw importError(`${quoted(text)} is not an index: text of a number up to 2^128`);
  return index;
}

/** Throws unless values that JSON lacks, encoded as objects of one member (`encode`), can be decoded later. */
function checkEncoding(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const members = Object.entries(value);
  for (const [name, member] of members) {
    const encodedForm = ENCODED_FORMS[name];
    if (encodedForm === undefined) checkEncoding(member);
    else if (members.length > 1 || typeof member !== 'string' || !encodedForm.test(member)) {
      throw importError(`${quoted(value)} is not a value of an export`);
    }
  }
}

/** A number of 100,000 digits takes some milliseconds to read; twice the digits take four times as long. */
const ENCODED_FORMS: Readonly<Record<string, RegExp | undefined>> = {
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
const encodedJson = (value: unknown): unknown => JSON.parse(encode(value));
