// A fleet's coordinator and workers on a clock that runs faster, in the process of a test or in one of their own.
//   fork('members.mjs'), then send what to start; each answers { kind: 'ready' }
import { join } from 'node:path';
import { InterpreterDevice } from '../../dist/device/interpreter/device.js';
import { Engine } from '../../dist/engine/engine.js';
import { FleetHost } from '../../dist/fleet/coordinator/index.js';
import { Bus } from '../../dist/fleet/nats/index.js';
import { decodeResult, encodeMessage } from '../../dist/fleet/protocol/index.js';
import { WorkerService } from '../../dist/fleet/worker/index.js';
import { openStore } from '../../dist/store/index.js';

/**
 * @typedef {import('../../dist/fleet/clock.js').Clock} Clock
 * @typedef {{ readonly failed: Promise<unknown>, close(): Promise<void> }} Member
 * @typedef {{ readonly kind: 'coordinator', readonly folder: string, readonly url: string, readonly speed: number, readonly isStandby?: boolean, readonly laterSeconds?: number, readonly diesAt?: string }} CoordinatorSpec
 * @typedef {{ readonly kind: 'worker', readonly invite: import('../../dist/fleet/nats/index.js').Invite, readonly speed: number, readonly lies?: number, readonly results?: number }} WorkerSpec
 * @typedef {{ readonly kind: 'ready' | 'failed' | 'said', readonly text: string }} MemberMessage
 */

/** A clock that runs `speed` times as fast. @param {number} speed @returns {Clock} */
const fastClock = (speed) => ({
  now: () => performance.now() * speed,
  after: (ms, run) => {
    const timer = setTimeout(run, ms / speed);
    return () => clearTimeout(timer);
  },
});

/**
 * `laterSeconds`: by its time of day it is so much later. `diesAt`: it is killed when it says this.
 * @param {CoordinatorSpec} spec @param {(text: string) => void} tell @returns {Promise<Member>}
 */
async function startCoordinator({ folder, url, speed, isStandby = false, laterSeconds = 0, diesAt }, tell) {
  const say = (/** @type {string} */ text) => {
    tell(text);
    if (diesAt !== undefined && text.includes(diesAt)) process.kill(process.pid, 'SIGKILL');
  };
  const store = await openStore(folder, { warn: say });
  const clock = fastClock(speed);
  const server = { kind: /** @type {const} */ ('given'), url };
  const standby = isStandby ? new AbortController().signal : undefined;
  const unixSeconds = () => Math.floor(Date.now() / 1000) + laterSeconds;
  const options = { folder: join(folder, 'fleet'), store, server, say, warn: say, clock, unixSeconds, standby };
  const host = await FleetHost.start(options);
  const close = async () => {
    await host.close();
    await store.close();
  };
  return { failed: host.failed, close };
}

/** Sends so many results, with or without their hits, and no others. @param {Bus} bus @param {number} results @param {boolean} hasHits @returns {Bus} */
function limited(bus, results, hasHits) {
  const publish = bus.publish.bind(bus);
  bus.publish = (subject, bytes) => {
    if (subject !== 'result') return publish(subject, bytes);
    const result = decodeResult(bytes);
    if (result.number <= results) publish(subject, hasHits ? bytes : encodeMessage({ ...result, hits: [] }));
  };
  return bus;
}

/** @param {WorkerSpec} spec @param {(text: string) => void} say @returns {Promise<Member>} */
async function startWorker({ invite, speed, lies, results }, say) {
  const connected = await Bus.connect(invite, invite.user);
  const most = lies ?? results;
  const bus = most === undefined ? connected : limited(connected, most, lies === undefined);
  const engine = new Engine([new InterpreterDevice()]);
  const service = new WorkerService({ bus, engine, id: '1', say, warn: say, clock: fastClock(speed) });
  const close = async () => {
    await service.close();
    await engine.close();
    await bus.close();
  };
  return { failed: new Promise(() => undefined), close };
}

/** @param {CoordinatorSpec | WorkerSpec} spec @param {(text: string) => void} say */
export const startMember = (spec, say) =>
  spec.kind === 'coordinator' ? startCoordinator(spec, say) : startWorker(spec, say);

if (process.send && process.argv[2] === 'member') {
  /** @param {MemberMessage} message */
  const tell = (message) => void process.send?.(message);
  process.once('message', async (spec) => {
    const say = (/** @type {string} */ text) => tell({ kind: 'said', text });
    const member = await startMember(/** @type {CoordinatorSpec | WorkerSpec} */ (spec), say);
    tell({ kind: 'ready', text: '' });
    member.failed.catch(async (error) => {
      await member.close();
      process.send?.({ kind: 'failed', text: String(error) }, () => process.exit(1));
    });
  });
  process.once('disconnect', () => process.exit(0));
}
