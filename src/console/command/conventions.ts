import type { Command, Option } from 'commander';
import { options } from '../options/options.js';

/** Gives every command what all of them have: the options of their output, help, and where its rules are told. */
export function conform(root: Command): void {
  everyCommand(root, (command) => {
    command.helpOption('-h, --help', 'this help').helpCommand(false);
    // That every option is a variable is told once, not with each.
    command.configureHelp({ ...command.configureHelp(), optionDescription: describe });
    if (command.commands.length > 0) return;
    for (const make of common) add(command, make());
  });
}

const common: readonly (() => Option)[] = [
  options.json,
  options.events,
  options.log,
  options.extraVerbose,
  options.config,
];

function describe({ description, argChoices, defaultValue, defaultValueDescription }: Option): string {
  const known = defaultValueDescription ?? (defaultValue === undefined ? undefined : String(defaultValue));
  const more = [
    ...(argChoices ? [argChoices.join(', ')] : []),
    ...(known === undefined || typeof defaultValue === 'boolean' ? [] : [`default: ${known}`]),
  ];
  return more.length === 0 ? description : `${description} (${more.join('; ')})`;
}

/** Unless the command has said something of its own about it. */
function add(command: Command, option: Option): void {
  const own = command.options.find(({ long }) => long === option.long);
  if (own === undefined) command.addOption(option);
  (own ?? option).helpGroup('Options of every command:');
}

export function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) everyCommand(child, visit);
}

/** Examples at the end of a command's help, each with what it does: `['millrace devices --watch', 'again and again']`. */
export function withExamples(
  command: Command,
  ...lines: readonly (readonly [command: string, does?: string])[]
): Command {
  const wide = Math.max(...lines.map(([text]) => text.length));
  const text = lines.map(([one, does]) => (does === undefined ? `  ${one}` : `  ${one.padEnd(wide)}  # ${does}`));
  return command.addHelpText('after', `\nExamples:\n${text.join('\n')}`);
}
