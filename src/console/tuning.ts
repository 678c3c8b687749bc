import type { Command } from 'commander';
import { nameOf } from '../engine/tune.js';
import { keepTuningsOn } from '../engine/tune-known.js';
import { tuneWhileWorking } from '../engine/tune-live.js';
import { LedgerTunings } from '../store/tunings.js';
import { percent } from './format.js';
import { options, valued } from './options.js';
import type { Output } from './output.js';

/** What a command does about tuning, as the command line says it. */
export interface TuningOptions {
  readonly tuning: Tuned;
  readonly dataDir: string;
}

/** Uses what is known and finds out while it works; uses what is known; nothing of it. */
const tunings = ['auto', 'known', 'off'] as const;
type Tuned = (typeof tunings)[number];

/** Gives a command these options. One that only measures does not tune itself: its default is `known`. */
export function withTuningOptions(command: Command, usual: Tuned = 'auto'): Command {
  const choices = usual === 'auto' ? tunings : tunings.filter((one) => one !== 'auto');
  const says = 'settings that `millrace tune` found, or that are found while a long job runs';
  command.addOption(valued('--tuning <how>', says).choices(choices).default(usual));
  const hasFolder = command.options.some(({ long }) => long === '--data-dir');
  return hasFolder ? command : command.addOption(options.dataDir());
}

/** Before the first job comes to a device. */
export function startTuning({ tuning, dataDir }: TuningOptions, output: Output): void {
  keepTuningsOn(tuning === 'off' ? undefined : new LedgerTunings(dataDir, { warn: output.warn }));
  if (tuning !== 'auto') return;
  tuneWhileWorking({
    tuned: ({ info }, workload, { setting, gain }) => {
      output.event('tuned', { device: info.id, workload, setting, gain });
      const by = gain > 1 ? `, ${percent(gain - 1)} faster` : '';
      output.explain(`tuned ${workload} for ${info.id}: ${nameOf(setting)}${by}`);
    },
    failed: ({ info }, workload, error) => {
      const [why = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
      output.warn(`${workload} was not tuned for ${info.id}: ${why}`);
    },
  });
}
