// What a fleet costs its coordinator: processor time and steps per event of the protocol's machine, bytes per message.
//   node scripts/fleet-cost.mjs [WORKERS…]

import { createHmac } from 'node:crypto';
import { Coordinator, encodeMessage } from '../dist/fleet/protocol/index.js';

/**
 * @typedef {import('../dist/fleet/protocol/index.js').LeaseClaim} LeaseClaim
 * @typedef {import('../dist/fleet/protocol/index.js').GrantMessage} GrantMessage
 * @typedef {import('../dist/fleet/protocol/index.js').CoordinatorEvent} CoordinatorEvent
 * @typedef {import('../dist/fleet/protocol/index.js').ResultMessage} ResultMessage
 * @typedef {import('../dist/fleet/protocol/index.js').BeatMessage} BeatMessage
 * @typedef {import('../dist/fleet/protocol/index.js').WantMessage} WantMessage
 * @typedef {import('../dist/fleet/lease/index.js').LeaseTable} LeaseTable
 */

const EVENTS = 5000;
const job = 'f'.repeat(64);

/** @param {string} worker @param {LeaseClaim} claim */
const digest = (worker, { id, range }) =>
  createHmac('sha256', 'secret').update(`${worker} ${job} ${id} ${range.start} ${range.length}`).digest('base64url');

/** Measures requests, heartbeats and results while `workers` have a lease each. @param {number} workers */
function measure(workers) {
  const tokens = {
    make: digest,
    /** @param {string} worker @param {LeaseClaim} claim @param {string} token */
    isValid: (worker, claim, token) => digest(worker, claim) === token,
  };
  const coordinator = new Coordinator({ term: 1, tokens, now: 0 });
  const space = { start: 0n, length: 1n << 120n };
  coordinator.handle({ kind: 'add', job: { id: job, name: 'kernel', space, mode: 'all' } }, 0);
  /** @type {Map<string, number>} */
  const spent = new Map();
  /** @type {Map<string, number>} */
  const bytes = new Map();
  let now = 0;
  /** @param {Map<string, number>} sums @param {string} kind @param {number} value */
  const add = (sums, kind, value) => sums.set(kind, (sums.get(kind) ?? 0) + value);
  /** @param {CoordinatorEvent} event @param {ResultMessage | BeatMessage | WantMessage} message */
  const run = (event, message) => {
    add(bytes, message.kind, encodeMessage(message).length);
    const start = process.cpuUsage();
    const effects = coordinator.handle(event, now++);
    if (effects.some(({ kind }) => kind === 'commit')) effects.push(...coordinator.handle({ kind: 'committed' }, now));
    const { user, system } = process.cpuUsage(start);
    add(spent, message.kind, user + system);
    const sent = effects.flatMap((effect) => (effect.kind === 'send' ? [effect.message] : []));
    for (const answer of sent) add(bytes, answer.kind, encodeMessage(answer).length);
    return sent;
  };
  /** @param {number} at */
  const name = (at) => `worker${at}-0123456789ab`;
  /** @param {number} at @param {number} request @returns {WantMessage} */
  const want = (at, request) => ({
    kind: 'want',
    worker: name(at),
    request,
    rates: [{ job, perMs: 1000 + (at % 97) }],
  });
  const grants = Array.from({ length: workers }, (_, at) => {
    const [effect] = coordinator.handle({ kind: 'message', message: want(at, 1) }, 0);
    return /** @type {GrantMessage} */ (effect?.kind === 'send' ? effect.message : undefined);
  });
  const table = /** @type {LeaseTable} */ (coordinator.jobs.get(job)?.table);
  const before = table.steps;
  for (let event = 0; event < EVENTS; event++) {
    const at = (event * 7919) % workers;
    const { claim, token } = /** @type {GrantMessage} */ (grants[at]);
    const leases = [{ ...claim, token, left: claim.range.length }];
    /** @type {BeatMessage} */
    const beat = { kind: 'beat', worker: name(at), answered: 1, rates: [{ job, perMs: 1000 }], leases };
    run({ kind: 'message', message: beat }, beat);
    const done = { ranges: [claim.range], hits: [] };
    /** @type {ResultMessage} */
    const result = { kind: 'result', worker: name(at), number: event, claim, token, ...done };
    run({ kind: 'result', receipt: event, result }, result);
    const next = want(at, event + 2);
    grants[at] = /** @type {GrantMessage} */ (run({ kind: 'message', message: next }, next)[0]);
  }
  return { spent, bytes, steps: (table.steps - before) / (3 * EVENTS) };
}

/** @param {Map<string, number>} sums @param {number} digits */
const means = (sums, digits) => [...sums].map(([kind, sum]) => `${kind} ${(sum / EVENTS).toFixed(digits)}`).join(', ');

const given = process.argv.slice(2).map(Number);
for (const workers of given.length > 0 ? given : [1000, 10_000, 100_000]) {
  const { spent, bytes, steps } = measure(workers);
  const mib = process.memoryUsage().heapUsed / 2 ** 20;
  console.log(`${workers} workers: µs ${means(spent, 1)}`);
  console.log(`  bytes ${means(bytes, 0)}; heap ${mib.toFixed(0)} MiB; ${steps.toFixed(0)} steps an event`);
}
