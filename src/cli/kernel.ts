import { Command } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit } from '../console/command/exit.js';
import { flag, valueOption, wholeNumberParser } from '../console/options/options.js';
import { bytes, count, duration, plural } from '../console/output/format.js';
import type { CommandResult } from '../console/output/output.js';
import { table } from '../console/output/table.js';
import { thisCpu } from '../device/native/cpu.js';
import { MillraceError } from '../kernel/error.js';
import {
  type Kernel,
  type KernelStats,
  kernelStats,
  kernelText,
  type OperationClass,
  type Origin,
  type TextOptions,
} from '../kernel/index.js';
import { kernels } from '../workload/index.js';
import { kernelFile, loadKernel } from './run/kernels.js';
import { Sources } from './run/sources.js';
import { paramsOf } from './run/values.js';

/** `millrace kernel …` */
export function kernelCommand(): Command {
  const kernel = new Command('kernel').description('show the generated text and operation counts of kernels');
  const listing = kernel.command('list').description('list the kernels').action(action(list));
  withExamples(listing, ['millrace kernel list']);
  const showing = kernel
    .command('show')
    .description("print the source generated from a kernel; CPU source is for this machine's CPU")
    .argument('<name>', NAME)
    .addOption(
      valueOption('--target <target>', 'the language to show, or all')
        .choices([...targets, 'all'])
        .default('c'),
    )
    .addOption(valueOption('--lanes <n>', 'lanes of a gang').argParser(wholeNumberParser(1, 64)))
    .addOption(flag('--no-hoist', 'keep job and chunk values in the kernel'))
    .addOption(flag('--no-comments', 'leave out the lines of the source'))
    .addOption(param())
    .action(action(show));
  withExamples(
    showing,
    ['millrace kernel show block --target cuda'],
    ['millrace kernel show kernel.ts --target wgsl', 'your own kernel, in a file as `millrace run` takes it'],
    ['millrace kernel show kernels.ts#scan', 'one of several, by the name of its export or of the kernel'],
    ['millrace kernel show kernel.ts --target all', 'in every language'],
  );
  const counting = kernel
    .command('stats')
    .description("count a kernel's operations, statements and parameters")
    .argument('<name>', NAME)
    .addOption(param())
    .action(action(stats));
  withExamples(counting, ['millrace kernel stats block'], ['millrace kernel stats kernel.ts']);
  return kernel;
}

const NAME = 'a name from `millrace kernel list`, or your own file: FILE or FILE#NAME';

const param = () =>
  valueOption('--param <name=value>', 'parameter for a file that exports a function').argParser(
    (text, before: readonly string[] = []) => [...before, text],
  );

async function list({ output }: Call<object>): Promise<CommandResult> {
  const names = Object.keys(kernels);
  for (const name of names) output.line(name);
  return { exit: Exit.ok, answer: { kernels: names } };
}

const targets = ['c', 'wat', 'cuda', 'opencl', 'wgsl', 'ir'] as const;
type Target = (typeof targets)[number];

interface ParamOptions {
  readonly param?: readonly string[];
}

interface ShowOptions extends ParamOptions {
  readonly target: Target | 'all';
  readonly lanes?: number;
  readonly hoist: boolean;
  readonly comments: boolean;
}

async function show({ output, options, args: [name = ''] }: Call<ShowOptions>): Promise<CommandResult> {
  const { target, lanes, hoist, comments, param: params } = options;
  const kernel = await findKernel(name, params);
  const sources = new Sources();
  const comment = (origin: Origin): string => {
    const { place, source } = sources.at(origin.line);
    return `${place}  ${source}`.trimEnd();
  };
  const how = { hoist, cpu: thisCpu(), ...(lanes !== undefined && { lanes }), ...(comments && { comment }) };
  if (target !== 'all') {
    const text = kernelText(kernel, { ...how, target });
    output.data(text.trimEnd());
    return { exit: Exit.ok, answer: { kernel: name, target, text } };
  }
  const texts = targets.map((each) => ({ target: each, ...textOrReason(kernel, { ...how, target: each }) }));
  for (const { target: each, text, reason } of texts)
    output.data(`==> ${each} <==\n${(text ?? reason ?? '').trimEnd()}\n`);
  return { exit: Exit.ok, answer: { kernel: name, target, texts } };
}

/** A target may lack what the kernel needs: 64-bit floats, for example. */
function textOrReason(kernel: Kernel, options: TextOptions): { readonly text?: string; readonly reason?: string } {
  try {
    return { text: kernelText(kernel, options) };
  } catch (error) {
    if (error instanceof MillraceError) return { reason: error.summary };
    throw error;
  }
}

async function stats({
  output,
  options: { param: params },
  args: [name = ''],
}: Call<ParamOptions>): Promise<CommandResult> {
  const kernel = await findKernel(name, params);
  const cpu = thisCpu();
  const common = { hoist: true, checked: false, nativeBodies: true, cpu } as const;
  const counted = kernelStats(kernel, [
    { ...common, target: 'c', lanes: 1 },
    { ...common, target: 'c', lanes: 'auto' },
    { ...common, target: 'wat', lanes: 'auto' },
    { target: 'cuda' },
    { target: 'opencl' },
    { target: 'wgsl' },
  ]);
  for (const line of statsLines(counted)) output.line(line);
  const { name: _, ...answer } = counted;
  return { exit: Exit.ok, answer: { kernel: name, ...answer } };
}

function statsLines({ name, always, underTests, words, host, targets: all }: KernelStats): string[] {
  const classes = (Object.keys(always) as OperationClass[]).filter((kind) => always[kind] + underTests[kind] > 0);
  return [
    ...table(
      [
        [name, 'each item', 'under tests'],
        ...classes.map((kind) => [kind, count(always[kind]), count(underTests[kind])]),
        ['job words', count(words.jobAlways), count(words.job - words.jobAlways)],
      ],
      { right: [1, 2] },
    ),
    '',
    `on the host: ${plural(host.job, 'operation')} a job, ${plural(host.chunk, 'operation')} a launch`,
    '',
    ...table(
      [
        ['target', 'lanes, threads', 'statements', 'text', 'compiles in about'],
        ...all
          .filter(({ refused }) => refused === undefined)
          .map((row) => [
            row.target,
            count(row.lanes),
            count(row.statements),
            bytes(row.bytes),
            duration(row.compileSeconds),
          ]),
      ],
      { right: [1, 2, 3, 4] },
    ),
    ...all.flatMap(({ target, refused }) => (refused === undefined ? [] : [`${target}: ${refused}`])),
  ];
}

async function findKernel(name: string, params: readonly string[] = []): Promise<Kernel> {
  const make = Object.hasOwn(kernels, name) ? kernels[name] : undefined;
  const file = make ? undefined : kernelFile(name);
  if (file) return (await loadKernel(file, paramsOf(params))).kernel;
  if (make && params.length > 0)
    throw new MillraceError({
      code: 'usage',
      message: `kernel ${name} has no parameters`,
      asked: params.map((text) => `--param ${text}`).join(' '),
      advice: '--param is for your own files',
    });
  if (make) return make();
  throw new MillraceError({
    code: 'usage',
    message: `unknown kernel ${JSON.stringify(name)}`,
    asked: `kernel ${name}`,
    advice: `kernels: ${Object.keys(kernels).join(', ')}; for a file of your own, give its path: ./kernel.ts`,
  });
}
