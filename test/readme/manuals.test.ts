import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commandsOf, wordsOf } from './commands.js';
import { root } from './follow.js';

/** Compares the documents with the command: options, examples, links. */
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const below = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
const markdown = [...readdirSync(root), ...below('docs'), ...below('src')].filter((name) => name.endsWith('.md'));
/** Documents about the command: all but measurements, changes and types. */
const manuals = markdown.filter((file) => !/^docs\/(measurements|releases|api|PERFORMANCE)|^C/.test(file));

interface Command {
  readonly flags: readonly { readonly long: string; readonly short?: string; readonly hidden: boolean }[];
  readonly help: string;
}

/** All commands by name, from a separate process: vitest would transform every module of the command first. */
const commands = new Map(Object.entries(JSON.parse(describeCommands()) as Record<string, Command>));
function describeCommands(): string {
  const script = `
    import { program } from ${JSON.stringify(new URL('../../dist/cli/program.js', import.meta.url).href)};
    const commands = {};
    const tell = (command, name) => {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
      commands[name] = { flags: command.options.map(({ long, short, hidden }) => ({ long, short, hidden })), help };
      for (const one of command.commands) tell(one, name + ' ' + one.name());
    };
    tell(await program(), 'millrace');
    process.stdout.write(JSON.stringify(commands));`;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
}

/** Returns the options of a command line that its command does not have. `bench` alone is `bench all`. */
function unknownIn(line: string): string[] {
  const words = wordsOf(line);
  let name = words.shift() ?? '';
  while (words[0] !== undefined && commands.has(`${name} ${words[0]}`)) name += ` ${words.shift()}`;
  const here = [name, ...(name.startsWith('millrace bench') ? ['millrace bench all'] : []), 'millrace'];
  const known = here.flatMap((one) => commands.get(one)?.flags.flatMap(({ long, short }) => [long, short]) ?? []);
  return words.filter((word) => /^--?[a-z]/.test(word) && ![...known, '--help'].includes(word));
}

describe('options', () => {
  test('in documents exist', () => {
    const shown = manuals
      .flatMap((file) => commandsOf(file, read(file)))
      .filter(({ command }) => /^millrace /.test(command));
    expect(shown.length).toBeGreaterThan(50);
    for (const { file, command } of shown) expect(unknownIn(command), `${file}: ${command}`).toEqual([]);
  });

  test('of every command are documented', () => {
    const documented = new Set<string | undefined>(
      manuals.flatMap((file) => read(file).match(/(?<![\w-])--?[a-z1][\w-]*/g) ?? []),
    );
    const absent = [...commands].flatMap(([name, { flags }]) =>
      flags
        // Charsets are numbered from -1 to -9: the first is enough.
        .filter(
          ({ long, short, hidden }) =>
            !hidden && ![long, short?.replace(/\d/, '1')].some((flag) => documented.has(flag)),
        )
        .map(({ long }) => `${name} ${long}`),
    );
    expect(absent).toEqual([]);
  });
});

test('examples in the help use existing options and have no ellipsis', () => {
  for (const [name, { help }] of commands) {
    const [, examples = ''] = help.split('\nExamples:\n');
    for (const [, line = ''] of examples.matchAll(/^ {2}(millrace .*?)(?: {2,}#.*)?$/gm))
      for (const one of line.split(/; (?=millrace )| > /).filter((part) => part.startsWith('millrace ')))
        expect([unknownIn(one), one.includes('…')], `${name}: ${one}`).toEqual([[], false]);
  }
});

test('links within the documents lead to existing files and headings', () => {
  const text = (file: string): string => read(file).replaceAll(/```[\s\S]*?```/g, '');
  const anchors = (file: string): string[] =>
    [...text(file).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    );
  const links = markdown.flatMap((file) =>
    [...text(file).matchAll(/\]\((?!https?:)([^)\s#]*)#?([^)\s]*)\)/g)].map(([, path = '', anchor = '']) => ({
      file,
      to: path === '' ? file : join(dirname(file), path),
      anchor,
    })),
  );
  expect(links.length).toBeGreaterThan(40);
  expect(links.filter(({ to }) => !existsSync(join(root, to)))).toEqual([]);
  const lost = links.filter(({ to, anchor }) => anchor !== '' && !anchors(to).includes(anchor));
  expect(lost).toEqual([]);
});
