import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** An event of `--json` or `--events`. Each is checked against the published schema. */
export type Event = Record<string, unknown> & { readonly event: string };

/** All events of a text. Throws if one does not match the schema. */
export function eventsIn(text: string): Event[] {
  const events = linesIn(text);
  const faults = events.flatMap((event) => faultOf(event) ?? []);
  if (faults.length > 0) throw new Error(`not valid by the schema:\n${faults.join('\n')}`);
  return events;
}

/** As above, for a command that has ended: `start` is first and `done` is last, each once. */
export function wholeEventsIn(text: string): Event[] {
  const events = eventsIn(text);
  const names = events.map(({ event }) => event);
  const places = (name: string): number[] => names.flatMap((one, at) => (one === name ? [at] : []));
  if (places('start').join() !== '0' || places('done').join() !== String(names.length - 1)) {
    throw new Error(`expected start first and done last, each once, got ${names.join(', ')}`);
  }
  return events;
}

/** The events after `start`, `done` included. */
export const eventsOf = (text: string): Event[] => wholeEventsIn(text).slice(1);

function linesIn(text: string): Event[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Event);
}

export const schema = JSON.parse(
  readFileSync(new URL('../docs/events.schema.json', import.meta.url), 'utf8'),
) as Schema;

interface Schema {
  readonly $id: string;
  readonly oneOf: readonly { readonly $ref: string }[];
  readonly $defs: Readonly<Record<string, unknown>>;
}

/** Compiled once per process and event: a process that runs many test files evaluates this module for each of them. */
const kept = globalThis as { eventSchemas?: Ajv2020 };

function validatorOf(name: string): ValidateFunction | undefined {
  kept.eventSchemas ??= new Ajv2020({
    allErrors: true,
    strict: true,
    formats: { 'date-time': isTime },
    code: { optimize: false }, // it would take half of the time, for checks of few events
  }).addSchema(schema);
  const ref = `#/$defs/${name}`;
  return schema.oneOf.some(({ $ref }) => $ref === ref) ? kept.eventSchemas.getSchema(`${schema.$id}${ref}`) : undefined;
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text));
}

/** Why an event does not match the schema. */
export function faultOf(event: Event): string | undefined {
  const validate = validatorOf(event.event);
  if (validate?.(event as unknown)) return undefined;
  const why = validate
    ? kept.eventSchemas?.errorsText(validate.errors)
    : `docs/events.schema.json has no event ${event.event}`;
  return `${JSON.stringify(event)}: ${why}`;
}
