import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiTable } from '../src/console/output/api-table.js';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { Engine, type FaultSpec, generate, search, type VirtualDevice, virtualDevices } from '../src/engine/index.js';
import { type ChunkRecord, Recorder } from '../src/engine/telemetry/record.js';
import { items, rw, u32, when } from '../src/kernel/index.js';
import { cleanEnvironment, main, millrace } from './command-line.js';
import { eventsOf } from './events.js';
import { readMetrics, sampleValue } from './telemetry/prometheus-text.js';
import { checkTrace } from './telemetry/trace-format.js';
import { byTier, isShort } from './tier.js';
import { zerosFile } from './zeros.js';

let folder = '';
let behind: Device;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-telemetry-'));
  behind = await openDevice('wasm');
});
afterAll(async () => {
  await behind?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the API table', () => {
  const known = JSON.parse(
    readFileSync(new URL('data/telemetry/seed_cuda_api_table.json', import.meta.url), 'utf8'),
  ) as {
    readonly sum_total_ns: number;
    readonly rows: readonly {
      readonly name: string;
      readonly time_pct: number;
      readonly total_ns: number;
      readonly calls: number;
      readonly avg_ns: number;
      readonly med_ns: number;
      readonly min_ns: number;
      readonly max_ns: number;
      readonly stddev_ns: number;
    }[];
  };
  // Reversed: the table sorts the rows itself. It also computes the means and shares.
  const calls = [...known.rows].reverse().map((row) => ({
    name: row.name,
    calls: row.calls,
    totalNs: row.total_ns,
    medianNs: row.med_ns,
    minNs: row.min_ns,
    maxNs: row.max_ns,
    deviationNs: row.stddev_ns,
  }));
  const [heading = '', rule = '', ...lines] = apiTable(calls);

  test('has the columns of nsys', () => {
    expect(heading.trim().split(/ {2,}/)).toEqual([
      'Time (%)',
      'Total Time (ns)',
      'Num Calls',
      'Avg (ns)',
      'Med (ns)',
      'Min (ns)',
      'Max (ns)',
      'StdDev (ns)',
      'Name',
    ]);
    expect(rule).toMatch(/^ -+( {2}-+){8}$/);
  });

  test("has every figure of the seed's 20 rows, in its order", () => {
    const cells = lines.map((line) => line.trim().split(/ {2,}/));
    const whole = (value: number) => value.toLocaleString('en');
    const tenths = (value: number) =>
      value.toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    expect(cells).toHaveLength(20);
    expect(cells).toEqual(
      known.rows.map((row) => [
        row.time_pct.toFixed(1),
        whole(row.total_ns),
        whole(row.calls),
        tenths(row.avg_ns),
        tenths(row.med_ns),
        whole(row.min_ns),
        whole(row.max_ns),
        tenths(row.stddev_ns),
        row.name,
      ]),
    );
    const sum = cells.reduce((total, [, ns = '']) => total + Number(ns.replaceAll(',', '')), 0);
    expect(sum).toBe(known.sum_total_ns);
  });
});

const marked = items('marked', { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
  when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo }));
});
const numbers = items('numbers', { buffers: { rows: rw('u32') } }, ({ item, index, buffers }) => {
  buffers.rows.set(item, index.lo);
});

const virtual = (...faults: FaultSpec[]): VirtualDevice[] => virtualDevices(behind, faults);

describe('records', () => {
  test('each chunk is reported once, when it is final, also if the ring is small', async () => {
    const space = byTier(8000, 100_000);
    const recorder = new Recorder(8);
    const reported: Readonly<ChunkRecord>[] = [];
    recorder.listen((record) => reported.push({ ...record }));
    const engine = new Engine(virtual({ speed: 3e6 }), { records: recorder, streams: 2 });
    let hits = 0;
    for await (const _ of search(marked, { engine, space, job: { every: 11 }, ring: 8 })) hits++;
    await engine.close();
    expect(hits).toBe(Math.ceil((space - 7) / 11));
    expect([...engine.records]).toHaveLength(8);
    expect(reported).toHaveLength(recorder.createdCount);
    expect(recorder.finalizedCount).toBe(recorder.createdCount);
    expect(new Set(reported.map(({ sequence }) => sequence)).size).toBe(reported.length);
    expect(reported.reduce((sum, { counted }) => sum + counted, 0)).toBe(space);
    expect(reported.filter(({ outcome }) => outcome === 'overflow').length).toBeGreaterThan(0);
    for (const record of reported.filter(({ outcome }) => outcome === 'counted')) {
      const { enqueuedNs, startedNs, endedNs, noticedNs, reapedNs, verifiedNs, committedNs } = record;
      const times = [startedNs, endedNs, noticedNs, reapedNs, verifiedNs, committedNs];
      expect(times).toEqual([...times].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
      expect(enqueuedNs <= record.launchedNs && record.launchedNs <= startedNs).toBe(true);
      expect(record.streams).toBeLessThanOrEqual(2);
    }
  });

  test('each chunk ends once, whatever happens to devices', async () => {
    const recorder = new Recorder(64);
    const reported: Readonly<ChunkRecord>[] = [];
    recorder.listen((record) => reported.push({ ...record }));
    const faults = [{ speed: 2e6 }, { speed: 2e6, liesAt: 3 }, { speed: 2e6, disappearsAt: 4 }];
    const engine = new Engine(virtual(...faults), { records: recorder, patience: 0.05 });
    const verify = ({ index }: { readonly index: bigint }) => index % 17n === 7n;
    const canaries = [{ start: 0n, count: 100, hits: [7n, 24n, 41n, 58n, 75n, 92n] }];
    const job = { every: 17 };
    let hits = 0;
    for await (const _ of search(marked, { engine, space: 80_000, job, verify, canaries })) hits++;
    await engine.close();
    expect(hits).toBe(Math.ceil((80_000 - 7) / 17));
    expect(reported.reduce((sum, { counted }) => sum + counted, 0)).toBe(80_000);
    expect(new Set(reported.map(({ sequence }) => sequence)).size).toBe(recorder.createdCount);
    expect(recorder.finalizedCount).toBe(recorder.createdCount);
    expect(reported.every(({ outcome }) => outcome !== undefined)).toBe(true);
    expect(reported.some(({ outcome }) => outcome === 'wrong')).toBe(true);
    expect(reported.some(({ outcome }) => outcome === 'audit')).toBe(true);
  });

  test('a search that ends early still reports every chunk', async () => {
    const recorder = new Recorder(64);
    const engine = new Engine(virtual({ speed: 1e5 }), { records: recorder });
    const found = await search(marked, { engine, space: 1_000_000, job: { every: 40_000 }, mode: 'first' }).first();
    await engine.close();
    expect(found?.index).toBe(7n);
    expect(recorder.finalizedCount).toBe(recorder.createdCount);
  });

  test('a consumer that holds batches starves the device, and the records show it', async () => {
    const [device] = virtual({});
    const engine = new Engine([device!], { streams: 1, slots: 2, records: 1000 });
    const options = { engine, space: 10_000, rowBytes: 4, batchBytes: 4000 };
    for await (const batch of generate(numbers, options)) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      batch.release();
    }
    await engine.close();
    const starved = [...engine.records].filter(({ starvedNs }) => starvedNs > 0n);
    expect(starved.length).toBeGreaterThan(2);
    for (const { free } of starved) expect(free).toBe(0);
    // Each batch is held for 10 ms, so waiting for its slot takes milliseconds.
    expect(starved.some(({ starvedNs }) => starvedNs > 1_000_000n)).toBe(true);
  });

  test('OpenCL separates launches from copies, and times when its commands were enqueued', async (ctx) => {
    const device = await openDevice('opencl', { telemetry: true }).catch((error: Error) => error);
    if (device instanceof Error) return ctx.skip(device.message);
    const engine = new Engine([device], { records: 1000 });
    let hits = 0;
    for await (const _ of search(marked, { engine, space: 50_000, job: { every: 101 } })) hits++;
    await engine.close();
    await device.close();
    expect(hits).toBe(Math.ceil((50_000 - 7) / 101));
    const records = [...engine.records];
    expect(records.length).toBeGreaterThan(0);
    for (const record of records) {
      const { enqueuedNs, launchedNs, startedNs, computeStartedNs, computeEndedNs, endedNs, noticedNs } = record;
      const times = [enqueuedNs, launchedNs, startedNs, computeStartedNs, computeEndedNs, endedNs, noticedNs];
      expect(times).toEqual([...times].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
      expect(computeEndedNs).toBeGreaterThan(computeStartedNs);
    }
  });

  test('engines report how deep their queues are', async () => {
    const engine = new Engine(virtual({ speed: 1e5 }), { streams: 2, slots: 2 });
    const seen: { readonly queueDepth: number; readonly activeStreams: number }[] = [];
    const onProgress = () => seen.push(...engine.devices);
    for await (const _ of search(marked, { engine, space: 20_000, job: { every: 5000 }, onProgress }));
    await engine.close();
    expect(Math.max(...seen.map(({ queueDepth }) => queueDepth))).toBeGreaterThan(1);
    expect(Math.max(...seen.map(({ activeStreams }) => activeStreams))).toBe(2);
    expect(engine.devices[0]).toMatchObject({ queueDepth: 0, activeStreams: 0 });
  });
});

describe('a command with all views', () => {
  const input = fileURLToPath(new URL('data/block/synthetic/easy01.in', import.meta.url));

  test('block solve: chunks add up to the nonces tried, the trace is complete, and all views agree', async () => {
    const args = ['block', 'solve', input, 'nonces.out', '--device', 'native,wasm', '--threads', '1', '--json'];
    const views = ['--metrics', 'm.csv', '--trace', 't.json', '--pool-metrics', '--overlap', '--prometheus', '0'];
    const ran = await millrace([...args, ...views], { cwd: folder });
    expect([ran.status, ran.stderr]).toEqual([0, '']);
    const events = eventsOf(ran.stdout);
    const [header = '', ...rows] = readFileSync(join(folder, 'm.csv'), 'utf8').trimEnd().split('\n');
    const columns = header.split(',');
    const fields = rows.map((row) => Object.fromEntries(row.split(',').map((cell, at) => [columns[at], cell])));
    const sum = (rowsOf: typeof fields) => rowsOf.reduce((total, { chunk_len }) => total + Number(chunk_len), 0);
    for (const { block, tried } of events.filter(({ event }) => event === 'block')) {
      expect(sum(fields.filter((row) => row.block === `block ${block}`))).toBe(tried);
    }
    const done = events.at(-1);
    expect(sum(fields)).toBe(done?.tried);
    const telemetry = events.filter(({ event }) => event === 'telemetry');
    expect(telemetry.map(({ device }) => device)).toEqual(['native', 'wasm']);
    expect(telemetry.reduce((total, { items: counted }) => total + Number(counted), 0)).toBe(done?.tried);
    for (const { chunks, device, depths } of telemetry as unknown as Report[]) {
      expect(chunks.counted).toBe(fields.filter(({ context }) => context?.startsWith(`${device}/`)).length);
      const made = Object.values(chunks).reduce((total, count) => total + count, 0);
      expect(depths.reduce((total, count) => total + count, 0)).toBe(made);
    }
    for (const row of fields) {
      const time = (name: string) => Math.round(Number(row[name]) * 1000);
      expect(time('launch_us') - time('enqueue_us')).toBe(time('queue_us'));
      expect(row.chunk_policy).toMatch(/^(init|double|hold|shrink)$/);
    }
    const { events: traced, about } = checkTrace(readFileSync(join(folder, 't.json'), 'utf8'));
    const commits = traced.filter(({ ph, args: given }) => ph === 'X' && given?.counted !== undefined);
    expect(commits.reduce((total, { args: given }) => total + Number(given?.counted), 0)).toBe(done?.tried);
    expect(about).toMatchObject({ command: 'block solve', unit: 'H' });
    // Work on a device starts no earlier than its chunk was submitted.
    const submits = new Map(traced.filter(({ ph }) => ph === 's').map(({ id, ts }) => [id, ts ?? 0]));
    const starts = traced.filter(({ ph, pid }) => ph === 't' && pid > 1);
    expect(starts.length).toBeGreaterThan(rows.length - 1);
    for (const { id, ts } of starts) expect(ts).toBeGreaterThanOrEqual(submits.get(id) ?? Number.POSITIVE_INFINITY);
  });

  test.skipIf(isShort)('words: chunks add up to all words', async () => {
    const views = ['--metrics', 'words.csv', '--trace', 'words.json'];
    const made = await millrace(['words', '?l?l?l?d', '--device', 'wasm', '--digest', ...views], { cwd: folder });
    expect(made.status).toBe(0);
    const [header = '', ...rows] = readFileSync(join(folder, 'words.csv'), 'utf8').trimEnd().split('\n');
    const length = header.split(',').indexOf('chunk_len');
    expect(rows.reduce((sum, row) => sum + Number(row.split(',')[length]), 0)).toBe(26 ** 3 * 10);
    checkTrace(readFileSync(join(folder, 'words.json'), 'utf8'));
  });

  test('block solve: a summary for people, on stderr', async () => {
    const args = ['block', 'solve', input, 'nonces.out', '--device', 'wasm', '--threads', '1', '--nonces', '0:20000'];
    const env = { MILLRACE_METRICS: 'e.csv', QDP_ENABLE_POOL_METRICS: '1', QDP_ENABLE_OVERLAP_TRACKING: 'True' };
    const ran = await millrace(args, { cwd: folder, env });
    // Two of the five blocks have no nonce in this range.
    expect([ran.status, ran.stdout]).toEqual([1, '']);
    expect(ran.stderr).toMatch(/^wasm {2}.*, busy .* \(fed .* %\), [\d,]+ tried, .*H\/s/m);
    expect(ran.stderr).toMatch(/^wasm {2}slots: \d to \d free, [\d,]+ acquires, \d+ waits?, .* % starved$/m);
    expect(ran.stderr).toContain('wasm  does not time copies and launches separately');
    expect(readFileSync(join(folder, 'e.csv'), 'utf8')).toMatch(/^seq,block,context,/);
  });

  test('a file that cannot be written is reported before anything runs', async () => {
    for (const option of ['--metrics', '--trace']) {
      const args = ['block', 'solve', input, 'never.out', '--device', 'wasm', option, 'no/such/folder/file'];
      const ran = await millrace(args, { cwd: folder });
      expect(ran.status).toBe(74);
      expect(ran.stderr).toContain('cannot write no/such/folder/file');
      expect(ran.stderr).not.toContain('tried');
    }
  });

  test('Prometheus reads figures while a job runs, on the loopback address only', async () => {
    writeFileSync(join(folder, 'job.mjs'), zerosFile(30));
    const args = [
      'run',
      'job.mjs',
      '--device',
      'wasm',
      '--threads',
      '1',
      '--no-ledger',
      '--json',
      '--prometheus',
      ':0',
    ];
    const child = spawn(process.execPath, [main, ...args], { cwd: folder, env: cleanEnvironment() });
    const end = once(child, 'close');
    try {
      let text = '';
      const listening = new Promise<string>((resolve) => {
        child.stdout.setEncoding('utf8').on('data', (part: string) => {
          text += part;
          const url = /"event":"listening","url":"([^"]+)"/.exec(text)?.[1];
          if (url !== undefined) resolve(url);
        });
      });
      const url = await listening;
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
      let counted = 0;
      let read = readMetrics('');
      while (counted === 0) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        const { status, type, body } = await fetched(url);
        expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
        read = readMetrics(body);
        counted = read.has('millrace_items_total') ? sampleValue(read, 'millrace_items_total', { device: 'wasm' }) : 0;
      }
      const chunks = sampleValue(read, 'millrace_chunks_total', { device: 'wasm', outcome: 'counted' });
      expect(chunks).toBeGreaterThan(0);
      expect(sampleValue(read, 'millrace_chunk_seconds_count', { device: 'wasm' })).toBeGreaterThanOrEqual(chunks);
      const fed = sampleValue(read, 'millrace_fed_ratio', { device: 'wasm' });
      expect(fed > 0 && fed <= 1).toBe(true);
      expect(sampleValue(read, 'millrace_queue_depth', { device: 'wasm' })).toBeGreaterThanOrEqual(0);
      expect(sampleValue(read, 'millrace_build_info', { command: 'run zeros' })).toBe(1);
      for (const { name, type } of read.values()) expect(name.endsWith('_total')).toBe(type === 'counter');
      expect((await fetched(url.replace('metrics', 'other'))).status).toBe(404);
      const later = readMetrics((await fetched(url)).body);
      expect(sampleValue(later, 'millrace_items_total')).toBeGreaterThanOrEqual(counted);
    } finally {
      child.kill('SIGINT');
    }
    const [status] = await end;
    expect(status).toBe(2);
  });

  test('a port in use is reported before anything runs', async () => {
    const { createServer } = await import('node:net');
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const args = ['block', 'solve', input, 'never.out', '--device', 'wasm', '--prometheus', String(port)];
    const ran = await millrace(args, { cwd: folder });
    server.close();
    expect(ran.status).toBe(74);
    expect(ran.stderr).toContain(`cannot listen on 127.0.0.1:${port}`);
  });
});

interface Report {
  readonly device: string;
  readonly chunks: Readonly<Record<string, number>>;
  readonly depths: readonly number[];
}

function fetched(url: string): Promise<{ readonly status: number; readonly type: string; readonly body: string }> {
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        body += part;
      });
      const { statusCode: status = 0, headers } = response;
      response.on('end', () => resolve({ status, type: headers['content-type'] ?? '', body }));
    }).on('error', reject);
  });
}
