import type { KernelOptions, Mode, Range, SearchOptions } from '../../engine/index.js';
import { MillraceError } from '../../kernel/error.js';
import type { Field, Fields, Kernel, Program, Values } from '../../kernel/index.js';
import { throughHere } from './check.js';
import { importFile, inFile } from './module.js';
import { declared, jobValues, type Loose, loosely, type Params } from './values.js';

/** A search described by a user's file: a kernel and search options. */
export interface Task {
  readonly kernel: Kernel;
  readonly program: Program;
  readonly job: Values;
  readonly space: bigint | number | Range | undefined;
  readonly mode: Mode | undefined;
  /** Probability that an index is a hit: expected time and luck are computed from it. */
  readonly chance: number | undefined;
  /** Further options, passed to the search unchanged. */
  readonly rest: TaskOptions;
}

type TaskOptions = Partial<
  Pick<
    SearchOptions<{ readonly index: bigint }> & KernelOptions<Fields, Fields>,
    | 'verify'
    | 'aim'
    | 'ring'
    | 'share'
    | 'steal'
    | 'completed'
    | 'buffers'
    | 'chunk'
    | 'canaries'
    | 'least'
    | 'most'
    | 'granularity'
  >
>;

const OPTIONS = [
  ...(['verify', 'aim', 'ring', 'share', 'steal', 'completed', 'buffers', 'chunk', 'canaries'] as const),
  ...(['least', 'most', 'granularity'] as const),
] satisfies readonly (keyof TaskOptions)[];
const KEYS: readonly string[] = ['kernel', 'job', 'space', 'mode', 'chance', ...OPTIONS];

/** Loads a file and sets its job values from the parameters. */
export async function loadTask(path: string, params: Params): Promise<Task> {
  const exported = await importFile(path);
  if (!('default' in exported)) throw noDefault(path, Object.keys(exported));
  const { made: given, asked } = await made(path, exported.default, params);
  const described = isKernel(given) ? { kernel: given } : given;
  const { kernel, job = {}, space, mode, chance, ...rest } = check(path, described);
  const program = traced(path, kernel);
  if (program.hit.length === 0) throw noHits(path, kernel);
  if (program.chunk.some(({ name }) => !name.startsWith('.')) && !rest.chunk) throw noChunk(path, kernel);
  // A parameter that a factory has read is not also a job value, unless the factory leaves that value unset.
  const filling = new Map([...params].filter(([name]) => !(asked.has(name) && Object.hasOwn(job, name))));
  checkNames(program.job, filling, asked);
  const values = { ...job, ...jobValues(program.job, filling) };
  checkMissing(path, program.job, values);
  const verify = typeof rest.verify === 'object' ? throughHere(rest.verify) : rest.verify;
  return { kernel, program, job: values, space, mode, chance, rest: { ...rest, ...(verify && { verify }) } };
}

/** Returns an export's value. A function is called with the parameters; `asked` holds the names that it read. */
export async function made(
  path: string,
  given: unknown,
  params: Params,
): Promise<{ readonly made: unknown; readonly asked: ReadonlySet<string> }> {
  const asked = new Set<string>();
  if (typeof given !== 'function') return { made: given, asked };
  const values: Record<string, Loose> = Object.fromEntries([...params].map(([name, text]) => [name, loosely(text)]));
  const noting = new Proxy(values, {
    get: (target, name) => {
      asked.add(String(name));
      return Reflect.get(target, name) as unknown;
    },
    has: (target, name) => {
      asked.add(String(name));
      return Reflect.has(target, name);
    },
    ownKeys: (target) => {
      for (const name of Object.keys(target)) asked.add(name);
      return Reflect.ownKeys(target);
    },
  });
  try {
    return { made: await (given as (values: object) => unknown)(noting), asked };
  } catch (error) {
    throw inFile(path, error);
  }
}

interface Described extends TaskOptions {
  readonly kernel: Kernel;
  readonly job?: Values;
  readonly space?: bigint | number | Range;
  readonly mode?: Mode;
  readonly chance?: number;
}

export const isKernel = (value: unknown): value is Kernel =>
  typeof value === 'object' && value !== null && 'trace' in value && 'signature' in value;

function check(path: string, described: unknown): Described {
  const { kernel } = (described ?? {}) as Partial<Described>;
  if (typeof described !== 'object' || !isKernel(kernel)) {
    throw refuse(path, 'its default export is no kernel', FORMS);
  }
  const unknown = Object.keys(described ?? {}).filter((key) => !KEYS.includes(key));
  if (unknown.length === 0) return described as Described;
  throw refuse(
    path,
    `its default export has ${unknown.join(', ')}, which means nothing here`,
    `it may have ${KEYS.join(', ')}`,
  );
}

/** Traces the kernel before any device is opened: a mistake in it affects every device. */
export function traced(path: string, kernel: Kernel): Program {
  try {
    return kernel.trace();
  } catch (error) {
    throw inFile(path, error);
  }
}

export function checkNames(fields: readonly Field[], params: Params, asked: ReadonlySet<string>): void {
  const names = new Set([...fields.map(({ name }) => name), ...asked]);
  const unknown = [...params.keys()].filter((name) => !names.has(name));
  if (unknown.length === 0) return;
  const known = fields.map(declared);
  const others = [...asked].filter((name) => !fields.some((field) => field.name === name) && !SILENT.has(name));
  throw new MillraceError({
    code: 'usage',
    message: `there is no parameter called ${unknown.join(', ')}`,
    asked: unknown.map((name) => `--param ${name}=${params.get(name)}`).join(' '),
    advice:
      known.length + others.length === 0 ? 'the kernel takes none' : `there are ${[...known, ...others].join(', ')}`,
  });
}

/** Read by `await`. */
const SILENT = new Set(['then']);

function checkMissing(path: string, fields: readonly Field[], values: Values): void {
  const missing = fields.filter(({ name }) => !Object.hasOwn(values, name) || values[name] === undefined);
  if (missing.length === 0) return;
  const forms = missing.map(({ name, array }) => `--param ${name}=${array ? '1,2,…' : '1'}`).join(' ');
  throw new MillraceError({
    code: 'usage',
    message: `the kernel needs ${missing.map(declared).join(', ')}`,
    asked: `to run ${path}`,
    advice: `give ${forms}, or \`job: { … }\` in the file`,
  });
}

const FORMS =
  'export default items(…), or { kernel, space, job, verify, mode }, or a function of the parameters that gives one of them';

const noDefault = (path: string, names: readonly string[]): MillraceError =>
  refuse(path, `it has no default export${names.length === 0 ? '' : `, only ${names.join(', ')}`}`, FORMS);

const noHits = (path: string, { name }: Kernel): MillraceError =>
  refuse(
    path,
    `kernel ${name} emits nothing`,
    'declare `hit: { … }` in its signature and call emit() where it has found something',
  );

const noChunk = (path: string, { name }: Kernel): MillraceError =>
  refuse(path, `kernel ${name} has chunk values that nobody gives`, 'export { kernel, chunk: (piece) => ({ … }) }');

const refuse = (path: string, message: string, advice: string): MillraceError =>
  new MillraceError({ code: 'input-format', message: `${path}: ${message}`, asked: `to run ${path}`, advice });
