import { Command } from 'commander';
import type { WorkloadBench } from '../bench/case.js';
import { machine, machineLine } from '../bench/machine.js';
import { DEFAULT_RUNS } from '../bench/measure.js';
import { boundText } from '../bench/report.js';
import { isFigure, type NoFigure, runSuite } from '../bench/suite.js';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit, type ExitCode } from '../console/command/exit.js';
import { typedName } from '../console/command/typed-name.js';
import { options } from '../console/options/options.js';
import { count, duration, rate } from '../console/output/format.js';
import type { Output } from '../console/output/output.js';
import type { Device } from '../device/device.js';
import { listDevices, openDevice } from '../device/registry.js';
import { MillraceError } from '../kernel/error.js';
import { Solver } from '../workload/block/job/solve.js';
import { genesis, genesisWindow } from '../workload/block/kernel/genesis.js';
import { headerPrefix, targetFromBits } from '../workload/block/kernel/reference.js';
import { benchedWorkloads } from '../workload/cases.js';
import { figureEvent } from './bench/suite-command.js';
import { deviceTable } from './devices.js';
import { testDevice } from './selftest.js';

/** `millrace tour`, which `npm start` runs: what works on this machine, with figures. */
export function tourCommand(): Command {
  const command = new Command('tour')
    .description('show what works on this machine: devices, a self-test, rates')
    .addOption(options.device())
    .addOption(options.threads())
    .action(action(tour));
  return withExamples(command, ['millrace tour'], ['millrace tour --device wasm']);
}

interface TourOptions {
  readonly device: string;
  readonly threads?: number;
}

async function tour({ output, options: { device: name, threads }, signal }: Call<TourOptions>): Promise<ExitCode> {
  const { style } = output;
  output.line(`${style.bold('Millrace')}: kernels written once in TypeScript, run on every processor you have`);
  output.line(style.dim(machineLine(machine())));

  output.line(`\n${style.bold('devices')}`);
  const found = await listDevices();
  output.event('devices', { ...found });
  for (const line of deviceTable(found, style, { indent: 2 })) output.line(line);

  const device = await openDevice(name, threads === undefined ? {} : { threads });
  try {
    // The whole suite takes a compiler most of a minute at the first run.
    output.line(`\n${style.bold('self-test')}, the cases on u32`);
    const failed = await testDevice(output, device, { indent: 2, filter: 'u32' }, signal);
    await showRates(output, device, benchedWorkloads, signal);
    output.line(`\n${style.bold('next')}`);
    const command = typedName();
    output.line(`  ${command} init                          write your own kernel, then \`${command} run kernel.ts\``);
    output.line(`  ${command} playground                    write kernels in a browser`);
    output.line(`  ${command} selftest                      test every operation on every device`);
    output.line(`  ${command} bench --peers                 compare these figures with other programs`);
    output.line(`  ${command} kernel show block --target c  show the code generated from a kernel`);
    return failed === 0 ? Exit.ok : Exit.selftest;
  } finally {
    await device.close();
  }
}

/** Shows the rate of each workload, with results checked. The first is `block`, whose rate the preceding search needs. */
export async function showRates(
  output: Output,
  device: Device,
  workloads: readonly WorkloadBench[],
  signal: AbortSignal,
): Promise<void> {
  const { style } = output;
  const how = { runs: DEFAULT_RUNS, seconds: RUN_SECONDS, isFull: false };
  const shown = workloads.flatMap(({ cases }) => cases.flatMap(({ isLong, name }) => (isLong ? [] : [name.length])));
  let isFirst = true;
  for await (const one of runSuite(workloads, [device], how)) {
    signal.throwIfAborted();
    figureEvent(output, one);
    if (!isFigure(one) && one.isWrong) throw wrongResultsError(one);
    if (isFirst) {
      await showGenesis(output, device, isFigure(one) ? one.rate.median : 0, signal);
      output.line(`\n${style.bold('five workloads')} on ${device.info.id}, with checked results`);
      isFirst = false;
    }
    const about = `  ${one.workload.padEnd(6)}  ${one.name.padEnd(Math.max(...shown))}`;
    const figureText = isFigure(one)
      ? `${style.good(rate(one.rate.median, one.unit).padStart(13))}  ${style.dim(boundText(one))}`
      : style.dim(one.reason);
    output.line(`${about}  ${figureText}`);
  }
}

/** Shorter than in `bench`: a tour should end within a minute. */
const RUN_SECONDS = 0.15;

const wrongResultsError = ({ name, device, reason }: NoFigure): MillraceError =>
  new MillraceError({
    code: 'device-failed',
    message: reason,
    asked: `${name} on ${device}`,
    advice: `run \`millrace selftest --device ${device}\``,
  });

/**
 * Searches for the genesis block's nonce in a window around it: about a second of work, a few million nonces on a CPU.
 */
async function showGenesis(output: Output, device: Device, perSecond: number, signal: AbortSignal): Promise<void> {
  const { style } = output;
  const { base, count: nonces } = genesisWindow(Math.min(Math.max(Math.floor(perSecond), 2 ** 10), 2 ** 23));
  output.line(`\n${style.bold('the genesis block')}, ${count(nonces)} nonces around the known one`);
  const solver = new Solver(device);
  const start = performance.now();
  const search = {
    prefix: headerPrefix(genesis),
    target: targetFromBits(genesis.bits),
    from: base,
    to: base + nonces,
    signal,
  };
  const solution = await solver.solve(search);
  const seconds = (performance.now() - start) / 1000;
  await solver.close();
  output.event('genesis', { ...solution, seconds });
  if (solution === null) throw new Error('no nonce found for the genesis block in a window that contains it');
  output.line(`  nonce ${style.good(count(solution.nonce))} after ${count(solution.tried)} in ${duration(seconds)}`);
  output.line(`  hash  ${solution.hash}  ${style.dim('checked with node:crypto')}`);
}
