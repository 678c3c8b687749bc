import { expect, it } from 'vitest';
import { blockBench } from '../../workload/block/bench.js';
import { benchedWorkloads } from '../../workload/cases.js';
import { routeBench } from './route.js';
import { suiteCommand } from './suite-command.js';

const after = (...words: string[]) => routeBench(words).join(' ');

it('sends several workloads, and options of the suite only, to `bench all`', () => {
  expect(after('bench', 'block', 'words', '--device', 'wasm')).toBe('bench all block words --device wasm');
  expect(after('bench', 'block', '--full')).toBe('bench all block --full');
  expect(after('bench', 'encode', '--json', '--save=now.json')).toBe('bench all encode --json --save=now.json');
});

it('leaves everything else as it is', () => {
  for (const words of ['bench', 'bench block', 'bench --full', 'bench all block --full', 'bench words --only pipe']) {
    expect(after(...words.split(' '))).toBe(words);
  }
  expect(after('words', '?l', '--save')).toBe('words ?l --save');
  expect(after()).toBe('');
});

it('knows all workloads and the options that workloads lack', () => {
  for (const { workload } of benchedWorkloads) expect(after('bench', workload, workload)).toMatch('bench all');
  const own = new Set(blockBench().options.map(({ long }) => long));
  const lacking = suiteCommand().options.flatMap(({ long }) => (long === undefined || own.has(long) ? [] : [long]));
  expect(lacking.length).toBeGreaterThan(5);
  for (const flag of lacking) expect(after('bench', 'block', flag), flag).toMatch('bench all');
});
