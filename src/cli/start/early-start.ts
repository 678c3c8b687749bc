import { existsSync } from 'node:fs';

/** Commands that may open a GPU before their modules are loaded. */
const workloads = ['block', 'words', 'uhash', 'encode', 'gaps'];

/** Commands that open a GPU if none is named. Words into a pipe are made by a CPU. */
const bestDevice: Readonly<Record<string, readonly string[]>> = {
  block: ['solve', 'mine'],
  gaps: ['search', 'mine'],
  uhash: ['prove', 'mine'],
};
/** Commands that open no device. */
const withoutDevice = ['verify', 'inspect'];

/**
 * Returns the number of the NVIDIA GPU that a command line will open, as far as its text says so; undefined if it opens none.
 * A wrong guess costs time only.
 */
export function expectedGpu(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  hasDriver = () => existsSync('/dev/nvidiactl'),
): number | undefined {
  const [command = '', subcommand = ''] = args;
  if (!workloads.includes(command) || withoutDevice.includes(subcommand)) return undefined;
  if (args.includes('--help') || args.includes('-h')) return undefined;
  const at = args.findIndex((arg) => /^--device(=|$)/.test(arg));
  const [, inline] = /^--device=(.*)$/.exec(args[at] ?? '') ?? [];
  const named = (at < 0 ? undefined : (inline ?? args[at + 1])) ?? environment.MILLRACE_DEVICE ?? 'auto';
  for (const name of named.toLowerCase().split(',')) {
    const [, number = '0'] = /^\s*cuda(?::(\d+))?\s*$/.exec(name) ?? [];
    if (name.includes('cuda')) return Number(number);
  }
  const isBest = named.trim().toLowerCase() === 'auto' && bestDevice[command]?.includes(subcommand);
  return isBest && hasDriver() ? 0 : undefined;
}
