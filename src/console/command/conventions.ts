import { type Command, Option } from 'commander';
import { options } from '../options/options.js';

/** Loads all commands, where the program has loaded one: a config file may have settings for the others. */
export const commandLoader: { loadAll?: () => Promise<Command> } = {};

/** Adds to every command what all have in common: output options and help. */
export function applyConventions(root: Command): void {
  everyCommand(root, (command) => {
    const help = new Option('-h, --help', 'show this help');
    command.addHelpOption(help).helpCommand(false);
    // The help says once that every option is also a variable, not with each option.
    command.configureHelp({ optionDescription: describeOption, subcommandTerm: namesOf, ...command.configureHelp() });
    if (command.commands.length > 0) return;
    help.helpGroup(COMMON_GROUP);
    for (const make of commonOptions) addCommonOption(command, make());
  });
}

const COMMON_GROUP = 'Options of every command:';

/** Returns a command as its group lists it, without its arguments: those of one would make all lines long. */
const namesOf = (command: Command): string => [command.name(), ...command.aliases()].join('|');

const commonOptions: readonly (() => Option)[] = [
  options.json,
  options.events,
  options.log,
  options.extraVerbose,
  options.config,
];

function describeOption({ description, argChoices, defaultValue, defaultValueDescription }: Option): string {
  const defaultText = defaultValueDescription ?? (defaultValue === undefined ? undefined : String(defaultValue));
  const more = [
    ...(argChoices ? [argChoices.join(', ')] : []),
    ...(defaultText === undefined || typeof defaultValue === 'boolean' ? [] : [`default: ${defaultText}`]),
  ];
  return more.length === 0 ? description : `${description} (${more.join('; ')})`;
}

/** Adds an option unless the command defines its own. */
function addCommonOption(command: Command, option: Option): void {
  const own = command.options.find(({ long }) => long === option.long);
  if (own === undefined) command.addOption(option);
  (own ?? option).helpGroup(COMMON_GROUP);
}

export function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) everyCommand(child, visit);
}

/**
 * Adds examples at the end of a command's help, each with a description: `['millrace devices --watch', 'every 2
 * s']`.
 */
export function withExamples(
  command: Command,
  ...lines: readonly (readonly [command: string, does?: string])[]
): Command {
  const width = Math.max(...lines.map(([line]) => line.length));
  const text = lines.map(([line, does]) => (does === undefined ? `  ${line}` : `  ${line.padEnd(width)}  # ${does}`));
  return command.addHelpText('after', `\nExamples:\n${text.join('\n')}`);
}
