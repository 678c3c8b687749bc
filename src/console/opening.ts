import { closeSync, openSync, writeSync } from 'node:fs';
import type { Command } from 'commander';
import type { Device } from '../device/device.js';
import type { OpenOptions } from '../device/registry.js';
import { MillraceError } from '../kernel/error.js';
import { apiTable } from './api-table.js';
import { flag, options, valued } from './options.js';
import type { Output } from './output.js';

/** How a command opens its devices, as the command line says it. */
export interface OpeningOptions {
  readonly threads?: number;
  readonly extraVerbose?: string;
  readonly apiTable?: boolean;
}

/** Gives a command the options above. */
export function withOpeningOptions(command: Command): Command {
  return command
    .addOption(options.threads())
    .addOption(valued('-e, --extra-verbose <file>', 'diagnostics of the devices, a line each'))
    .addOption(flag('--api-table', "the driver's calls and their times, at the end"));
}

export interface Opening {
  readonly options: OpenOptions;
  /** Before the device is closed: what `--api-table` wants to see. */
  tell(device: Device): Promise<void>;
  /** After the last device is closed. */
  end(): void;
}

/** `driver` is what the command itself asks of a GPU's driver. */
export function startOpening(
  given: OpeningOptions,
  output: Output,
  driver: Pick<OpenOptions, 'streams' | 'completion'> = {},
): Opening {
  const { threads, extraVerbose, apiTable: wanted = false } = given;
  const { streams, completion } = driver;
  const diagnostics = extraVerbose === undefined ? undefined : openLog(extraVerbose);
  return {
    options: {
      ...(threads !== undefined && { threads }),
      ...(streams !== undefined && { streams }),
      ...(completion !== undefined && { completion }),
      ...(wanted && { telemetry: true }),
      ...(diagnostics && { log: diagnostics.line }),
    },
    tell: async (device) => {
      if (wanted) await tellCalls(output, device);
    },
    end: () => diagnostics?.close(),
  };
}

async function tellCalls(output: Output, device: Device): Promise<void> {
  const { id } = device.info;
  const telemetry = await device.telemetry?.();
  if (!telemetry) {
    output.say(output.aside.dim(`${id} has no driver whose calls could be told`));
    return;
  }
  output.event('api', { device: id, ...telemetry });
  const { calls, launches, polls, blockingWaits, blockedNs, lostCallbacks } = telemetry;
  output.line(`\n${output.style.bold(id)}  calls of the driver`);
  for (const line of apiTable(calls)) output.line(line);
  const waits = `${blockingWaits} blocking waits (${blockedNs} ns), ${lostCallbacks} lost callbacks`;
  output.line(output.style.dim(`${launches} launches, ${polls} polls, ${waits}`));
}

/** Written at once, line by line: a log is read after a crash, too. */
function openLog(path: string): { line(text: string): void; close(): void } {
  const start = performance.now();
  try {
    const file = openSync(path, 'w');
    return {
      line: (text) => {
        const seconds = ((performance.now() - start) / 1000).toFixed(6).padStart(13);
        writeSync(file, `${seconds}  ${text}\n`);
      },
      close: () => closeSync(file),
    };
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot write ${path}: ${(cause as Error).message}`,
      asked: `diagnostics in ${path}`,
      advice: 'name a file in a folder that you may write to',
      cause,
    });
  }
}
