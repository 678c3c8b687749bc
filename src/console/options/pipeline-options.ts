import type { Command } from 'commander';
import type { OpenOptions } from '../../device/registry.js';
import { completionOf } from '../../engine/devices.js';
import type { EngineOptions } from '../../engine/engine.js';
import type { Output } from '../output/output.js';
import { options } from './options.js';

/** How a command feeds its devices, as the command line says it. */
export type FeedingOptions = Pick<EngineOptions, 'pipeline' | 'streams' | 'slots'>;

/** Gives a command these options. */
export function withFeedingOptions(command: Command): Command {
  return command.addOption(options.pipeline()).addOption(options.streams()).addOption(options.slots());
}

export interface Feeding {
  /** For the engine. */
  readonly engine: EngineOptions;
  /** For its devices, when they are opened. */
  readonly driver: Required<Pick<OpenOptions, 'completion'>>;
  /** Whether the command line says anything of it. */
  readonly isGiven: boolean;
}

/** `output` is told what a device does not have. */
export function feedingOf({ pipeline, streams, slots }: FeedingOptions, output: Pick<Output, 'warn'>): Feeding {
  const given = {
    ...(pipeline !== undefined && { pipeline }),
    ...(streams !== undefined && { streams }),
    ...(slots !== undefined && { slots }),
  };
  const engine = { ...given, onWarning: (message: string) => output.warn(message) };
  return { engine, driver: { completion: completionOf(pipeline) }, isGiven: Object.keys(given).length > 0 };
}
