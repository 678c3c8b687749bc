import { between, endOf, MAX_INDICES, type Range } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import { type FieldReader, fieldReader } from '../../network/fields.js';
import { decodeValues, encodeValues, type PlainRecord, type PlainValue } from '../manifest/index.js';
import { MAX_BITS } from '../trust/index.js';
import type {
  CoordinatorMessage,
  DeviceReport,
  FoundHit,
  JobRate,
  JobState,
  LeaseClaim,
  LeaseReport,
  ResultMessage,
  RunState,
  WorkerId,
  WorkerMessage,
} from './messages.js';
import { isReadable, type ProtocolVersions, VERSIONS, versionsText } from './versions.js';

/**
 * Messages as bytes: JSON with a version. Readers accept nothing but what writers write: every field has its type and is
 * within its bounds, or the message is refused with the field's name. Fields that are added later are optional, so that
 * releases of one version understand each other. Where versions differ, `encodeMessage` writes the one that is asked for.
 */
export const MAX_MESSAGE_BYTES = 1 << 20;
const MAX_LIST = 10_000;

type AnyMessage = WorkerMessage | ResultMessage | CoordinatorMessage;

export function encodeMessage(message: AnyMessage, version = VERSIONS.current): Uint8Array {
  return new TextEncoder().encode(encodeValues({ version, ...(plainOf(message) as PlainRecord) }));
}

/** Reads a worker's message, which tells the worker's version if it is not the current one. */
export function decodeWorkerMessage(bytes: Uint8Array, versions = VERSIONS): WorkerMessage {
  const opened = open(bytes, versions);
  const message = readWorkerMessage(opened);
  return opened.version === versions.current ? message : { ...message, version: opened.version };
}

function readWorkerMessage({ read, fields, kind }: OpenMessage): WorkerMessage {
  const worker = readName(read, fields.worker, 'worker');
  switch (kind) {
    case 'want': {
      const only = fields.only === undefined ? undefined : { only: readNames(read, fields.only, 'only') };
      const request = readCount(read, fields.request, 'request');
      return { kind, worker, request, rates: readRates(read, fields.rates), ...only };
    }
    case 'beat':
      return {
        kind,
        worker,
        answered: readCount(read, fields.answered, 'answered'),
        rates: readRates(read, fields.rates),
        leases: readList(read, fields.leases, 'leases', (value) => readReport(read, value)),
        ...(fields.devices !== undefined && { devices: readDevices(read, fields.devices) }),
      };
    case 'leave':
      return { kind, worker, reason: read.text(fields.reason, 'reason', MAX_REASON) };
    case 'refuse': {
      const job = readName(read, fields.job, 'job');
      return { kind, worker, job, reason: read.text(fields.reason, 'reason', MAX_REASON) };
    }
    default:
      throw unknownKind(kind);
  }
}

/** Returns the worker that has sent a message of a version that is not read here. Undefined if it is read, or is not a message. */
export function senderOfOtherVersion(bytes: Uint8Array, versions = VERSIONS): WorkerId | undefined {
  try {
    const { version, worker } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Record<string, unknown>>;
    const isOther = Number.isSafeInteger(version) && !isReadable(versions, Number(version));
    return isOther && typeof worker === 'string' && worker.length <= MAX_NAME ? worker : undefined;
  } catch {
    return undefined;
  }
}

export function decodeResult(bytes: Uint8Array, versions = VERSIONS): ResultMessage {
  const { read, fields, kind } = open(bytes, versions);
  if (kind !== 'result') throw unknownKind(kind);
  return {
    kind,
    worker: readName(read, fields.worker, 'worker'),
    number: readCount(read, fields.number, 'number'),
    claim: readClaim(read, read.object(fields.claim, 'claim')),
    token: read.text(fields.token, 'token', MAX_TOKEN),
    ranges: readList(read, fields.ranges, 'ranges', (value) => readRange(read, value, 'ranges')),
    hits: readList(read, fields.hits, 'hits', (value) => readHit(read, value)),
    ...(fields.witnesses !== undefined && {
      witnesses: readList(read, fields.witnesses, 'witnesses', (value) => readHit(read, value)),
    }),
  };
}

export function decodeCoordinatorMessage(bytes: Uint8Array, versions = VERSIONS): CoordinatorMessage {
  const { read, fields, kind } = open(bytes, versions);
  const term = readCount(read, fields.term, 'term');
  const beatMs = (): number => read.positive(fields.beatMs, 'beatMs');
  switch (kind) {
    case 'grant': {
      const request = readCount(read, fields.request, 'request');
      const claim = readClaim(read, read.object(fields.claim, 'claim'));
      const token = read.text(fields.token, 'token', MAX_TOKEN);
      return { kind, term, request, claim, token, ms: read.positive(fields.ms, 'ms'), beatMs: beatMs() };
    }
    case 'none': {
      const request = readCount(read, fields.request, 'request');
      const reason =
        fields.reason === undefined ? undefined : { reason: read.text(fields.reason, 'reason', MAX_REASON) };
      return { kind, term, request, retryMs: read.positive(fields.retryMs, 'retryMs'), beatMs: beatMs(), ...reason };
    }
    case 'state':
      return {
        kind,
        term,
        beatMs: beatMs(),
        jobs: readList(read, fields.jobs, 'jobs', (value) => readState(read, value)),
        lost: readNames(read, fields.lost, 'lost'),
        isDraining: fields.isDraining === true,
      };
    case 'drop':
      return {
        kind,
        term,
        job: readName(read, fields.job, 'job'),
        range: readRange(read, fields.range, 'range'),
      };
    case 'committed':
      return {
        kind,
        term,
        numbers: readList(read, fields.numbers, 'numbers', (value) => readCount(read, value, 'numbers')),
        refused: readList(read, fields.refused, 'refused', (value) => {
          const { number, reason } = read.object(value, 'refused');
          return {
            number: readCount(read, number, 'refused.number'),
            reason: read.text(reason, 'refused.reason', MAX_REASON),
          };
        }),
      };
    case 'job':
      return { kind, term, state: readState(read, fields.state) };
    case 'announce':
      return { kind, term };
    default:
      throw unknownKind(kind);
  }
}

/** Converts ranges and indices to text, which holds 128 bits. Hits keep their values. */
function plainOf(value: unknown): PlainValue {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value as PlainValue;
  if (Array.isArray(value)) return value.map(plainOf);
  if (isRange(value)) return [String(value.start), String(endOf(value))];
  if (isHit(value)) return [String(value.index), value.fields];
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plainOf(field)]));
}

const isRange = (value: object): value is Range => 'start' in value && 'length' in value;
const isHit = (value: object): value is FoundHit => 'index' in value && 'fields' in value;

interface OpenMessage {
  readonly read: FieldReader;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly kind: string;
  readonly version: number;
}

function open(bytes: Uint8Array, versions: ProtocolVersions): OpenMessage {
  if (bytes.length > MAX_MESSAGE_BYTES) throw malformed(`it has more than ${MAX_MESSAGE_BYTES} bytes`);
  const read = fieldReader('a message of the fleet', ADVICE);
  const fields = read.object(decodeValues(new TextDecoder().decode(bytes), malformed), 'the whole');
  const version = read.integer(fields.version, 'version', 1, 2 ** 31);
  if (!isReadable(versions, version))
    throw malformed(`its version is ${version}; this version of Millrace reads ${versionsText(versions)}`);
  return { read, fields, kind: read.text(fields.kind, 'kind', 20), version };
}

const MAX_REASON = 1000;
const MAX_TOKEN = 100;
const MAX_NAME = 200;
/** Of one machine. */
const MAX_DEVICES = 64;

const readName = (read: FieldReader, value: unknown, field: string): string => read.text(value, field, MAX_NAME);

const readCount = (read: FieldReader, value: unknown, field: string): number =>
  read.integer(value, field, 0, Number.MAX_SAFE_INTEGER);

/** A share of 0 would not be positive: devices that were never busy have none. */

const readList = <T>(read: FieldReader, value: unknown, field: string, each: (value: unknown) => T): T[] =>
  read.list(value, field, MAX_LIST).map(each);

const readNames = (read: FieldReader, value: unknown, field: string): string[] =>
  readList(read, value, field, (name) => readName(read, name, field));

function readRange(read: FieldReader, value: unknown, field: string): Range {
  const [first, end] = read.list(value, field, 2);
  const start = read.bigInteger(first, field, 0n, MAX_INDICES);
  return between(start, read.bigInteger(end, field, start, MAX_INDICES));
}

function readClaim(read: FieldReader, { job, id, range, bits }: Readonly<Record<string, unknown>>): LeaseClaim {
  return {
    job: readName(read, job, 'job'),
    id: readName(read, id, 'id'),
    range: readRange(read, range, 'range'),
    ...(bits !== undefined && { bits: read.integer(bits, 'bits', 0, MAX_BITS) }),
  };
}

function readReport(read: FieldReader, value: unknown): LeaseReport {
  const fields = read.object(value, 'leases');
  const token = read.text(fields.token, 'leases.token', MAX_TOKEN);
  return { ...readClaim(read, fields), token, left: read.bigInteger(fields.left, 'leases.left', 0n, MAX_INDICES) };
}

function readRates(read: FieldReader, value: unknown): JobRate[] {
  return readList(read, value, 'rates', (entry) => {
    const { job, perMs } = read.object(entry, 'rates');
    return { job: readName(read, job, 'rates.job'), perMs: read.positive(perMs, 'rates.perMs') };
  });
}

const readDevices = (read: FieldReader, value: unknown): DeviceReport[] =>
  read.list(value, 'devices', MAX_DEVICES).map((entry) => {
    const { id, perSecond, fed } = read.object(entry, 'devices');
    return {
      id: readName(read, id, 'devices.id'),
      perSecond: read.amount(perSecond, 'devices.perSecond', Number.MAX_VALUE),
      ...(fed !== undefined && { fed: read.amount(fed, 'devices.fed', 1) }),
    };
  });

function readState(read: FieldReader, value: unknown): JobState {
  const { job, state, end } = read.object(value, 'state');
  return {
    job: readName(read, job, 'state.job'),
    state: readRunState(read.text(state, 'state.state', 20)),
    end: read.bigInteger(end, 'state.end', 0n, MAX_INDICES),
  };
}

function readRunState(text: string): RunState {
  if (text === 'running' || text === 'paused' || text === 'ended') return text;
  throw malformed(`${JSON.stringify(text)} is not a state of a job`);
}

function readHit(read: FieldReader, value: unknown): FoundHit {
  const [index, fields] = read.list(value, 'hits', 2);
  return {
    index: read.bigInteger(index, 'hits.index', 0n, MAX_INDICES),
    fields: read.object(fields, 'hits.fields') as PlainRecord,
  };
}

const ADVICE = 'use the same version of Millrace on every machine of the fleet';

const unknownKind = (kind: string): MillraceError => malformed(`its kind ${JSON.stringify(kind)} is unknown here`);

const malformed = (message: string, cause?: unknown): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `not a message of the fleet: ${message}`,
    advice: ADVICE,
    ...(cause === undefined ? {} : { cause }),
  });
