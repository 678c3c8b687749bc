import { availableParallelism } from 'node:os';
import { InvalidArgumentError, Option } from 'commander';
import { SLOTS_PER_STREAM, STREAMS } from '../engine/slots.js';

/** Options that mean the same in every command. Each is also `MILLRACE_<OPTION>` in the environment; the flag wins. */
export const options = {
  device: () => valued('--device <name>', 'the device to use, by its id').default('auto', 'the best there is'),
  devices: () => valued('--device <list>', 'devices by their ids, as in cuda:0,cpu'),
  json: () => flag('--json', 'events on stdout, one JSON object a line, the last one "done"'),
  threads: () =>
    valued('--threads <n>', `threads of a device on the CPU (default: ${availableParallelism()})`).argParser(
      wholeNumber(1, 1024),
    ),
  pipeline: () =>
    valued('--pipeline <how>', 'how devices are fed; all give the same answers (default: poll)').choices([
      'sync',
      'poll',
      'callback',
      'persistent',
    ]),
  streams: () =>
    valued('--streams <n>', `streams of each device (default: ${STREAMS})`).argParser(wholeNumber(1, MOST_AT_ONCE)),
  slots: () =>
    valued('--slots <n>', `chunks in flight on each stream (default: ${SLOTS_PER_STREAM})`).argParser(
      wholeNumber(1, MOST_AT_ONCE),
    ),
};

const MOST_AT_ONCE = 32;

/** An option with a value, and its variable in the environment. */
export function valued(flags: string, description: string): Option {
  const option = new Option(flags, description);
  return option.env(variable(option));
}

/** A yes-or-no option. Its variable set to nothing, 0, false or no means no. */
export function flag(flags: string, description: string, env: NodeJS.ProcessEnv = process.env): Option {
  const option = new Option(flags, description);
  const name = variable(option);
  return isOff(env[name]) ? option : option.env(name);
}

/** Reads a whole number within bounds. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`A whole number from ${least} to ${most} is needed.`);
    }
    return value;
  };
}

const isOff = (value = ''): boolean => /^(|0|false|no)$/i.test(value);
const variable = (option: Option): string => `MILLRACE_${option.name().toUpperCase().replaceAll('-', '_')}`;
