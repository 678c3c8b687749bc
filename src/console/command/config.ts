import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { MillraceError } from '../../kernel/error.js';
import { commandLoader } from './conventions.js';
import { configFile } from './paths.js';

/**
 * Returns a command's options, with those of the config file that neither a flag nor a variable sets. The file is a JSON
 * object with options by name, for every command that has them, and objects by command name, for one command:
 *
 *   { "device": "cuda:0", "max-temp": 80, "block": { "solve": { "any": true } } }
 *
 * An unknown name is an error: otherwise a misspelt limit would silently not apply.
 */
export async function loadOptions(command: Command): Promise<Readonly<Record<string, unknown>>> {
  const { config: explicitPath } = command.opts<{ config?: string }>();
  const path = explicitPath ?? configFile();
  const file = readConfig(path, explicitPath !== undefined);
  if (file !== undefined) {
    let unknown = findUnknown(file, rootOf(command));
    if (unknown && commandLoader.loadAll) unknown = findUnknown(file, await commandLoader.loadAll());
    if (unknown) throw unknownKeyError(path, unknown);
    for (const [option, value] of settingsFor(file, pathOf(command), command))
      applySetting(path, command, option, value);
  }
  return command.opts();
}

type Section = Readonly<Record<string, unknown>>;

function readConfig(path: string, isExplicit: boolean): Section | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    // The default file is optional; a file named by `--config` must exist.
    if (!isExplicit && (code === 'ENOENT' || code === 'ENOTDIR')) return undefined;
    throw configError('io', path, `cannot read it: ${message}`, 'name a readable file, or omit --config', cause);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isSection(value)) return value;
  } catch (cause) {
    throw configError('input-format', path, `not JSON: ${(cause as Error).message}`, FORMAT_ADVICE, cause);
  }
  throw configError('input-format', path, 'not a JSON object', FORMAT_ADVICE);
}

const FORMAT_ADVICE = 'write { "option": value, "command": { "option": value } }';

const isSection = (value: unknown): value is Section =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const rootOf = (command: Command): Command => (command.parent === null ? command : rootOf(command.parent));

const pathOf = (command: Command): Command[] => (command.parent === null ? [] : [...pathOf(command.parent), command]);

interface UnknownKey {
  readonly key: string;
  readonly command: Command;
  readonly sectionPath: readonly string[];
}

/** Returns the first key that is neither an option of the command or its subcommands nor the name of a subcommand. */
function findUnknown(section: Section, command: Command, sectionPath: readonly string[] = []): UnknownKey | undefined {
  for (const [key, value] of Object.entries(section)) {
    const child = command.commands.find((one) => one.name() === key);
    if (isSection(value) && child !== undefined) {
      const below = findUnknown(value, child, [...sectionPath, key]);
      if (below) return below;
    } else if (!optionsBelow(command).some((option) => option.name() === key)) return { key, command, sectionPath };
  }
  return undefined;
}

/** Returns the options of the command and its subcommands, without those that cannot be in a config file. */
function optionsBelow(command: Command): Option[] {
  const own = command.options.filter((option) => option.long !== '--config' && option.long !== '--version');
  return [...own, ...command.commands.flatMap(optionsBelow)];
}

/** Returns the file's settings for a command. A section closer to the command takes precedence. */
function settingsFor(file: Section, commands: readonly Command[], command: Command): Map<Option, unknown> {
  const sections: Section[] = [file];
  for (const one of commands) {
    const section = sections.at(-1)?.[one.name()];
    sections.push(isSection(section) ? section : {});
  }
  const settings = new Map<Option, unknown>();
  for (const section of sections) {
    for (const option of command.options) {
      const value = Object.hasOwn(section, option.name()) ? section[option.name()] : undefined;
      if (value !== undefined && !isSection(value)) settings.set(option, value);
    }
  }
  return settings;
}

function applySetting(path: string, command: Command, option: Option, value: unknown): void {
  const name = option.attributeName();
  const source = command.getOptionValueSource(name);
  if (source !== undefined && source !== 'default') return;
  const isFlag = !option.required && !option.optional;
  const wrong = (advice: string) =>
    configError('usage', path, `${JSON.stringify(value)} is not a value for "${option.name()}"`, advice);
  if (isFlag) {
    if (typeof value !== 'boolean') throw wrong('write true or false');
    command.setOptionValueWithSource(name, option.negate ? !value : value, 'config');
    return;
  }
  // An option whose value may be left out is also on or off.
  if (option.optional && value === false) return;
  const isBare = option.optional && value === true;
  const given = isBare ? (option.presetArg ?? 'true') : value;
  const values = Array.isArray(given) ? (given as unknown[]) : [given];
  let parsed: unknown;
  for (const one of values) {
    if (typeof one !== 'string' && typeof one !== 'number') throw wrong(`write a value for ${option.flags}`);
    try {
      parsed = option.parseArg ? option.parseArg(String(one), parsed as string) : String(one);
    } catch (error) {
      throw wrong(error instanceof InvalidArgumentError ? error.message : String(error));
    }
  }
  command.setOptionValueWithSource(name, parsed, 'config');
}

function unknownKeyError(path: string, { key, command, sectionPath }: UnknownKey): MillraceError {
  const names = new Set([
    ...optionsBelow(command).map((option) => option.name()),
    ...command.commands.map((one) => one.name()),
  ]);
  const where = sectionPath.length === 0 ? '' : ` in "${sectionPath.join(' ')}"`;
  return configError(
    'usage',
    path,
    `"${key}"${where} is not an option or a command`,
    `known names: ${[...names].sort().join(', ')}`,
  );
}

function configError(
  code: 'io' | 'input-format' | 'usage',
  path: string,
  message: string,
  advice: string,
  cause?: unknown,
): MillraceError {
  return new MillraceError({ code, message: `${path}: ${message}`, asked: `settings from ${path}`, advice, cause });
}
