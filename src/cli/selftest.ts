import { Command } from 'commander';
import { action, type Call } from '../console/action.js';
import { Exit, type ExitCode } from '../console/exit.js';
import { count, duration } from '../console/format.js';
import { options, valued, wholeNumber } from '../console/options.js';
import type { Output } from '../console/output.js';
import { openProgress } from '../console/progress.js';
import { type CaseResult, runConformance, runFuzz } from '../device/conformance/index.js';
import type { Device } from '../device/device.js';
import { listDevices, openDevice } from '../device/registry.js';

/** `millrace selftest` */
export function selftestCommand(): Command {
  return new Command('selftest')
    .description('every operation of the kernel language on every device, against its definition')
    .addOption(valued('--device <list>', 'devices to test, by id (default: all that are here)'))
    .addOption(options.threads())
    .addOption(valued('--filter <text>', 'only cases whose name holds this text'))
    .addOption(valued('--fuzz <seconds>', 'then random kernels for so long').argParser(wholeNumber(1, 1_000_000)))
    .addOption(valued('--seed <n>', 'where the random kernels begin').argParser(wholeNumber(0, 2 ** 32 - 1)))
    .addOption(options.json())
    .action(action(selftest));
}

interface SelftestOptions extends TestOptions {
  readonly device?: string;
  readonly threads?: number;
}

interface TestOptions {
  readonly filter?: string;
  readonly fuzz?: number;
  readonly seed?: number;
  /** Columns before each line. */
  readonly indent?: number;
}

async function selftest({ output, options: given, signal }: Call<SelftestOptions>): Promise<ExitCode> {
  const names = given.device?.split(',') ?? (await listDevices()).devices.map(({ id }) => id);
  let failed = 0;
  for (const name of names) {
    const device = await openDevice(name, given.threads === undefined ? {} : { threads: given.threads });
    try {
      failed += await testDevice(output, device, given, signal);
    } finally {
      await device.close();
    }
  }
  return failed === 0 ? Exit.ok : Exit.selftest;
}

/** Runs the suite on one device and tells how it went; gives the number of failures. */
export async function testDevice(
  output: Output,
  device: Device,
  given: TestOptions,
  signal: AbortSignal,
): Promise<number> {
  const { id } = device.info;
  const conformance = new Tally(output, id, 'cases', signal, given.indent);
  await runConformance(device, {
    ...(given.filter === undefined ? {} : { filter: given.filter }),
    onResult: (result) => conformance.add(result),
  });
  conformance.end();
  if (given.fuzz === undefined) return conformance.failed;
  const seed = given.seed ?? Math.floor(Math.random() * 2 ** 32);
  output.say(output.aside.dim(`random kernels from seed ${seed}`));
  output.event('fuzz', { device: id, seed, seconds: given.fuzz });
  const fuzz = new Tally(output, id, 'kernels', signal, given.indent);
  await runFuzz(device, { seed, seconds: given.fuzz, onResult: (result) => fuzz.add(result) });
  fuzz.end();
  return conformance.failed + fuzz.failed;
}

/** Counts results, tells failures at once and the rest at the end: each reason of a skip once. */
class Tally {
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
    this.#progress = openProgress(process.stderr, !output.json);
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
    const skipped = [...this.#skips.values()].reduce((sum, one) => sum + one, 0);
    const { passed, failed } = this;
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
