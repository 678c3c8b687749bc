import { availableParallelism, constants, setPriority } from 'node:os';
import type { Command } from 'commander';
import type { Device } from '../../device/device.js';
import type { OpenOptions } from '../../device/registry.js';
import type { Aim } from '../../engine/index.js';
import { threadsWithin } from '../monitor/limits.js';
import { apiTable } from '../output/api-table.js';
import type { Output } from '../output/output.js';
import { flag, options, type Profile } from './options.js';

/** Options of the command line for opening devices. */
export interface DeviceCommandOptions {
  readonly threads?: number;
  readonly maxCpu?: number;
  readonly maxMemory?: number;
  readonly profile?: Profile;
  readonly apiTable?: boolean;
}

/** Adds these options to a command. */
export function withDeviceOptions(command: Command): Command {
  return command
    .addOption(options.threads())
    .addOption(options.maxCpu())
    .addOption(options.maxMemory())
    .addOption(options.profile())
    .addOption(flag('--api-table', "print the driver's calls and their times at the end"));
}

export interface DeviceSetup {
  readonly options: OpenOptions;
  /** The goal for chunk length. */
  readonly aim: Aim | undefined;
  /** Prints the table of `--api-table`. Must be called before the device is closed. */
  reportApiCalls(device: Device): Promise<void>;
}

/** `driver` holds the command's own requirements for a GPU's driver; `signal` ends the wait for it. */
export function setUpDevices(
  given: DeviceCommandOptions,
  output: Output,
  driver: Pick<OpenOptions, 'streams' | 'completion' | 'signal'> = {},
): DeviceSetup {
  const { maxMemory, profile, apiTable: hasApiTable = false } = given;
  const { streams, completion, signal } = driver;
  const threads = cpuThreads(given);
  if (profile === 'desktop') lowerPriority(output);
  return {
    aim: profile === undefined ? undefined : profile === 'desktop' ? 'interactive' : 'batch',
    options: {
      ...(threads !== undefined && { threads }),
      ...(maxMemory !== undefined && { memory: maxMemory }),
      ...(streams !== undefined && { streams }),
      ...(completion !== undefined && { completion }),
      ...(signal && { signal }),
      ...(hasApiTable && { telemetry: true }),
      ...(output.diagnose && { log: output.diagnose }),
    },
    reportApiCalls: async (device) => {
      if (hasApiTable) await printApiCalls(output, device);
    },
  };
}

/** Returns the thread count of CPU devices: the given one, limited by the share of the processors. */
function cpuThreads({ threads, maxCpu }: DeviceCommandOptions): number | undefined {
  if (maxCpu === undefined || maxCpu >= 1) return threads;
  const within = threadsWithin(maxCpu, availableParallelism());
  return Math.min(threads ?? within, within);
}

/** Lowers the priority of threads started from now on, including those of devices. */
function lowerPriority(output: Output): void {
  try {
    setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    output.explain(`cannot lower the priority: ${(error as Error).message}`);
  }
}

async function printApiCalls(output: Output, device: Device): Promise<void> {
  const { id } = device.info;
  const telemetry = await device.telemetry?.();
  if (!telemetry) {
    output.say(output.stderrStyle.dim(`${id} does not record driver calls`));
    return;
  }
  output.event('api', { device: id, ...telemetry });
  const { calls, launches, polls, blockingWaits, blockedNs, lostCallbacks } = telemetry;
  // Goes to stderr: stdout may carry words or states.
  output.say(`\n${output.stderrStyle.bold(id)}  driver calls`);
  for (const line of apiTable(calls)) output.say(line);
  const waits = `${blockingWaits} blocking waits (${blockedNs} ns), ${lostCallbacks} lost callbacks`;
  output.say(output.stderrStyle.dim(`${launches} launches, ${polls} polls, ${waits}`));
}
