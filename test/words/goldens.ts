import { readFileSync } from 'node:fs';
import type { RequestOptions } from '../../src/workload/words/space/request.js';

/** Output of another program, as recorded in test/data/words. */
export interface Golden {
  readonly args: readonly string[];
  readonly rc: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly count: number;
  readonly all?: readonly string[];
}

const goldens = (tool: string): Golden[] =>
  JSON.parse(readFileSync(new URL(`../data/words/golden_${tool}.json`, import.meta.url), 'utf8')) as Golden[];

type Options = { -readonly [K in keyof RequestOptions]: RequestOptions[K] };
export type Asked =
  | { readonly mask: string; readonly options: Options; readonly asSet?: boolean }
  | { readonly skipped: string };

/** Translates maskprocessor's command line. Its limits drop words that reach them, ours words that exceed them. */
function fromMp64(args: readonly string[]): Asked {
  const options: Options = { order: 'canonical', format: 'newline' };
  let mask = '';
  for (let at = 0; at < args.length; at++) {
    const [name = '', value = ''] = [args[at], args[at + 1]];
    if (/^-[1-4]$/.test(name)) options[`charset${name[1]}` as 'charset1'] = value;
    else if (name === '--hex-charset') options.hexCharset = true;
    else if (name === '-i') options.increment = incrementOf(value);
    else if (name === '-s') options.startWord = value;
    else if (name === '-l') options.stopWord = value;
    else if (name === '-q') options.maxRun = Number(value) - 1;
    else if (name === '-r') options.maxOccurrence = Number(value) - 1;
    else if (name.startsWith('-')) return { skipped: `${name} writes no words` };
    else mask = name;
    if (/^-[1-4islqr]$/.test(name)) at++;
  }
  return { mask, options };
}

function fromHashcat(args: readonly string[]): Asked {
  const options: Options = { order: 'hashcat', format: 'newline' };
  let mask = '';
  for (let at = 0; at < args.length; at++) {
    const [name = '', value = ''] = [args[at], args[at + 1]];
    if (name === '-s' || name === '-l') return { skipped: 'hashcat counts these in its outer loop' };
    if (/^-[1-4]$/.test(name)) options[`charset${name[1]}` as 'charset1'] = value;
    else if (name === '--hex-charset') options.hexCharset = true;
    else if (name === '--increment-min') options.increment = { min: Number(value), max: 99 };
    else if (name === '--increment-max') options.increment = { min: options.increment?.min ?? 1, max: Number(value) };
    else if (!name.startsWith('-')) mask = name;
    if (/^(-[1-4a]|--increment-m..)$/.test(name)) at++;
  }
  // Without --markov-disable the order is that of hashcat's statistics.
  return { mask, options, asSet: !args.includes('--markov-disable') };
}

function fromCrunch([min = '', max = '', ...rest]: readonly string[]): Asked {
  const options: Options = { order: 'canonical', format: 'newline' };
  if (rest.includes('-p')) return { skipped: 'a mask cannot express permutations' };
  const after = (name: string): string | undefined => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : undefined);
  const firstOption = rest.findIndex((word) => /^-[a-z]$/.test(word));
  const charsets = rest
    .slice(0, firstOption < 0 ? rest.length : firstOption)
    .map((text) => (text === '+' ? undefined : text));
  // crunch has its own order of symbols.
  const standard = ['?l', '?u', '?d', '!@#$%^&*()-_+=~`[]{}|\\:;"\'<>,.??/ '];
  if (rest.includes('-i')) options.order = 'hashcat';
  const pattern = after('-t');
  if (pattern !== undefined) {
    // + stands for a charset that is not given; crunch's third is digits, for %.
    const classes: Record<string, number> = { '@': 0, ',': 1, '%': 2, '^': 3 };
    const given = charsets.length === 3 ? [charsets[0], undefined, charsets[2]] : charsets;
    standard.forEach((usual, at) => {
      options[`charset${at + 1}` as 'charset1'] = given[at] ?? usual;
    });
    const mask = [...pattern].map((c) => (c in classes ? `?${(classes[c] ?? 0) + 1}` : c)).join('');
    return { mask, options };
  }
  options.charset1 = charsets[0] ?? '?l';
  options.increment = { min: Number(min), max: Number(max) };
  const [start, end, doubles] = [after('-s'), after('-e'), after('-d')];
  if (start !== undefined) options.startWord = start;
  if (end !== undefined) options.stopWord = end;
  if (doubles !== undefined) options.maxRun = Number.parseInt(doubles, 10);
  return { mask: '?1'.repeat(Number(max)), options };
}

const incrementOf = (text: string): { min: number; max: number } => {
  const [min = 1, max = 1] = text.split(':').map(Number);
  return { min, max };
};

const tools = { mp64: fromMp64, hashcat: fromHashcat, crunch: fromCrunch };
export const cases = Object.entries(tools).flatMap(([tool, translate]) =>
  goldens(tool).map((golden) => ({ golden, asked: translate(golden.args), name: `${tool} ${golden.args.join(' ')}` })),
);
/** Those that were run to their end. */
export const right = cases.filter(({ golden, asked }) => golden.rc === 0 && !('skipped' in asked));
