import { Command, InvalidArgumentError } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit } from '../console/command/exit.js';
import { valueOption } from '../console/options/options.js';
import type { CommandResult } from '../console/output/output.js';
import { minBigint } from '../engine/work/space.js';
import {
  type CuPipeline,
  cuPipelines,
  type ExportedFile,
  type ExportRequest,
  type ExportTarget,
  exportTargets,
} from '../export/request.js';
import { writeFiles } from '../export/write.js';
import { MillraceError } from '../kernel/error.js';
import { exportedKernels, refusedKernels } from '../workload/exported.js';
import { kernelFile, loadKernel } from './run/kernels.js';
import { paramsOf } from './run/values.js';

/** `millrace export` */
export function exportCommand(): Command {
  const command = new Command('export')
    .description(
      'write a kernel as source that does not need Millrace: a C library, a CUDA program or a Python package',
    )
    .argument('<kernel>', `${Object.keys(exportedKernels).join(', ')}, or your own file: FILE or FILE#NAME`)
    .addOption(valueOption('--out <dir>', 'folder to write to').makeOptionMandatory())
    .addOption(
      valueOption('--targets <list>', 'kinds of devices that the library runs on')
        .argParser(parseTargets)
        .default(exportTargets, exportTargets.join(',')),
    )
    .addOption(
      valueOption('--language <name>', 'the language of the exported source')
        .choices(Object.keys(languages))
        .default('c'),
    )
    .addOption(
      valueOption('--pipeline <name>', 'with --language cu: how the program feeds the GPU').choices([...cuPipelines]),
    )
    .addOption(valueOption('--name <name>', "prefix of files and functions (default: the kernel's name)"))
    .addOption(
      valueOption('--param <name=value>', 'parameter for a kernel, or for a file that exports a function').argParser(
        (text, before: readonly string[] = []) => [...before, text],
      ),
    )
    .action(action(exportKernel));
  return withExamples(
    command,
    ['millrace export block --out miner', 'then make -C miner'],
    ['millrace export kernel.ts --out search --targets cpu,cuda'],
    ['millrace export block --language cu --out miner', 'a CUDA program for `nvcc -O3 -arch=native`'],
    ['millrace export encode --param qubits=10 --out encoder'],
    ['millrace export kernel.ts --language python --out search', 'then pip install ./search'],
  );
}

/** Each language's exporter, loaded when it is chosen. */
const languages: Readonly<Record<string, () => Promise<Exporter>>> = {
  c: async () => (await import('../export/c.js')).exportC,
  cu: async () => (await import('../export/cu/cu.js')).exportCu,
  python: async () => (await import('../export/python/python.js')).exportPython,
};
type Exporter = (request: ExportRequest) => readonly ExportedFile[];

interface ExportOptions {
  readonly out: string;
  readonly targets: readonly ExportTarget[];
  readonly language: string;
  readonly pipeline?: CuPipeline;
  readonly name?: string;
  readonly param?: readonly string[];
}

async function exportKernel({ output, options, args: [given = ''] }: Call<ExportOptions>): Promise<CommandResult> {
  const { out, targets, language, pipeline, param = [] } = options;
  const kernel = await findKernel(given, param);
  const isOwn = Object.hasOwn(exportedKernels, given);
  const name = options.name ?? identifier(isOwn ? given : kernel.gpu.kernel.name);
  checkName(name);
  checkLanguage(options);
  const exporter = await languages[language]?.();
  if (!exporter) throw new TypeError(`no exporter for ${language}`);
  const files = writeFiles(out, exporter({ kernel, name, targets, ...(pipeline && { pipeline }) }));
  for (const file of files) output.line(file);
  output.say(nextStep(language, out, name));
  return { exit: Exit.ok, answer: { kernel: given, language, targets, files } };
}

/** What to do with the written files. */
function nextStep(language: string, out: string, name: string): string {
  if (language === 'python') return `install the package with: pip install ${out.startsWith('/') ? out : `./${out}`}`;
  if (language === 'cu') return `build it with: nvcc -O3 -arch=native -o ${out}/${name} ${out}/${name}.cu`;
  return `build it and run the example with: make -C ${out}`;
}

/** Refuses options that a language has no use for. */
function checkLanguage({ language, pipeline, targets }: ExportOptions): void {
  const refuse = (message: string, asked: string, advice: string): never => {
    throw new MillraceError({ code: 'usage', message, asked, advice });
  };
  if (pipeline && language !== 'cu')
    refuse('only CUDA programs have a pipeline', `--pipeline ${pipeline}`, 'add --language cu');
  if (language === 'cu' && !targets.includes('cuda'))
    refuse('a CUDA program runs on cuda', `--targets ${targets.join(',')}`, 'leave out --targets');
}

async function findKernel(given: string, param: readonly string[]): Promise<ExportRequest['kernel']> {
  const params = paramsOf(param);
  const known = Object.hasOwn(exportedKernels, given) ? exportedKernels[given] : undefined;
  if (known) return known(params);
  const refused = Object.hasOwn(refusedKernels, given) ? refusedKernels[given] : undefined;
  const file = refused ? undefined : kernelFile(given);
  if (!file) {
    throw new MillraceError({
      code: 'usage',
      message: refused ?? `unknown kernel ${JSON.stringify(given)}`,
      asked: `to export ${given}`,
      advice: `kernels: ${Object.keys(exportedKernels).join(', ')}; for a file of your own, give its path: ./kernel.ts`,
    });
  }
  const { kernel, job, space } = await loadKernel(file, params);
  const { start, length } = typeof space === 'object' ? space : { start: 0n, length: BigInt(space ?? 1 << 16) };
  const example = { job, start, count: minBigint(length, EXAMPLE_INDICES) };
  return { source: given, cpu: { kernel }, gpu: { kernel }, example };
}

/** The most indices that a file's example searches: a second of one core, with a hash function. */
const EXAMPLE_INDICES = 1n << 22n;

function parseTargets(text: string): ExportTarget[] {
  const names = text.split(',').map((name) => name.trim());
  const targets = names.filter((name): name is ExportTarget => exportTargets.some((target) => target === name));
  if (targets.length === names.length && new Set(targets).size === names.length) return targets;
  throw new InvalidArgumentError(`Expected different names of ${exportTargets.join(', ')}, separated by commas.`);
}

/** Returns a kernel's name as an identifier of C. */
const identifier = (name: string): string => name.replaceAll(/\W/g, '_');

function checkName(name: string): void {
  if (/^[A-Za-z]\w{0,62}$/.test(name) && !name.startsWith('mr_')) return;
  throw new MillraceError({
    code: 'usage',
    message: `${JSON.stringify(name)} cannot be the prefix of C functions`,
    asked: `--name ${name}`,
    advice: 'use letters, digits and underscores, beginning with a letter; mr_ is the prefix of the runtime',
  });
}
