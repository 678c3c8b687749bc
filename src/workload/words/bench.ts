import { Command, InvalidArgumentError } from 'commander';
import { machine, machineLine } from '../../bench/machine.js';
import { type Candidate, compare, DEFAULT_RUNS, MIN_RUNS } from '../../bench/measure.js';
import { measurementFields } from '../../bench/report.js';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit } from '../../console/command/exit.js';
import { type DeviceCommandOptions, setUpDevices, withDeviceOptions } from '../../console/options/device-options.js';
import { options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { duration, percent, rate } from '../../console/output/format.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import { table } from '../../console/output/table.js';
import type { Device } from '../../device/device.js';
import { openDevice } from '../../device/registry.js';
import { recordedDigests } from './bench/digests.js';
import { pipeCandidates } from './bench/peers.js';
import { digestOf, hostRate, residentRate, smallRate, type TransferMode, type WordRate } from './bench/rate.js';
import type { Layout } from './space/layout.js';

/** `millrace bench words` */
export function wordsBench(): Command {
  const command = new Command('words')
    .description('rates of words left on the device, copied to host memory, and written to a pipe, compared with mp64')
    .addOption(options.device())
    .addOption(
      valueOption('--only <list>', `sections: ${sections.join(', ')}`)
        .argParser(sectionList)
        .default(sections, 'all'),
    )
    .addOption(
      valueOption('--runs <n>', `measured runs, ${MIN_RUNS} or more`)
        .argParser(wholeNumberParser(MIN_RUNS, 1000))
        .default(DEFAULT_RUNS),
    );
  withDeviceOptions(command).action(action(bench));
  return withExamples(
    command,
    ['millrace bench words --device cuda:0', 'all measurements on a GPU'],
    ['millrace bench words --only pipe', 'compared with mp64, if it is installed'],
  );
}

const sections = ['resident', 'host', 'small', 'digests', 'pipe'] as const;
type Section = (typeof sections)[number];

interface BenchOptions extends DeviceCommandOptions {
  readonly device: string;
  readonly only: readonly Section[];
  readonly runs: number;
}

async function bench({ output, options: given }: Call<BenchOptions>): Promise<CommandResult> {
  const opening = setUpDevices(given, output, { completion: 'poll' });
  const device = await openDevice(given.device, opening.options);
  try {
    const host = machine([device.info]);
    output.event('machine', { ...host });
    output.line(machineLine(host));
    output.line(`${device.info.id}: ${device.info.name}`);
    const { only, runs } = given;
    let digested: readonly DigestResult[] = [];
    if (only.includes('resident')) await resident(output, device, runs);
    if (only.includes('host')) await toHost(output, device, runs);
    if (only.includes('small')) await small(output, device, runs);
    if (only.includes('digests')) digested = await digests(output, device);
    if (only.includes('pipe')) await pipe(output, given, runs);
    await opening.reportApiCalls(device);
    return { exit: digested.every(({ isRight }) => isRight) ? Exit.ok : Exit.no, answer: { digests: digested } };
  } finally {
    await device.close();
  }
}

async function resident(output: Output, device: Device, runs: number): Promise<void> {
  const rows = [];
  // Sequential, because each case holds gigabytes.
  for (const characters of [8, 10, 12, 16]) {
    const candidate = await residentRate(device, characters, runs);
    rows.push(...(await measureRows(output, [candidate])));
    await candidate.close();
  }
  printTable(output, 'Left on the device, packed', rows);
}

async function toHost(output: Output, device: Device, runs: number): Promise<void> {
  const rows = [];
  for (const millions of device.info.processor === 'gpu' ? [10, 50, 100] : [10]) {
    const ways: TransferMode[] = ['direct', 'sync', 'async'];
    const candidates = [];
    for (const way of ways) candidates.push(await hostRate(device, millions * 1e6, way, runs));
    rows.push(...(await measureRows(output, candidates)));
    for (const candidate of candidates) await candidate.close();
  }
  printTable(output, 'To host memory, page-locked if the device supports it; relative to one call', rows);
}

async function small(output: Output, device: Device, runs: number): Promise<void> {
  const candidate = await smallRate(device, runs);
  printTable(output, 'Small batches to host memory', await measureRows(output, [candidate]));
  await candidate.close();
}

/** Checks the recorded digests that the device can make in a reasonable time. */
async function digests(output: Output, device: Device): Promise<readonly DigestResult[]> {
  const maxWords = device.info.processor === 'gpu' ? 100_000_000 : 10_000_000;
  const rows = [];
  const results: DigestResult[] = [];
  for (const { words, layout, sha256 } of recordedDigests) {
    if (words > maxWords) continue;
    const started = performance.now();
    const got = await digestOf(device, words, layout);
    const seconds = (performance.now() - started) / 1000;
    const verdict = got === sha256 ? output.style.good('right') : output.style.bad('WRONG');
    results.push({ words, layout, sha256: got, isRight: got === sha256 });
    rows.push([`${words / 1e6} M words, ${layout}`, verdict, got.slice(0, 16), duration(seconds)]);
  }
  output.line(`\n${output.style.bold('SHA-256 of the first words, compared with recorded digests')}`);
  for (const line of table(rows, { right: [3] })) output.line(line);
  return results;
}

interface DigestResult {
  readonly words: number;
  readonly layout: Layout;
  readonly sha256: string;
  readonly isRight: boolean;
}

async function pipe(output: Output, { device, threads }: BenchOptions, runs: number): Promise<void> {
  const rows = [];
  for (const mask of ['?l?l?l?l?l?d?d', 'abc?l?l?l?l?l?d']) {
    const { candidates, wordBytes } = await pipeCandidates(mask, {
      device,
      runs,
      ...(threads !== undefined && { threads }),
    });
    rows.push(
      ...(await measureRows(
        output,
        candidates.map((one) => ({ ...one, wordBytes })),
      )),
    );
  }
  printTable(output, 'Through a pipe, as whole commands; relative to the first', rows);
}

type WordCandidate = Candidate & Pick<WordRate, 'wordBytes'>;

async function measureRows(output: Output, candidates: readonly WordCandidate[]): Promise<string[][]> {
  const { measurements, ratios } = await compare(candidates);
  return measurements.map((one, at) => {
    output.event('measurement', { ...measurementFields(one), ratio: ratios[at] });
    const wordBytes = candidates[at]?.wordBytes ?? Number.NaN;
    const words = Number.isNaN(wordBytes) ? '' : rate(one.rate.median / wordBytes, 'words');
    const ratio = candidates.length > 1 ? `${(ratios[at]?.median ?? Number.NaN).toFixed(3)}×` : '';
    return [one.name, rate(one.rate.median, one.unit), words, percent(one.rate.relative), ratio];
  });
}

function printTable(output: Output, title: string, rows: readonly (readonly string[])[]): void {
  output.line(`\n${output.style.bold(title)}`);
  for (const line of table([['', 'median', '', 'spread', ''], ...rows], { right: [1, 2, 3, 4] })) output.line(line);
}

function sectionList(text: string): Section[] {
  const named = text.split(',').map((name) => name.trim());
  const unknown = named.find((name) => !(sections as readonly string[]).includes(name));
  if (unknown === undefined) return named as Section[];
  throw new InvalidArgumentError(`Unknown section ${unknown}; expected ${sections.join(', ')}.`);
}
