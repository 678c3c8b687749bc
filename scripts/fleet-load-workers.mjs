// Workers for `fleet-load.mjs`: many connections in one process, which follows orders and reports times.

import { Bus } from '../dist/fleet/nats/index.js';
import { decodeCoordinatorMessage, encodeMessage, Worker } from '../dist/fleet/protocol/index.js';

/**
 * @typedef {import('../dist/fleet/protocol/index.js').WorkerEvent} WorkerEvent
 * @typedef {import('../dist/fleet/protocol/index.js').CoordinatorMessage} CoordinatorMessage
 * @typedef {import('../dist/fleet/nats/index.js').Invite} Invite
 *
 * @typedef {{ readonly kind: 'connect', readonly invite: Invite, readonly count: number }
 *   | { readonly kind: 'work' | 'begin' | 'report' | 'stop' }
 *   | { readonly kind: 'saturate', readonly job: string }} Order
 *
 * Times in ms: of requests until their lease (until their commit if it saturates), and the moments of cancels.
 * @typedef {{ readonly leases: number[], readonly cancels: number[], beats: number }} Report
 */

const PER_MS = 1000;
const clock = () => performance.timeOrigin + performance.now();
/** @type {Report} */
let report = { leases: [], cancels: [], beats: 0 };
/** @type {{ readonly id: string, readonly bus: Bus, receive: (message: CoordinatorMessage) => void, stop: () => void }[]} */
const workers = [];

/** @param {Invite} invite @param {number} count */
async function connect(invite, count) {
  while (workers.length < count) {
    const some = Math.min(CONNECTING, count - workers.length);
    const buses = await Promise.all(Array.from({ length: some }, () => Bus.connect(invite, 'load')));
    for (const bus of buses) {
      const worker = {
        id: `${bus.user}.load-${process.pid}x${workers.length}`,
        bus,
        receive: (/** @type {CoordinatorMessage} */ _) => {},
        stop: () => {},
      };
      bus.subscribe(`to.${worker.id}`, (bytes) => worker.receive(decodeCoordinatorMessage(bytes)));
      // What it then does would delay the others of this process: real workers have processes of their own.
      bus.subscribe('all', (bytes) => {
        const at = clock();
        setImmediate(() => {
          const message = decodeCoordinatorMessage(bytes);
          if (message.kind === 'job' && message.state.state === 'ended') report.cancels.push(at);
          worker.receive(message);
        });
      });
      workers.push(worker);
    }
  }
}

/** Works as a real worker does, with a device that takes as long as a real one would. @param {typeof workers[number]} worker */
function work(worker) {
  const { bus, id } = worker;
  const core = new Worker({ id, spread: Math.random() });
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  let [askedAt, freeAt, isOver] = [0, 0, false];
  /** @param {WorkerEvent} event */
  const handle = (event) => {
    if (isOver) return;
    if (event.kind === 'message' && event.message.kind === 'grant') report.leases.push(clock() - askedAt);
    for (const effect of core.handle(event, performance.now())) {
      if (effect.kind === 'send') {
        if (effect.message.kind === 'want') askedAt = clock();
        if (effect.message.kind === 'beat') report.beats++;
        bus.publish('from', encodeMessage(effect.message));
      } else if (effect.kind === 'publish') bus.publish('result', encodeMessage(effect.result));
      else if (effect.kind === 'open') setImmediate(() => handle({ kind: 'opened', job: effect.job }));
      else if (effect.kind === 'feed') {
        const { job, range } = effect;
        freeAt = Math.max(freeAt, performance.now()) + Number(range.length) / PER_MS;
        setTimeout(() => handle({ kind: 'done', job, range, hits: [] }), freeAt - performance.now());
      }
    }
    clearTimeout(timer);
    const ms = Math.max(1, Math.min(core.nextTick - performance.now(), 60_000));
    timer = setTimeout(() => handle({ kind: 'tick' }), ms);
  };
  worker.receive = (message) => handle({ kind: 'message', message });
  worker.stop = () => {
    isOver = true;
    clearTimeout(timer);
  };
  handle({ kind: 'tick' });
}

/** Asks, reports the lease as done, and asks again when that is committed. @param {typeof workers[number]} worker @param {string} job */
function saturate(worker, job) {
  const { bus, id } = worker;
  let [request, askedAt] = [1_000_000, 0];
  const want = () => {
    askedAt = clock();
    request++;
    bus.publish(
      'from',
      encodeMessage({ kind: 'want', worker: id, request, rates: [{ job, perMs: PER_MS + (request % 7) }] }),
    );
  };
  worker.receive = (message) => {
    if (message.kind === 'grant' && message.request === request) {
      const { claim, token } = message;
      bus.publish(
        'result',
        encodeMessage({
          kind: 'result',
          worker: id,
          number: request,
          claim,
          token,
          ranges: [claim.range],
          hits: [],
        }),
      );
    } else if (message.kind === 'committed' && message.numbers.includes(request)) {
      report.leases.push(clock() - askedAt);
      want();
    } else if (message.kind === 'none' && message.request === request) want();
  };
  worker.stop = () => {
    worker.receive = () => {};
  };
  want();
}

/** @param {Order} order @returns {Promise<Report | {}>} */
async function follow(order) {
  switch (order.kind) {
    case 'connect':
      await connect(order.invite, order.count);
      return {};
    case 'work':
      for (const worker of workers) work(worker);
      return {};
    case 'saturate':
      for (const worker of workers) saturate(worker, order.job);
      return {};
    case 'begin':
      report = { leases: [], cancels: [], beats: 0 };
      return {};
    case 'report':
      return report;
    default:
      for (const worker of workers) worker.stop();
      return {};
  }
}

const CONNECTING = 4;

process.on('message', async (order) => void process.send?.(await follow(/** @type {Order} */ (order))));
process.on('disconnect', () => process.exit(0));
