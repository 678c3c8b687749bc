// Measures what a page does for a fleet against what the command does, on this machine, one after the other:
//
//   npm run build && node scripts/fleet-browser-rate.mjs [SECONDS]
//
// Each works alone on a job that does not end, for SECONDS (default 20) after a warm-up of 10 s. The kernel is 2,000 rounds of a
// linear congruential generator. Needs nats-server and Chromium; without a GPU its WebGPU is SwiftShader, on the processor.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { root } from './prepare.mjs';

const seconds = Number(process.argv[2] ?? 20);
const WARM_UP_MS = 10_000;
const folder = mkdtempSync(join(tmpdir(), 'millrace-rate-'));
const env = { ...process.env, MILLRACE_HOME: join(folder, 'data') };
const main = join(root, 'dist', 'cli', 'main.js');

const kernel = `import { cell, items, loop, u32, when } from ${JSON.stringify(join(root, 'dist', 'kernel', 'index.js'))};
export default { kernel: items('rounds', { hit: { last: u32 } }, ({ index, emit }) => {
  const x = cell(u32, index.lo);
  loop(2000, () => x.set(x.mul(1664525).add(1013904223)));
  when(x.lt(1), () => emit({ last: x.add(0) }));
}) };
`;

/** @type {import('node:child_process').ChildProcess[]} */
const running = [];

/** Starts a command, and waits until it has said something. @param {RegExp} what @param {string[]} args */
async function start(what, ...args) {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  running.push(child);
  await new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (part) => {
      said += part;
      if (what.test(said)) resolve(undefined);
    });
    child.once('close', (status) => reject(new Error(`${args.join(' ')} ended with ${status}: ${said}`)));
  });
  return child;
}

/** @param {import('node:child_process').ChildProcess} child */
function stop(child) {
  return new Promise((resolve) => {
    child.once('close', resolve);
    child.kill('SIGTERM');
  });
}

/** Indices that are in the ledger. */
function done() {
  const text = execFileSync(process.execPath, [main, 'fleet', 'jobs', '--json'], { env, encoding: 'utf8' });
  const [{ jobs }] = text.split('\n').flatMap((line) => (line.includes('"jobs":[') ? [JSON.parse(line)] : []));
  return Number(jobs[0].done);
}

/** @param {string} name */
async function measure(name) {
  await pause(WARM_UP_MS);
  const [from, begun] = [done(), performance.now()];
  await pause(1000 * seconds);
  const rate = ((done() - from) * 1000) / (performance.now() - begun);
  console.log(`${name.padEnd(28)} ${Math.round(rate).toLocaleString('en')}/s`);
}

writeFileSync(join(folder, 'rounds.mjs'), kernel);
const chromiumPath = execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
const flags = ['--headless', '--no-sandbox', '--enable-unsafe-webgpu', '--enable-features=Vulkan'];
try {
  await start(/on this machine/, 'fleet', 'serve', '--browsers');
  await start(/job/, 'run', 'rounds.mjs', '--space', '2^60', '--fleet');
  const joined = await start(/works for the fleet/, 'fleet', 'join', '--device', 'wasm');
  await measure('fleet join --device wasm');
  await stop(joined);
  for (const device of ['wasm', 'webgpu:0']) {
    const invite = ['fleet', 'invite', '--browser', '--trusted'];
    const link = execFileSync(process.execPath, [main, ...invite], { env, encoding: 'utf8' }).trim();
    const browser = await chromium.launch({ executablePath: chromiumPath, args: flags });
    const page = await browser.newPage();
    await page.goto(link);
    const choice = page.getByRole('combobox', { name: 'Device' });
    await page.locator(`option[value="${device}"]`).waitFor({ state: 'attached' });
    await choice.selectOption(device);
    await page.getByRole('button', { name: 'Start' }).click();
    await measure(`page, ${await choice.locator('option:checked').textContent()}`);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Not working').waitFor();
    await browser.close();
  }
} finally {
  for (const child of running.reverse()) if (child.exitCode === null) await stop(child);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
