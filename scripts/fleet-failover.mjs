// How long a fleet is without a coordinator when its leader is killed: a server, a leader, a standby, two workers and a command
// that waits for hits, each a process. The killed one is then started again as the standby of the other.
//   node scripts/fleet-failover.mjs [KILLS]
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const kills = Number(process.argv[2] ?? 3);
const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-failover-'));
/** @type {import('node:child_process').ChildProcess[]} */
const all = [];

/** @param {string} home @param {string[]} args */
function start(home, ...args) {
  const env = { ...process.env, MILLRACE_HOME: join(folder, home) };
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  all.push(child);
  return child;
}

/** Resolves with the time at which a process says something. @param {ReturnType<typeof start>} child @param {RegExp} what @returns {Promise<number>} */
const saying = (child, what) =>
  new Promise((resolve, reject) => {
    let said = '';
    /** @param {Buffer} part */
    const look = (part) => {
      said += String(part);
      if (what.test(said)) resolve(performance.now());
    };
    child.stderr?.on('data', look);
    child.stdout?.on('data', look);
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${said.slice(-500)}`)));
  });

/** @param {number[]} values */
const seconds = (values) => values.map((ms) => (ms / 1000).toFixed(1)).join(', ');

async function startServer() {
  const { stdout } = spawnSync(process.execPath, [main, 'fleet', 'config'], {
    env: { ...process.env, MILLRACE_HOME: join(folder, 'a') },
    encoding: 'utf8',
  });
  const place = ['host: 127.0.0.1', 'port: -1', `ports_file_dir: "${folder}"`, `jetstream { store_dir: "${folder}" }`];
  writeFileSync(join(folder, 'server.conf'), `${place.join('\n')}\n${stdout}`);
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  const child = spawn('nats-server', ['-c', join(folder, 'server.conf')], { env, stdio: 'ignore' });
  all.push(child);
  for (;;) {
    const ports = readdirSync(folder).find((name) => name.endsWith('.ports'));
    const url = ports && /"(nats:[^"]+)"/.exec(readFileSync(join(folder, ports), 'utf8'))?.[1];
    if (url) return url;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

try {
  writeFileSync(
    join(folder, 'kernel.mjs'),
    `import { cell, items, loop, u32, when } from '${new URL('../dist/kernel/index.js', import.meta.url).href}';
export default {
  kernel: items('rounds', { hit: { last: u32 } }, ({ index, emit }) => {
    const x = cell(u32, index.lo);
    loop(2000, () => x.set(x.mul(1664525).add(1013904223)));
    when(x.lt(60000), () => emit({ last: x.add(0) }));
  }),
};
`,
  );
  const url = await startServer();
  let [leads, follows] = ['a', 'b'];
  let leader = start(leads, 'fleet', 'serve', '--nats', url);
  await saying(leader, /^fleet /m);
  const copied = spawnSync(process.execPath, [main, 'fleet', 'backup', join(folder, follows)], {
    env: { ...process.env, MILLRACE_HOME: join(folder, leads) },
    encoding: 'utf8',
  });
  if (copied.status !== 0) throw new Error(copied.stderr);
  const invite = join(folder, 'invite');
  writeFileSync(invite, readFileSync(join(folder, leads, 'fleet', 'invite')), { mode: 0o600 });
  for (const name of ['w1', 'w2']) {
    const worker = start(name, 'fleet', 'join', invite, '--device', 'wasm', '--threads', '1', '--name', name);
    await saying(worker, /works for the fleet/);
  }
  const run = start('s', 'run', 'kernel.mjs', '--space', '2^32', '--mode', 'arrival', '--fleet', invite);
  await saying(run, /^ *\d+ /m);
  /** @type {number[]} */
  const taken = [];
  /** @type {number[]} */
  const told = [];
  for (let kill = 0; kill < kills; kill++) {
    const standby = start(follows, 'fleet', 'serve', '--standby', '--nats', url);
    await saying(standby, /follows its leader/);
    await saying(run, /^ *\d+ /m);
    const takesOver = saying(standby, /takes over/);
    const at = performance.now();
    leader.kill('SIGKILL');
    const leadsAt = await takesOver;
    taken.push(leadsAt - at);
    told.push((await saying(run, /^ *\d+ /m)) - at);
    [leads, follows, leader] = [follows, leads, standby];
  }
  console.log(`after a kill: the standby leads ${seconds(taken)} s, the next hit is told ${seconds(told)} s`);
} finally {
  for (const child of all) child.kill('SIGKILL');
  await new Promise((resolve) => setTimeout(resolve, 200));
  if (existsSync(folder)) rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
