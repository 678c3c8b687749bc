import { availableParallelism } from 'node:os';
import { InvalidArgumentError, Option } from 'commander';

/** Options that mean the same in every command. Each is also `MILLRACE_<OPTION>` in the environment; the flag wins. */
export const options = {
  device: () => valued('--device <name>', 'the device to use, by its id').default('auto', 'the best there is'),
  json: () => flag('--json', 'events on stdout, one JSON object a line, the last one "done"'),
  threads: () =>
    valued('--threads <n>', `threads of the native device (default: ${availableParallelism()})`).argParser(
      wholeNumber(1, 1024),
    ),
};

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
