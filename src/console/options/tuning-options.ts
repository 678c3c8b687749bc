import type { Command } from 'commander';
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
  command.addOption(
    valueOption('--tuning <how>', 'settings that `millrace tune` has kept: use them, or not')
      .choices(['known', 'off'])
      .default('known'),
  );
  const hasFolder = command.options.some(({ long }) => long === '--data-dir');
  return hasFolder ? command : command.addOption(options.dataDir());
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
