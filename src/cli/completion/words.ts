import type { Argument, Command, Option } from 'commander';

/** The words that may follow a command's name: the source of completion scripts. */
export interface CommandWords {
  /** `block solve`; empty for the program itself. */
  readonly path: string;
  readonly description: string;
  readonly commands: readonly { readonly name: string; readonly does: string }[];
  readonly options: readonly CompletionOption[];
  /** Choices of the first argument; empty if it takes files or anything else. */
  readonly choices: readonly string[];
  readonly takesFiles: boolean;
}

export interface CompletionOption {
  readonly flags: readonly string[];
  readonly description: string;
  /** The kind of value: none, one of `choices`, a file, a folder, or anything. */
  readonly value: 'none' | 'choice' | 'file' | 'folder' | 'any';
  readonly choices: readonly string[];
}

/** Returns the words of the program and of every subcommand. */
export function commandWords(command: Command, path: readonly string[] = []): CommandWords[] {
  const help = { flags: ['-h', '--help'], description: 'show this help', value: 'none', choices: [] } as const;
  const own: CommandWords = {
    path: path.join(' '),
    description: command.description(),
    commands: command.commands.map((one) => ({ name: one.name(), does: one.description() })),
    options: [...command.options.filter(({ hidden }) => !hidden).map(optionOf), help],
    choices: command.registeredArguments[0]?.argChoices ?? [],
    takesFiles: command.registeredArguments.some(isFile),
  };
  return [own, ...command.commands.flatMap((one) => commandWords(one, [...path, one.name()]))];
}

function optionOf(option: Option): CompletionOption {
  const flags = [option.short, option.long].filter((flag) => flag !== undefined);
  const choices = option.long === '--device' ? DEVICES : (option.argChoices ?? []);
  return { flags, description: option.description, value: valueKind(option, choices), choices };
}

/** Kinds, and the first device of kinds that may have several; asking drivers at every key press would take a second. */
const DEVICES = [
  'auto',
  'cuda',
  'cuda:0',
  'opencl',
  'opencl:0',
  'webgpu',
  'webgpu:0',
  'native',
  'cpu',
  'wasm',
  'interpreter',
];

function valueKind({ required, optional, flags }: Option, choices: readonly string[]): CompletionOption['value'] {
  if (!required && !optional) return 'none';
  if (choices.length > 0) return 'choice';
  return /[<[]file/.test(flags) ? 'file' : /[<[](dir|folder)/.test(flags) ? 'folder' : 'any';
}

const isFile = (argument: Argument): boolean => /file|^in$|^out$/.test(argument.name());
