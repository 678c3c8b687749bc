// Measures how fast a device mines for a pool, and how fast it switches to a new job:
//
//   node test/cuda/mine.mjs [DEVICE] [SECONDS] [MS BETWEEN JOBS]
//
// Runs the real command with a pool on loopback, which sends clean jobs and recomputes every share.

import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const [device = 'cuda', seconds = '20', betweenMs = '1000'] = process.argv.slice(2);
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const DIFFICULTY = device.startsWith('cuda') ? 0.5 : 0.0005;
const LIMIT = ((0xffffn << 208n) * 2000n) / BigInt(DIFFICULTY * 2000);
const [EXTRANONCE1, BITS, VERSION] = ['f0000001', '1d00ffff', 0x20000000];

/** @param {Uint8Array} bytes */
const sha256 = (bytes) => createHash('sha256').update(bytes).digest();
/** @param {Uint8Array} bytes */
const sha256d = (bytes) => sha256(sha256(bytes));
/** @param {number} value */
const hex32 = (value) => value.toString(16).padStart(8, '0');

/** @type {Map<string, { id: string, previous: Buffer, start: string, end: string, branch: Buffer[], time: number }>} */
const jobs = new Map();
const counts = { valid: 0, stale: 0, wrong: 0 };

const server = createServer((socket) => {
  /** @param {unknown} message */
  const send = (message) => void socket.write(`${JSON.stringify(message)}\n`);
  const job = () => {
    const [id, previous, branch] = [
      randomBytes(4).toString('hex'),
      randomBytes(32),
      [randomBytes(32), randomBytes(32)],
    ];
    const [start, end] = [randomBytes(60).toString('hex'), randomBytes(60).toString('hex')];
    const time = Math.floor(Date.now() / 1000);
    jobs.clear();
    jobs.set(id, { id, previous, start, end, branch, time });
    const words = Buffer.from(previous).swap32().toString('hex');
    const beside = branch.map((one) => one.toString('hex'));
    send({ method: 'mining.notify', params: [id, words, start, end, beside, hex32(VERSION), BITS, hex32(time), true] });
  };
  const timer = setInterval(job, Number(betweenMs));
  socket.on('close', () => clearInterval(timer)).on('error', () => undefined);
  let held = '';
  socket.on('data', (piece) => {
    const lines = (held + piece).split('\n');
    held = lines.pop() ?? '';
    for (const line of lines) {
      const { id, method, params } = JSON.parse(line);
      if (method === 'mining.configure')
        send({ id, result: { 'version-rolling': true, 'version-rolling.mask': '1fffe000' }, error: null });
      else if (method === 'mining.subscribe') send({ id, result: [[], EXTRANONCE1, 4], error: null });
      else if (method === 'mining.submit') send({ id, ...judge(params) });
      else send({ id, result: true, error: null });
      if (method !== 'mining.authorize') continue;
      send({ method: 'mining.set_difficulty', params: [DIFFICULTY] });
      job();
    }
  });
});

/** @param {string[]} share */
function judge([, name = '', extranonce2 = '', time = '', nonce = '', bits = '']) {
  const job = jobs.get(name);
  if (!job) {
    counts.stale += 1;
    return { result: null, error: [21, 'Job not found', null] };
  }
  let root = sha256d(Buffer.from(job.start + EXTRANONCE1 + extranonce2 + job.end, 'hex'));
  for (const one of job.branch) root = sha256d(Buffer.concat([root, one]));
  const header = Buffer.alloc(80);
  header.writeUInt32LE((VERSION | Number.parseInt(bits, 16)) >>> 0, 0);
  header.set(job.previous, 4);
  header.set(root, 36);
  for (const [at, text] of [time, BITS, nonce].entries()) header.writeUInt32LE(Number.parseInt(text, 16), 68 + 4 * at);
  const isValid = BigInt(`0x${sha256d(header).reverse().toString('hex')}`) <= LIMIT;
  counts[isValid ? 'valid' : 'wrong'] += 1;
  return isValid ? { result: true, error: null } : { result: null, error: [23, 'Low difficulty share', null] };
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const args = [main, 'block', 'mine', '--stratum', `127.0.0.1:${port}`, '--user', 'test', '--json'];
  const child = spawn(process.execPath, [...args, '--device', device, '--runtime', `${seconds}s`]);
  child.stderr.pipe(process.stderr);
  let output = '';
  child.stdout.on('data', (part) => {
    output += part;
  });
  child.on('close', () => {
    const events = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const switches = events.flatMap(({ event, switchSeconds }) => (event === 'work' ? [switchSeconds * 1000] : []));
    const sorted = switches.slice(1).sort((a, b) => a - b);
    const { tried = 0, seconds: lasted = 1, ...done } = events.at(-1) ?? {};
    console.log(`${device}: ${(tried / lasted / 1e6).toFixed(1)} MH/s; shares ${JSON.stringify(counts)}`);
    const at = (/** @type {number} */ share) => sorted[Math.floor(share * (sorted.length - 1))]?.toFixed(1);
    console.log(`switches: ${sorted.length}, median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`);
    console.log(JSON.stringify(done));
    process.exit(counts.wrong === 0 && counts.valid > 0 ? 0 : 1);
  });
});
