import { between, endOf } from '../../engine/work/space.js';
import { fieldReader } from '../../network/fields.js';
import type { PlainRecord, PlainValue } from '../manifest/index.js';
import type { Contribution, Item } from './contribution.js';
import type { Identity } from './standing.js';

/** What of a job's trust survives its coordinator: values by key. A change to undefined removes the key. */
export type StoredValues = ReadonlyMap<string, PlainValue>;
export type StoredChanges = Map<string, PlainValue | undefined>;

/** Keys of a job: contributions that are not settled by their first index, canaries, densities by bits, audited indices. */
export const partKey = ({ range }: Contribution): string => `part.${range.start}`;
export const canaryKey = (at: number): string => `canary.${at}`;
export const densityKey = (bits: number | undefined): string => `density.${bits ?? 'none'}`;
export const AUDITED = 'audited';
/** Ranges that count by worker and start, and by worker the indices in them that others did; ranges on which workers have agreed. */
export const DID = 'did';
export const JOINED = 'joined';
export const AGREED = 'agreed';

/** Whether a key says who did what counts. */
export const isProvenanceKey = (key: string): boolean => beginsWith(key, [DID, JOINED, AGREED]);

/** Whether a key is one of all these. */
export const isTrustKey = (key: string): boolean =>
  isProvenanceKey(key) || beginsWith(key, ['part', 'canary', 'density', AUDITED]);

const beginsWith = (key: string, words: readonly string[]): boolean => words.includes(key.split('.', 1)[0] ?? '');

/** Returns the values whose key begins with a word, by the rest of the key. */
export function storedUnder(values: StoredValues, word: string): [rest: string, value: PlainValue][] {
  const prefix = `${word}.`;
  return [...values].flatMap(([key, value]) => (key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : []));
}

/** Whether ranges of a worker count, wait for audits, or are canaries, or it has agreed to those of others. */
export function namesWorker(values: StoredValues, worker: Identity): boolean {
  const own = [`${DID}.${worker}.`, `${AGREED}.${worker}.`];
  const contributions = ['part', 'canary'].flatMap((word) => storedUnder(values, word));
  return (
    [...values.keys()].some((key) => own.some((prefix) => key.startsWith(prefix))) ||
    contributions.some(([, value]) => readContribution(value).worker === worker)
  );
}

export const plainContribution = ({ worker, range, bits, hits, witnesses }: Contribution): PlainRecord => ({
  worker,
  range: [String(range.start), String(endOf(range))],
  ...(bits !== undefined && { bits }),
  hits: hits.map(plainItem),
  witnesses: witnesses.map(plainItem),
});

export function readContribution(value: PlainValue): Contribution {
  const { worker, range, bits, hits, witnesses } = read.object(value, 'a contribution');
  const [first, end] = read.list(range, 'range', 2);
  return {
    worker: read.text(worker, 'worker', 200),
    range: between(BigInt(String(first)), BigInt(String(end))),
    bits: bits === undefined ? undefined : read.integer(bits, 'bits', 0, 1000),
    hits: read.list(hits, 'hits', Infinity).map(readItem),
    witnesses: read.list(witnesses, 'witnesses', Infinity).map(readItem),
  };
}

const plainItem = ({ index, fields }: Item): PlainValue => [String(index), fields];

function readItem(value: unknown): Item {
  const [index, fields] = read.list(value, 'hits', 2);
  return { index: BigInt(String(index)), fields: read.object(fields, 'hits') as PlainRecord };
}

const read = fieldReader('the state of a fleet', 'restore a backup of the coordinator');
