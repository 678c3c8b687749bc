/**
 * Shows where the time of one piece of a gap search goes: each launch is timed by itself, after a warm-up.
 *
 *   node test/gaps/rounds.mjs [--device cuda] [--plan '{"width":65536}'] [--shift 32] [--integers 1073741824] [--dist dist]
 *
 * Prints milliseconds per kernel, of the rounds one by one, and the time of the piece without marks between the launches.
 */
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    plan: { type: 'string', default: '{}' },
    shift: { type: 'string', default: '32' },
    integers: { type: 'string' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { openDevice } = await import(`${values.dist}/device/registry.js`);
const { gapFlow } = await import(`${values.dist}/workload/gaps/job/flow.js`);
const { planFor } = await import(`${values.dist}/workload/gaps/kernel/plan.js`);
const { fermatBase } = await import(`${values.dist}/workload/gaps/bench/rate.js`);
const { minGapForTarget } = await import(`${values.dist}/workload/gaps/kernel/reference.js`);

const device = await openDevice(values.device);
const { primes = 900_000, ...options } = JSON.parse(values.plan);
const plan = planFor(device, options);
const start = fermatBase(256 + Number(values.shift));
const numbers = { start, length: 1n << 36n, minGap: minGapForTarget(start, 6244144922783894n), primes };
/** @type {any} */
let work;
const flow = gapFlow(numbers, { ...options, onPiece: (/** @type {any} */ one) => (work = one) });
const open = await flow.open(device);
const stream = device.stream();
/** @type {{ name: string, mark: any }[]} */
let marks = [];
let isTimed = false;
const timed = new Proxy(stream, {
  get: (target, key) => {
    const value = Reflect.get(target, key);
    if (typeof value !== 'function') return value;
    if (key !== 'launch') return value.bind(target);
    return (/** @type {any} */ launch) => {
      target.launch(launch);
      if (isTimed) marks.push({ name: nameOf(launch), mark: target.mark() });
    };
  },
});
const slot = await open.slot(timed);
const count = Number(values.integers ?? plan.window * plan.depth);
const ms = (/** @type {any} */ { startedNs, endedNs }) => Number(endedNs - startedNs) / 1e6;
const run = async (/** @type {number} */ at) => {
  const piece = { start: BigInt(at) * BigInt(count), count };
  marks = [];
  const begun = performance.now();
  const whole = await slot.submit(piece).done;
  const wall = performance.now() - begun;
  slot.reap(piece);
  return { whole: ms(whole), wall };
};
for (const at of [0, 1]) await run(at);
const plain = [];
for (const at of [2, 3, 4]) plain.push(await run(at));
isTimed = true;
await run(5);
/** @type {Map<string, number[]>} */
const byKernel = new Map();
for (const { name, mark } of marks) byKernel.set(name, [...(byKernel.get(name) ?? []), ms(await mark.done)]);
console.log(`${device.info.id}  ${JSON.stringify(plan)}  ${count} integers`);
const { tests, candidates, primes: found } = work;
console.log(`tests ${tests}, ${(count / tests).toFixed(1)} integers a test, candidates ${candidates}, primes ${found}`);
console.log(
  `without marks: ${plain.map(({ whole, wall }) => `${whole.toFixed(2)} (wall ${wall.toFixed(2)})`).join(', ')} ms`,
);
for (const [name, times] of byKernel) {
  const sum = times.reduce((a, b) => a + b, 0);
  console.log(
    `${name.padEnd(18)} ${sum.toFixed(3)} ms in ${times.length}: ${times.map((t) => t.toFixed(3)).join(' ')}`,
  );
}
slot.close();
open.close();
stream.close();
await device.close();

/** @param {any} launch */
function nameOf({ job }) {
  return job.program.kernel?.name ?? job.program.name ?? '?';
}
