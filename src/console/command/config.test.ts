import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeNumberParser } from '../options/options.js';
import { loadOptions } from './config.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-config-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program with an option of each kind, and returns the resulting options. */
async function settle(
  config: unknown,
  args: readonly string[] = [],
  variable = 'MILLRACE_NONE',
): Promise<Record<string, unknown>> {
  const file = join(folder, 'config.json');
  writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
  let settled: Record<string, unknown> = {};
  const root = new Command('millrace').exitOverride();
  const block = root.command('block');
  for (const name of ['solve', 'verify']) {
    block
      .command(name)
      .addOption(new Option('--config <file>').default(file))
      .addOption(new Option('--device <name>').default('auto'))
      .addOption(new Option('--threads <n>').env(variable).argParser(wholeNumberParser(1, 64)))
      .addOption(new Option('--mode <mode>').choices(['all', 'first']))
      .addOption(new Option('--param <text>').argParser((text, before: string[] = []) => [...before, text]))
      .addOption(new Option('--any'))
      .addOption(new Option('--no-hoist'))
      .action(async (...given) => {
        const { config: _, ...rest } = await loadOptions(given.at(-1) as Command);
        settled = rest;
      });
  }
  root.command('other').addOption(new Option('--far'));
  await root.parseAsync(['node', 'millrace', 'block', 'solve', ...args]);
  return settled;
}

describe('settings', () => {
  it('take precedence in the order default < file < environment < flag', async () => {
    process.env.MILLRACE_CONFIG_TEST = '3';
    try {
      expect(await settle({})).toMatchObject({ device: 'auto', hoist: true });
      expect(await settle({ threads: 2, device: 'cpu' })).toMatchObject({ threads: 2, device: 'cpu' });
      expect(await settle({ threads: 2 }, [], 'MILLRACE_CONFIG_TEST')).toMatchObject({ threads: 3 });
      expect(await settle({ threads: 2 }, ['--threads', '4'], 'MILLRACE_CONFIG_TEST')).toMatchObject({ threads: 4 });
      expect(await settle({ device: 'cpu' }, ['--device', 'auto'])).toMatchObject({ device: 'auto' });
    } finally {
      delete process.env.MILLRACE_CONFIG_TEST;
    }
  });

  it('of one command override those of all commands', async () => {
    const config = { threads: 1, block: { threads: 2, solve: { threads: 3, any: true }, verify: { threads: 4 } } };
    expect(await settle(config)).toMatchObject({ threads: 3, any: true });
    expect(await settle({ threads: 1, block: { threads: 2 } })).toMatchObject({ threads: 2 });
    expect(await settle({ other: { far: true } })).not.toHaveProperty('far');
  });

  it('are parsed like flags: numbers, lists, true and false', async () => {
    expect(await settle({ threads: '5', param: ['a=1', 'b=2'], any: false, 'no-hoist': true })).toMatchObject({
      threads: 5,
      param: ['a=1', 'b=2'],
      any: false,
      hoist: false,
    });
  });

  it.each([
    [{ thread: 3 }, '"thread" is not an option or a command'],
    [{ block: { solve: { 'max-tmp': 80 } } }, '"max-tmp" in "block solve" is not an option'],
    [{ block: { verify: { far: true } } }, '"far" in "block verify"'],
    [{ blok: {} }, '"blok" is not an option'],
    [{ config: 'x' }, '"config" is not an option'],
    [{ threads: 65 }, 'Expected a whole number from 1 to 64'],
    [{ threads: true }, 'true is not a value for "threads"'],
    [{ mode: 'last' }, 'Allowed choices are all, first'],
    [{ any: 'yes' }, 'write true or false'],
    [[1], 'not a JSON object'],
    ['{ "device": ', 'not JSON'],
  ])('%j is refused', (config, message) => expect(settle(config)).rejects.toThrow(message));

  it('are refused if the file given with --config is missing', async () => {
    await expect(settle({}, ['--config', join(folder, 'none.json')])).rejects.toThrow('cannot read it');
  });
});
