import { type ErrorCode, MillraceError } from '../kernel/error.js';
import { fieldReader } from '../network/fields.js';
import { decodeValues, encodeValues, type PlainRecord } from './manifest/index.js';
import type { Caller } from './nats/index.js';

/**
 * Requests with an answer: from submitters and workers to the coordinator. An answer is a record, or an error with its code.
 */
export interface FleetCall {
  readonly call: CallName;
  readonly fields: PlainRecord;
  /** The same each time the call is sent. Only of calls that are carried out once. */
  readonly id?: string;
}

export type CallName = (typeof CALLS_OF.admin)[number];

const VIEWS = ['overview', 'workers', 'coverage', 'provenance'] as const;
const SUBMITS = ['submit', 'attach', 'start', 'poll', 'check', 'control'] as const;

/** The calls that each role may make. */
const CALLS_OF = {
  worker: ['fetch', 'about'],
  submitter: [...SUBMITS, ...VIEWS],
  viewer: VIEWS,
  admin: [...SUBMITS, ...VIEWS, 'fetch', 'about', 'drain', 'priority', 'invite', 'revoke', 'recheck'],
} as const;

const CALLS: readonly CallName[] = CALLS_OF.admin;

/** Calls that may not be carried out again if only their answer was lost. All others may. */
const ONCE: readonly CallName[] = ['invite', 'revoke', 'recheck'];

/** Bytes of an attachment in one call. In base64 they fit NATS's limit of 1 MiB. */
export const PIECE_BYTES = 512 << 10;

export function encodeCall(call: CallName, fields: PlainRecord): Uint8Array {
  const id = ONCE.includes(call) ? { id: crypto.randomUUID() } : {};
  return new TextEncoder().encode(encodeValues({ version: 1, call, ...id, fields }));
}

export function decodeCall(bytes: Uint8Array): FleetCall {
  const read = fieldReader('a call of the fleet', ADVICE);
  const value = read.object(decodeValues(new TextDecoder().decode(bytes), malformed), 'the whole');
  read.integer(value.version, 'version', 1, 1);
  const name = read.text(value.call, 'call', 20);
  const call = CALLS.find((known) => known === name);
  if (call === undefined) throw malformed(`its call ${JSON.stringify(name)} is unknown here`);
  const fields = read.object(value.fields, 'fields') as PlainRecord;
  return value.id === undefined ? { call, fields } : { call, fields, id: read.text(value.id, 'id', 40) };
}

/** Throws `usage` if a user's role does not allow a call. */
export function checkAllowed(call: CallName, { user, role }: Caller): void {
  const allowed: readonly CallName[] = CALLS_OF[role];
  if (allowed.includes(call)) return;
  throw new MillraceError({
    code: 'usage',
    message: `${user} is a ${role} of this fleet, which may not ${call}`,
    asked: `the call ${call}`,
    advice: 'ask the person who runs the coordinator for an invite with another role',
  });
}

export const encodeAnswer = (fields: PlainRecord): Uint8Array => new TextEncoder().encode(encodeValues({ fields }));

export function encodeError(error: unknown): Uint8Array {
  const { code, summary, asked, advice } =
    error instanceof MillraceError
      ? error
      : { code: 'io' as ErrorCode, summary: String(error), asked: undefined, advice: undefined };
  const fields = {
    code,
    message: summary,
    ...(asked !== undefined && { asked }),
    ...(advice !== undefined && { advice }),
  };
  return new TextEncoder().encode(encodeValues({ error: fields }));
}

/** Returns the answer's fields. Throws the error that the coordinator has sent. */
export function decodeAnswer(bytes: Uint8Array): PlainRecord {
  const read = fieldReader('an answer of the fleet', ADVICE);
  const value = read.object(decodeValues(new TextDecoder().decode(bytes), malformed), 'the whole');
  if (value.error === undefined) return read.object(value.fields, 'fields') as PlainRecord;
  const { code, message, asked, advice } = read.object(value.error, 'error');
  throw new MillraceError({
    code: read.text(code, 'error.code', 40) as ErrorCode,
    message: read.text(message, 'error.message', MAX_TEXT),
    ...(asked !== undefined && { asked: read.text(asked, 'error.asked', MAX_TEXT) }),
    ...(advice !== undefined && { advice: read.text(advice, 'error.advice', MAX_TEXT) }),
  });
}

const MAX_TEXT = 10_000;
const ADVICE = 'use the same version of Millrace on every machine of the fleet';

const malformed = (message: string, cause?: unknown): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `not a call of the fleet: ${message}`,
    advice: ADVICE,
    ...(cause === undefined ? {} : { cause }),
  });
