import { availableParallelism } from 'node:os';
import { InvalidArgumentError, Option } from 'commander';
import { SLOTS_PER_STREAM, STREAMS } from '../../engine/feed/slots.js';
import { dataDirectory, tilde } from '../command/paths.js';
import { levels } from './level.js';
import { amountParser, parseBytes, parseSeconds, parseShare } from './quantity.js';

/** Options that mean the same in every command. Each is also `MILLRACE_<OPTION>` in the environment, and in a config file. */
export const options = {
  device: () => valueOption('--device <name>', 'id of the device to use').default('auto', 'the best available'),
  devices: () => valueOption('--device <list>', 'ids of the devices to use, as in cuda:0,cpu'),
  fleet: () =>
    valueOption('--fleet [invite]', 'run on a fleet (default: the one that is served from this machine)').argParser(
      parseFleet,
    ),
  json: () => flag('--json', 'write events to stdout, one JSON object per line; the last one is "done"'),
  threads: () =>
    valueOption('--threads <n>', `threads of a CPU device (default: ${availableParallelism()})`).argParser(
      wholeNumberParser(1, 1024),
    ),
  pipeline: () =>
    valueOption('--pipeline <how>', 'how devices are fed; results are the same')
      .choices(['sync', 'poll', 'callback', 'persistent'])
      .default(undefined, 'poll'),
  streams: (usual: string = `${STREAMS}`) =>
    valueOption('--streams <n>', `streams of each device (default: ${usual})`).argParser(
      wholeNumberParser(1, MAX_CONCURRENT),
    ),
  slots: (usual: string = `${SLOTS_PER_STREAM}`) =>
    valueOption('--slots <n>', `chunks in flight on each stream (default: ${usual})`).argParser(
      wholeNumberParser(1, MAX_CONCURRENT),
    ),
  profile: () =>
    valueOption('--profile <name>', 'desktop: short chunks and a low priority, for a machine in use').choices(profiles),
  dataDir: () => {
    // Both variables count as environment, which takes precedence over a config file.
    const variable = process.env.MILLRACE_DATA_DIR === undefined ? 'MILLRACE_HOME' : 'MILLRACE_DATA_DIR';
    const option = new Option('--data-dir <dir>', 'folder that stores jobs, their progress and their hits').env(
      variable,
    );
    return option.default(dataDirectory(), tilde(dataDirectory()));
  },
  events: () => valueOption('--events <file>', 'write the events of --json to a file'),
  log: () => valueOption('--log <level>', 'how much is written to stderr').choices(levels).default('info'),
  extraVerbose: () =>
    valueOption('-e, --extra-verbose [file]', 'write diagnostics to a file, or to `tests` if none is named').preset(
      'tests',
    ),
  config: () => valueOption('--config <file>', 'read settings from this file, not from ~/.config/millrace/config.json'),
  runtime: () =>
    valueOption(
      '--runtime <time>',
      'stop at a checkpoint after a time, as in 90s, 10m, 1h30m (exit status 4)',
    ).argParser(parseSeconds),
  maxMemory: () =>
    valueOption('--max-memory <size>', 'maximum memory to use on each device, as in 512M or 4G').argParser(parseBytes),
  maxTemp: () =>
    valueOption('--max-temp <celsius>', 'pause a device that reaches this temperature until it has cooled').argParser(
      amountParser('°?C'),
    ),
  maxPower: () =>
    valueOption('--max-power <watts>', 'pause a device that draws more power').argParser(amountParser('W')),
  maxCpu: () =>
    valueOption('--max-cpu <percent>', 'maximum share of the processors that CPU devices use').argParser(parseShare),
  status: () =>
    valueOption('--status <time>', 'time between status lines if stderr is not a terminal (default: 60s)').argParser(
      parseSeconds,
    ),
};

const profiles = ['batch', 'desktop'] as const;
export type Profile = (typeof profiles)[number];

const MAX_CONCURRENT = 32;

/** An option with a value, and its variable in the environment. */
export function valueOption(flags: string, description: string): Option {
  const option = new Option(flags, description);
  return option.env(variableName(option));
}

/** A boolean option. An empty variable, 0, false or no turns it off. */
export function flag(flags: string, description: string, env: NodeJS.ProcessEnv = process.env): Option {
  const option = new Option(flags, description);
  const name = variableName(option);
  return isOff(env[name]) ? option : option.env(name);
}

/** Returns a parser for a whole number within bounds. */
export function wholeNumberParser(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** `1`, `true` and `yes` are the fleet of this machine: a variable always has a value. */
export const parseFleet = (text: string): string | boolean =>
  isOff(text) ? false : /^(1|true|yes)$/i.test(text.trim()) ? true : text;

const isOff = (value = ''): boolean => /^(|0|false|no)$/i.test(value);
const variableName = (option: Option): string => `MILLRACE_${option.name().toUpperCase().replaceAll('-', '_')}`;
