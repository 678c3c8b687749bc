/**
 * Finds published gaps on a device: block 1385452 (also the candidates of its window), 1385457, the first block, the record
 * of 41.9 merits. The test suite does a part of this on every device, and all of it on native.
 *
 *   npm run build && node test/gaps/acceptance.mjs [--device cuda] [--dist dist]
 */
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { openDevice } = await import(`${values.dist}/device/registry.js`);
const { Engine, search } = await import(`${values.dist}/engine/index.js`);
const { candidateFlow } = await import(`${values.dist}/workload/gaps/job/candidates.js`);
const { gapFlow } = await import(`${values.dist}/workload/gaps/job/flow.js`);
const { minGapForTarget } = await import(`${values.dist}/workload/gaps/kernel/reference.js`);
const { searchGaps } = await import(`${values.dist}/workload/gaps/job/search.js`);

const device = await openDevice(values.device);
const engine = new Engine([device]);
let wrong = 0;
console.log(`${device.info.id}  ${device.info.name}`);

/** @param {string} what @param {() => Promise<unknown>} act @param {unknown} expected */
async function check(what, act, expected) {
  const began = performance.now();
  const found = String(await act());
  const isRight = found === String(expected);
  if (!isRight) wrong++;
  const seconds = ((performance.now() - began) / 1000).toFixed(2);
  console.log(`${isRight ? 'correct' : 'WRONG'}  ${what}: ${found}${isRight ? '' : `, not ${expected}`}  ${seconds} s`);
}

/** Returns the offsets at which gaps start. @param {object} numbers @param {bigint} space @param {number} window */
async function gapsIn(numbers, space, window) {
  const found = [];
  for await (const { index } of search(gapFlow(numbers, { window }), { engine, space })) found.push(index);
  return found;
}

const block = 0xd5cada15b5b66983f5c04d8909b8b8f423f14936ecdf02829d6b3e847918d8b8n << 32n;
const numbers = { start: block, length: 1n << 32n, minGap: minGapForTarget(block, 6244144922783894n), primes: 900_000 };
const window = 33_554_432;
await check('1385452: gaps', () => gapsIn(numbers, BigInt(window), window), 20_540_019n);
await check(
  '1385452: candidates and their digest',
  async () => {
    const open = await candidateFlow(numbers, { window, depth: 1 }).open(device);
    const stream = device.stream();
    const slot = await open.slot(stream);
    const piece = { start: 0n, count: window };
    await slot.submit(piece).done;
    const found = Uint32Array.from(slot.reap(piece).offsets);
    slot.close();
    open.close();
    stream.close();
    const inWindow = found.filter((at) => at < window);
    return `${inWindow.length} ${createHash('sha256').update(new Uint8Array(inWindow.buffer)).digest('hex')}`;
  },
  '1144985 66f3149ced3bbc7baefaee3ecc7d0887dcb0febf7d92ce264479c67a3f0ae870',
);
const next = 0x8f20eb9cdb6ac2efee61f2cba1a68e298919804f05e82ac5e67359218b10c39en << 32n;
await check(
  '1385457',
  () => gapsIn({ ...numbers, start: next, minGap: minGapForTarget(next, 6241188427198572n) }, 4_194_304n, 4_194_304),
  3_881_429n,
);
const first = 0xe798f3ae4f57adcf25740fe43100d95ec4fd5d43a1568bc89e2b25df89ff6cb0n << 20n;
await check(
  'the first block',
  () =>
    gapsIn(
      { ...numbers, start: first, length: 1n << 20n, minGap: minGapForTarget(first, 16n << 48n) },
      1n << 20n,
      2 ** 20,
    ),
  1_023_209n,
);
const record = 293703234068022590158723766104419463425709075574811762098588798217895728858676728143227n;
await check(
  'the record of 41.9 merits',
  async () => {
    const request = { start: record - 5000n, length: 20_000n, minGap: 8000, primes: 50_000, window: 2 ** 16 };
    const found = [];
    for await (const { start, end } of searchGaps(request, { engine })) found.push(`${start} to ${end - start} after`);
    return found;
  },
  `${record} to 8350 after`,
);
await engine.close();
await device.close();
console.log(wrong === 0 ? 'all correct' : `${wrong} WRONG`);
process.exitCode = wrong === 0 ? 0 : 1;
