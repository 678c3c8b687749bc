import type { Command, Option } from 'commander';
import { setTuningStore } from '../../engine/tune/tuning-store.js';
import { LedgerTunings } from '../../store/client/tunings.js';
import type { Store } from '../../store/index.js';
import type { Output } from '../output/output.js';
import { options, valueOption } from './options.js';

/** Options of the command line for stored tunings. */
export interface TuningOptions {
  readonly tuning: 'known' | 'off';
  readonly dataDir: string;
}

/** Adds these options to a command. */
export function withTuningOptions(command: Command): Command {
  command.addOption(tuningOption());
  const hasFolder = command.options.some(({ long }) => long === '--data-dir');
  return hasFolder ? command : command.addOption(options.dataDir());
}

/** Version 0.1.0 had a third value, `auto`. Its config files and stored jobs keep working: `auto` means `known`. */
function tuningOption(): Option {
  const option = valueOption('--tuning <how>', 'settings stored by `millrace tune`: known uses them, off ignores them')
    .choices(['known', 'off'])
    .default('known');
  const { parseArg } = option;
  return option.argParser((text, before: unknown) => parseArg?.(text === 'auto' ? 'known' : text, before));
}

/** Must be called before devices are opened. `opened` is the ledger, if the command opens it for its job. */
export function useStoredTunings(
  { tuning, dataDir }: TuningOptions,
  output: Output,
  opened?: Promise<Store | undefined>,
): void {
  const tunings = tuning === 'off' ? undefined : new LedgerTunings(dataDir, { warn: output.warn }, opened);
  setTuningStore(tunings);
  tunings?.load();
}
