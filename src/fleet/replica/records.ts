import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { between, endOf, type Range } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import { fieldReader } from '../../network/fields.js';
import { type FleetUser, readUser } from '../access/index.js';
import { decodeValues, encodeValues, type PlainRecord, type PlainValue, plainValue } from '../manifest/index.js';
import type { CommitEntry, FoundHit, JobOutcome, StateChange } from '../protocol/index.js';

/**
 * A change of what a fleet must not forget. The leader writes it to the log before it makes it; a standby that makes the same changes
 * in the same order knows what the leader knows.
 */
export type FleetRecord =
  | { readonly kind: 'commit'; readonly entries: readonly CommitEntry[]; readonly changes: readonly StateChange[] }
  /** Of a job that is open already it adds the submitter. */
  | { readonly kind: 'open'; readonly job: string; readonly signed: Uint8Array; readonly submitter?: string }
  | { readonly kind: 'end'; readonly job: string; readonly outcome: JobOutcome }
  /** The same work was submitted in another form. Earlier releases have not written its id in the ledger. */
  | { readonly kind: 'end'; readonly job: string; readonly outcome: 'replaced'; readonly ledgerId?: string }
  /** Ranges of a job that is over, by its id in the ledger, are to be done again when it is submitted again. */
  | { readonly kind: 'reopen'; readonly job: string; readonly ledgerId: string; readonly ranges: readonly Range[] }
  /** Invited or revoked. */
  | { readonly kind: 'user'; readonly user: FleetUser };

export const encodeRecord = (record: FleetRecord): Uint8Array =>
  deflateRawSync(encodeValues({ version: versionOf(record), kind: record.kind, ...fieldsOf(record) }));

/** A standby that does not know that ranges are reopened would take them for done: it has to refuse the record. */
const versionOf = (record: FleetRecord): number =>
  record.kind === 'commit' && record.entries.some(({ reopened }) => reopened !== undefined) ? VERSION : FIRST_VERSION;

function fieldsOf(record: FleetRecord): PlainRecord {
  switch (record.kind) {
    case 'commit':
      return { entries: record.entries.map(plainEntry), changes: plainValue(record.changes) };
    case 'open':
      return {
        job: record.job,
        signed: Buffer.from(record.signed).toString('base64'),
        ...(record.submitter !== undefined && { submitter: record.submitter }),
      };
    case 'end':
      return {
        job: record.job,
        outcome: record.outcome,
        ...(record.outcome === 'replaced' && record.ledgerId !== undefined && { ledgerId: record.ledgerId }),
      };
    case 'reopen':
      return { job: record.job, ledgerId: record.ledgerId, ranges: record.ranges.map(plainRange) };
    case 'user':
      return { user: plainValue(record.user) };
    default:
      return record satisfies never;
  }
}

export function decodeRecord(bytes: Uint8Array): FleetRecord {
  const text = inflateRawSync(bytes).toString('utf8');
  const fields = read.object(decodeValues(text, malformed), 'the whole');
  if (fields.version !== FIRST_VERSION && fields.version !== VERSION)
    throw malformed(`its version is ${String(fields.version)}, expected ${FIRST_VERSION} or ${VERSION}`);
  const job = (): string => read.hex(fields.job, 'job', { min: 32, max: 32 });
  switch (fields.kind) {
    case 'commit':
      return {
        kind: 'commit',
        entries: read.list(fields.entries, 'entries', Infinity).map(readEntry),
        changes: read.list(fields.changes, 'changes', Infinity).map(readChange),
      };
    case 'open':
      return {
        kind: 'open',
        job: job(),
        signed: Buffer.from(read.text(fields.signed, 'signed', 1 << 21), 'base64'),
        ...(fields.submitter !== undefined && { submitter: read.text(fields.submitter, 'submitter', 200) }),
      };
    case 'end': {
      const outcome = read.text(fields.outcome, 'outcome', 20) as JobOutcome | 'replaced';
      if (outcome !== 'replaced') return { kind: 'end', job: job(), outcome };
      const { ledgerId } = fields;
      return {
        ...{ kind: 'end', job: job(), outcome },
        ...(ledgerId !== undefined && { ledgerId: read.text(ledgerId, 'ledgerId', 100) }),
      };
    }
    case 'reopen': {
      const ranges = read.list(fields.ranges, 'ranges', Infinity).map(readRange);
      return { kind: 'reopen', job: job(), ledgerId: read.text(fields.ledgerId, 'ledgerId', 100), ranges };
    }
    case 'user':
      return { kind: 'user', user: readUser(read, fields.user) };
    default:
      throw malformed(`its kind ${JSON.stringify(fields.kind)} is unknown here`);
  }
}

const plainEntry = ({ job, reopened, ranges, hits, early }: CommitEntry): PlainValue => ({
  job,
  ...(reopened && { reopened: reopened.map(plainRange) }),
  ranges: ranges.map(plainRange),
  hits: hits.map(plainHit),
  early: early.map(plainHit),
});

const plainRange = (range: Range): PlainValue => [String(range.start), String(endOf(range))];

const plainHit = ({ index, fields }: FoundHit): PlainValue => [String(index), fields];

function readEntry(value: unknown): CommitEntry {
  const { job, reopened, ranges, hits, early } = read.object(value, 'entries');
  return {
    job: read.text(job, 'job', 64),
    ...(reopened !== undefined && { reopened: read.list(reopened, 'reopened', Infinity).map(readRange) }),
    ranges: read.list(ranges, 'ranges', Infinity).map(readRange),
    hits: read.list(hits, 'hits', Infinity).map(readHit),
    early: read.list(early, 'early', Infinity).map(readHit),
  };
}

function readRange(value: unknown): Range {
  const [first, end] = read.list(value, 'ranges', 2);
  return between(BigInt(String(first)), BigInt(String(end)));
}

function readHit(value: unknown): FoundHit {
  const [index, fields] = read.list(value, 'hits', 2);
  return { index: BigInt(String(index)), fields: read.object(fields, 'hits') as PlainRecord };
}

function readChange(value: unknown): StateChange {
  const { scope, key, value: stored } = read.object(value, 'changes');
  return {
    scope: read.text(scope, 'scope', 64),
    key: read.text(key, 'key', 200),
    value: stored as PlainValue | undefined,
  };
}

const FIRST_VERSION = 1;
/** With ranges that are reopened. */
const VERSION = 2;
const ADVICE = 'use the same version of Millrace for all coordinators of a fleet';
const read = fieldReader("a record of the fleet's log", ADVICE);

const malformed = (message: string): MillraceError =>
  new MillraceError({ code: 'input-format', message: `not a record of the fleet's log: ${message}`, advice: ADVICE });
