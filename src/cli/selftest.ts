import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit, type ExitCode } from '../console/command/exit.js';
import { host } from '../console/command/host.js';
import { startScratchCache } from '../console/command/scratch-cache.js';
import {
  type DeviceCommandOptions,
  type DeviceSetup,
  setUpDevices,
  withDeviceOptions,
} from '../console/options/device-options.js';
import { options, valueOption, wholeNumberParser } from '../console/options/options.js';
import { count, duration } from '../console/output/format.js';
import type { Output } from '../console/output/output.js';
import { openProgressLine } from '../console/output/progress-line.js';
import { type CaseResult, runConformance, runFuzz } from '../device/conformance/index.js';
import type { Device } from '../device/device.js';
import { listDevices, openDevice } from '../device/registry.js';
import { withTimeout } from '../device/timeout.js';
import { MillraceError } from '../kernel/error.js';

/** `millrace selftest` */
export function selftestCommand(): Command {
  const command = new Command('selftest')
    .description('check every operation of the kernel language on every device against its definition')
    .addOption(options.devices().default(undefined, 'all available devices'))
    .addOption(valueOption('--filter <text>', 'only cases whose name contains this text'))
    .addOption(
      valueOption('--fuzz <seconds>', 'then test random kernels for this long').argParser(
        wholeNumberParser(1, 1_000_000),
      ),
    )
    .addOption(
      valueOption('--seed <n>', 'seed of the first random kernel').argParser(wholeNumberParser(0, 2 ** 32 - 1)),
    )
    .addOption(valueOption('--streams <n>', 'maximum number of streams on a GPU').argParser(wholeNumberParser(1, 1024)))
    .addOption(
      valueOption('--completion <how>', 'how a GPU reports that work is done').choices(['poll', 'callback', 'sync']),
    );
  withDeviceOptions(command).action(action(selftest));
  return withExamples(
    command,
    ['millrace selftest', 'every available device'],
    ['millrace selftest --device cuda:0 --fuzz 600', 'then random kernels for 10 min'],
    ['millrace selftest --filter u32', 'only the cases for u32'],
  );
}

interface SelftestOptions extends TestOptions, DeviceCommandOptions {
  readonly device?: string;
  readonly fuzz?: number;
  readonly seed?: number;
  readonly streams?: number;
  readonly completion?: 'poll' | 'callback' | 'sync';
}

interface TestOptions {
  readonly filter?: string;
  /** Columns before each line. */
  readonly indent?: number;
}

async function selftest({ output, options: settings, signal }: Call<SelftestOptions>): Promise<ExitCode> {
  const names = settings.device?.split(',') ?? (await listDevices()).devices.map(({ id }) => id);
  const setup = setUpDevices(settings, output, settings);
  let failed = 0;
  for (const name of names) {
    failed += await onDevice(name, setup, (device) => testDevice(output, device, settings, signal));
    if (settings.fuzz === undefined) continue;
    const scratch = startScratchCache();
    try {
      failed += await onDevice(name, setup, (device) => fuzz(output, device, settings, signal));
    } finally {
      scratch.end();
    }
  }
  return failed === 0 ? Exit.ok : Exit.selftest;
}

/** How long a device may take to close: one that hangs must not hold the command up. */
const MAX_CLOSE_MS = 10_000;

async function onDevice<R>(name: string, setup: DeviceSetup, work: (device: Device) => Promise<R>): Promise<R> {
  const device = await openDevice(name, setup.options);
  try {
    const result = await work(device);
    await withTimeout(setup.reportApiCalls(device), MAX_CLOSE_MS, () => undefined);
    return result;
  } finally {
    await withTimeout(device.close(), MAX_CLOSE_MS, exitSoon);
  }
}

/** A call that still hangs then would keep its thread, and so the process, alive. */
function exitSoon(): void {
  setTimeout(() => host().exit(Number(host().exitCode ?? 0)), MAX_CLOSE_MS / 10).unref();
}

/** Runs the suite on one device and prints the results; returns the number of failures. */
export async function testDevice(
  output: Output,
  device: Device,
  settings: TestOptions,
  signal: AbortSignal,
): Promise<number> {
  const tally = new CaseTally(output, device.info.id, 'cases', signal, settings.indent);
  await runConformance(device, {
    ...(settings.filter === undefined ? {} : { filter: settings.filter }),
    onResult: (result) => tally.add(result),
  });
  if (tally.passed + tally.failed + tally.skipped === 0) throw noCaseError(settings.filter ?? '');
  tally.end();
  return tally.failed;
}

function noCaseError(filter: string): MillraceError {
  return new MillraceError({
    code: 'usage',
    message: 'no case matches the filter',
    asked: `cases whose name contains ${JSON.stringify(filter)}`,
    advice: 'names are like operations/u32/all constant, control/…, streams/…; `--json` lists them all',
  });
}

/** Tests random kernels. Each kernel has the next seed; a failure names its seed. */
async function fuzz(
  output: Output,
  device: Device,
  { fuzz: seconds = 0, seed = Math.floor(Math.random() * 2 ** 32) }: SelftestOptions,
  signal: AbortSignal,
): Promise<number> {
  const { id } = device.info;
  output.say(output.stderrStyle.dim(`${id}: random kernels from seed ${seed}`));
  output.event('fuzz', { device: id, seed, seconds });
  const tally = new CaseTally(output, id, 'kernels', signal);
  // Most of the time goes to compilers, each on a core.
  const parallelKernels = Math.max(2, availableParallelism());
  await runFuzz(device, { seed, seconds, parallelKernels, onResult: (result) => tally.add(result) });
  tally.end();
  return tally.failed;
}

/** Counts results. Prints failures immediately and a summary at the end, with each skip reason once. */
class CaseTally {
  passed = 0;
  failed = 0;
  readonly #skips = new Map<string, number>();
  readonly #output: Output;
  readonly #device: string;
  readonly #noun: string;
  readonly #signal: AbortSignal;
  readonly #margin: string;
  readonly #progress;
  readonly #start = performance.now();

  constructor(output: Output, device: string, noun: string, signal: AbortSignal, indent = 0) {
    this.#output = output;
    this.#device = device;
    this.#noun = noun;
    this.#signal = signal;
    this.#margin = ' '.repeat(indent);
    this.#progress = openProgressLine(output);
  }

  get skipped(): number {
    return [...this.#skips.values()].reduce((sum, count) => sum + count, 0);
  }

  add(result: CaseResult): void {
    // Thrown through the suite, which is the only way to stop it between two cases.
    this.#signal.throwIfAborted();
    const { name, status, reason = 'no reason given', ms } = result;
    this.#output.event('case', { device: this.#device, name, status, ...(status === 'passed' ? {} : { reason }), ms });
    if (status === 'passed') this.passed += 1;
    if (status === 'skipped') this.#skips.set(reason, (this.#skips.get(reason) ?? 0) + 1);
    if (status === 'failed') {
      this.failed += 1;
      this.#progress.clear();
      this.#line(`${this.#output.style.bad('failed')}  ${this.#device}: ${name}\n  ${reason.replaceAll('\n', '\n  ')}`);
    }
    this.#progress.show(() => `${this.#device}  ${count(this.passed)} passed  ${name}`);
  }

  end(): void {
    this.#progress.clear();
    const { style } = this.#output;
    const { passed, failed, skipped } = this;
    const seconds = (performance.now() - this.#start) / 1000;
    this.#output.event('summary', { device: this.#device, of: this.#noun, passed, failed, skipped, seconds });
    const words = [
      style.good(`${count(passed)} ${this.#noun} passed`),
      failed > 0 ? style.bad(`${count(failed)} failed`) : '0 failed',
      `${count(skipped)} skipped`,
    ];
    this.#line(`${style.bold(this.#device)}  ${words.join(', ')}  ${style.dim(duration(seconds))}`);
    for (const [reason, times] of this.#skips) this.#line(style.dim(`  skipped ${count(times)}: ${reason}`));
  }

  #line(text: string): void {
    this.#output.line(this.#margin + text.replaceAll('\n', `\n${this.#margin}`));
  }
}
