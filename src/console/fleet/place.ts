import { MillraceError } from '../../kernel/error.js';
import type { Call } from '../command/action.js';

/** Options of a command that can run on a fleet. */
export interface FleetOptions {
  /** True: the fleet that is served from this machine. */
  readonly fleet?: string | boolean;
  readonly dataDir: string;
}

/** Options that have no meaning on a fleet, by their names in code, and why. */
export type RefusedOptions = Readonly<Record<string, string>>;

/**
 * True if the command runs on a fleet. A flag takes precedence over the environment and the config file: `--device` on the
 * command line runs on this machine although they name a fleet, and what they say of devices does not matter with
 * `--fleet`. Flags that have no meaning on a fleet are refused; `own` are those that only this command has.
 */
export function isOnFleet(call: Pick<Call<FleetOptions>, 'options' | 'sourceOf'>, own: RefusedOptions = {}): boolean {
  const { fleet = false } = call.options;
  if (fleet === false) return false;
  const isFlag = (name: string): boolean => call.sourceOf(name) === 'cli';
  if (!isFlag('fleet') && PLACES.some(isFlag)) return false;
  for (const [name, why] of Object.entries({ ...refused, ...own })) if (isFlag(name)) throw refusal(name, why);
  return true;
}

/** The other options that say where a command runs. */
const PLACES = ['device', 'backend'];

/** Why an option of devices is refused. */
export const OF_A_WORKER = 'each worker has its own: give it to `millrace fleet join`';
const OF_THE_LEDGER = "the job is in the ledger of the fleet's coordinator";

const refused: RefusedOptions = {
  ...Object.fromEntries(
    [
      ...[
        'device',
        'backend',
        'threads',
        'maxCpu',
        'maxMemory',
        'profile',
        'apiTable',
        'maxTemp',
        'maxPower',
        'tuning',
      ],
      ...['pipeline', 'streams', 'slots', 'metrics', 'trace', 'poolMetrics', 'overlap', 'prometheus'],
    ].map((name) => [name, OF_A_WORKER]),
  ),
  dashboard: '`millrace dashboard` shows the command while it runs',
  ledger: OF_THE_LEDGER,
  fresh: `${OF_THE_LEDGER}, and what is done there is not done again`,
  priority: 'jobs of a fleet take turns',
};

function refusal(name: string, why: string): MillraceError {
  const negated = name === 'ledger' || name === 'checked' ? 'no-' : '';
  const flag = `--${negated}${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  return new MillraceError({
    code: 'usage',
    message: `${flag} has no meaning on a fleet: ${why}`,
    asked: `${flag} with --fleet`,
    advice: `leave out ${flag}, or --fleet`,
  });
}
