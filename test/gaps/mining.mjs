/**
 * Mines Gapcoin on the devices of a machine, for a pool on loopback that sends new blocks at an interval. Measures how long
 * devices take to leave the old work and start the new, and integers per second with and without new blocks.
 *
 *   node test/gaps/mining.mjs [--device cuda] [--shift 25,32,40] [--blocks 20] [--every 500] [--steady 10] [--dist dist]
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    shift: { type: 'string', default: '25,32,40' },
    blocks: { type: 'string', default: '20' },
    every: { type: 'string', default: '500' },
    steady: { type: 'string', default: '10' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { openDevices } = await import(`${values.dist}/device/registry.js`);
const { Engine } = await import(`${values.dist}/engine/index.js`);
const { parseEndpoint, LINE_SCHEMES } = await import(`${values.dist}/network/endpoint.js`);
const { Miner } = await import(`${values.dist}/workload/mining/miner.js`);
const { PoolSource } = await import(`${values.dist}/workload/mining/server/pools.js`);
const { GapVerifier } = await import(`${values.dist}/workload/gaps/job/verifier.js`);
const { plantOnce, scanWork } = await import(`${values.dist}/workload/gaps/mining/scan-work.js`);
const { gapStratumOpener } = await import(`${values.dist}/workload/gaps/mining/stratum.js`);

/** A share in about 3 · 10^9 integers; a block is out of reach. */
const SHARE = 4503599627370496n;
const BLOCK = 9007199254740993n;

/** @type {Set<import('node:net').Socket>} */
const sockets = new Set();
let count = 0;
const newJob = () => {
  const data = Buffer.alloc(80);
  data.writeUInt32LE(2, 0);
  data.set(createHash('sha256').update(`${process.pid} ${++count}`).digest(), 4);
  data.set(createHash('sha256').update(`root ${count}`).digest(), 36);
  data.writeUInt32LE(Math.floor(Date.now() / 1000), 68);
  data.writeBigUInt64LE(BLOCK, 72);
  return `{"data":"${data.toString('hex')}","difficulty":${SHARE}}`;
};
const server = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  socket.on('data', (piece) => {
    for (const line of piece.toString().split('\n').filter(Boolean)) {
      const { id, method } = JSON.parse(line);
      socket.write(`{"id":${id},"result":${method === 'mining.request' ? newJob() : true},"error":null}\n`);
    }
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const wait = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

for (const shift of values.shift.split(',').map(Number)) {
  const devices = await openDevices(values.device, {});
  const engine = new Engine(devices, {});
  const verifier = new GapVerifier();
  const plant = plantOnce(verifier);
  const stop = new AbortController();
  const endpoint = parseEndpoint(`127.0.0.1:${port}`, LINE_SCHEMES);
  const source = new PoolSource({ pools: [{ endpoint, user: 'a', password: 'x' }] }, gapStratumOpener('measure'));
  /** @type {number[]} */
  const switches = [];
  /** For each switch: when it was sent, the time until the old work ended, and until the new one started. */
  let sent = 0;
  /** @type {number[]} */
  const ends = [];
  /** @type {number[]} */
  const begins = [];
  /** @type {() => void} */
  let switched = () => undefined;
  const miner = new Miner(
    source,
    async function* (/** @type {any} */ work, /** @type {any} */ options) {
      const onStart = () => {
        begins.push(performance.now() - sent);
        options.onStart?.();
      };
      try {
        yield* scanWork({ engine, verifier, plant, shift }, work, { ...options, onStart });
      } finally {
        ends.push(performance.now() - sent);
      }
    },
    {
      signal: stop.signal,
      onSwitch: (/** @type {any} */ _work, /** @type {boolean} */ _isClean, /** @type {number} */ ms) => {
        switches.push(ms);
        switched();
      },
    },
  );
  const running = miner.run();
  const next = () => new Promise((resolve) => (switched = () => resolve(undefined)));
  await next();
  // The first work has compiled everything.
  await wait(2000);
  const rate = async (/** @type {() => Promise<unknown>} */ during) => {
    const [start, before] = [performance.now(), miner.tally.tries];
    await during();
    return (Number(miner.tally.tries - before) / (performance.now() - start)) * 1000;
  };
  const steady = await rate(() => wait(Number(values.steady) * 1000));
  for (const list of [switches, ends, begins]) list.length = 0;
  const disturbed = await rate(async () => {
    for (let n = 0; n < Number(values.blocks); n++) {
      const begun = next();
      sent = performance.now();
      for (const socket of sockets) socket.write(`{"id":null,"method":"blockchain.block.new","params":${newJob()}}\n`);
      await begun;
      await wait(Number(values.every));
    }
  });
  const at = (/** @type {number[]} */ list, /** @type {number} */ share) =>
    (list.toSorted((a, b) => a - b)[Math.floor(share * (list.length - 1))] ?? 0).toFixed(1);
  const shown = [switches, ends, begins].map((list) => `${at(list, 0.5)}, ${at(list, 0.9)}, ${at(list, 1)}`);
  stop.abort();
  await running;
  const { accepted, rejected, stale, lost } = miner.tally.counts;
  const wrong = engine.devices.reduce(
    (/** @type {number} */ sum, /** @type {any} */ { wrong, missed }) => sum + wrong + missed,
    0,
  );
  console.log(
    `${values.device} shift ${shift}: ${steady.toExponential(2)} int/s, with a block every ${values.every} ms ${disturbed.toExponential(2)}; switch ms (median, 90 %, max): ${shown[0]}; old work ended ${shown[1]}, new started ${shown[2]}; shares ${accepted}, not accepted ${rejected + stale + lost}, wrong ${wrong}`,
  );
  await engine.close();
  verifier.close();
  await Promise.all(devices.map((/** @type {any} */ device) => device.close()));
}
for (const socket of sockets) socket.destroy();
server.close();
