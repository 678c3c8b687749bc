import type { Command } from 'commander';
import type { OpenOptions } from '../../device/registry.js';
import { completionOf } from '../../engine/devices.js';
import type { EngineOptions } from '../../engine/engine.js';
import { formatPrinted, type OnPrint } from '../../engine/flow/prints.js';
import type { Output } from '../output/output.js';
import { options } from './options.js';

/** Options of the command line for feeding devices. */
export type PipelineCommandOptions = Pick<EngineOptions, 'pipeline' | 'streams' | 'slots'>;

/** Adds these options to a command. `usual` describes defaults other than the engine's. */
export function withPipelineOptions(
  command: Command,
  usual: { readonly streams?: string; readonly slots?: string } = {},
): Command {
  return command
    .addOption(options.pipeline())
    .addOption(options.streams(usual.streams))
    .addOption(options.slots(usual.slots));
}

export interface PipelineSetup {
  /** For the engine. */
  readonly engine: EngineOptions;
  /** For opening its devices. */
  readonly driver: Required<Pick<OpenOptions, 'completion'>>;
  /** True if the command line sets any of these options. */
  readonly isSet: boolean;
}

/** `output` receives a warning for each feature that a device lacks, and what kernels print. */
export function pipelineSetup(
  { pipeline, streams, slots }: PipelineCommandOptions,
  output: Pick<Output, 'warn' | 'say' | 'event'>,
): PipelineSetup {
  const given = {
    ...(pipeline !== undefined && { pipeline }),
    ...(streams !== undefined && { streams }),
    ...(slots !== undefined && { slots }),
  };
  const onPrint: OnPrint = (printed) => {
    output.say(formatPrinted(printed));
    output.event('print', { ...printed });
  };
  const engine = { ...given, onWarning: (message: string) => output.warn(message), onPrint };
  return { engine, driver: { completion: completionOf(pipeline) }, isSet: Object.keys(given).length > 0 };
}
