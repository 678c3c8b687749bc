import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { machine, machineLine } from '../../bench/machine.js';
import { type Candidate, compare, LEAST_RUNS, type Spread, spreadOf } from '../../bench/measure.js';
import { comparisonTable, measurementFields } from '../../bench/report.js';
import { action, type Call } from '../../console/action.js';
import { Exit, type ExitCode } from '../../console/exit.js';
import { duration } from '../../console/format.js';
import { options, valued, wholeNumber } from '../../console/options.js';
import { table } from '../../console/table.js';
import { thisCpu } from '../../device/native/cpu.js';
import { openDevice } from '../../device/registry.js';
import { kernelText } from '../../kernel/index.js';
import { headerScan } from './kernel.js';
import { peers } from './peers.js';
import { rateOf } from './rate.js';

/** `millrace bench block` */
export function blockBench(): Command {
  return new Command('block')
    .description('SHA-256d rate of the block kernel, next to OpenSSL in the same run')
    .addOption(options.device())
    .addOption(options.threads())
    .addOption(
      valued('--runs <n>', `runs that count, ${LEAST_RUNS} or more`)
        .argParser(wholeNumber(LEAST_RUNS, 1000))
        .default(LEAST_RUNS),
    )
    .addOption(options.json())
    .action(action(bench));
}

interface BenchOptions {
  readonly device: string;
  readonly threads?: number;
  readonly runs: number;
}

async function bench({ output, options: { device: name, threads, runs } }: Call<BenchOptions>): Promise<ExitCode> {
  const first = await openDevice(name, threads === undefined ? {} : { threads });
  const opened = [first];
  try {
    // Without --threads a CPU is measured twice: one thread is what compares with OpenSSL, all is what a user gets.
    const both = threads === undefined && ['native', 'wasm'].includes(first.info.kind) && availableParallelism() > 1;
    if (both) opened.unshift(await openDevice(name, { threads: 1 }));
    const host = machine(opened.map((device) => device.info));
    output.event('machine', { ...host });
    output.line(machineLine(host));
    const [translate, compile] = [translation(), await coldCompile(name)];
    const candidates: Candidate[] = [];
    for (const device of opened) candidates.push(await rateOf(device, runs));
    const comparison = await compare([...(await peers(runs)), ...candidates]);
    output.line('\nSHA-256d of a header, per nonce; OpenSSL by the same count of compressions\n');
    for (const line of comparisonTable(comparison)) output.line(line);
    for (const [at, one] of comparison.measurements.entries()) {
      output.event('measurement', { ...measurementFields(one), ratio: comparison.ratios[at] });
    }
    output.event('translation', { first: translate.first, seconds: translate.warm });
    output.event('compile', { seconds: compile, cached: false });
    output.line();
    const rows = [
      [
        'trace, passes, print',
        duration(translate.warm.median),
        `median of ${LEAST_RUNS}; ${duration(translate.first)} the first time`,
      ],
      ['compile', duration(compile), 'into an empty cache'],
    ];
    for (const line of table(rows, { right: [1] })) output.line(line);
    return Exit.ok;
  } finally {
    await Promise.all(opened.map((device) => device.close()));
  }
}

/** Runs before those that count: JavaScript is compiled while it runs. */
const WARM_UP = 3;

/** From TypeScript to C, in seconds: the very first time, and warmed up. */
function translation(): { readonly first: number; readonly warm: Spread } {
  const cpu = thisCpu();
  const seconds = Array.from({ length: WARM_UP + LEAST_RUNS }, () => {
    const start = performance.now();
    kernelText(headerScan({ topWordZero: true }), { target: 'c', cpu });
    return (performance.now() - start) / 1000;
  });
  return { first: seconds[0] ?? 0, warm: spreadOf(seconds.slice(WARM_UP)) };
}

/** Seconds to compile the kernel when no cache holds it. */
async function coldCompile(name: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-cold-'));
  const before = process.env.MILLRACE_CACHE_DIR;
  process.env.MILLRACE_CACHE_DIR = folder;
  try {
    const device = await openDevice(name, {});
    try {
      const { compile } = await device.compile(headerScan({ topWordZero: true }));
      return compile.milliseconds / 1000;
    } finally {
      await device.close();
    }
  } finally {
    if (before === undefined) delete process.env.MILLRACE_CACHE_DIR;
    else process.env.MILLRACE_CACHE_DIR = before;
    await rm(folder, { recursive: true, force: true });
  }
}
