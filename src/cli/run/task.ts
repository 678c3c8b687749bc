import type { KernelOptions, Range, SearchMode, SearchOptions } from '../../engine/index.js';
import { dataSizes } from '../../engine/makers/buffer-choice.js';
import { MillraceError } from '../../kernel/error.js';
import type { Field, Fields, FieldValues, Kernel, Program } from '../../kernel/index.js';
import { wrapCheck } from './check.js';
import { errorInFile, importFile } from './module.js';
import { fieldDeclaration, jobValues, type Params, parseUntyped, type UntypedValue } from './values.js';

/** A search described by a user's file: a kernel and search options. */
export interface Task {
  readonly kernel: Kernel;
  readonly program: Program;
  readonly job: FieldValues;
  readonly space: Space | undefined;
  readonly mode: SearchMode | undefined;
  /** Probability that an index is a hit: expected time and luck are computed from it. */
  readonly chance: number | undefined;
  /** Job values with which the kernel also hits at near-misses: on a fleet they show that work was done. */
  readonly witness: FieldValues | undefined;
  /** Further options, passed to the search unchanged. */
  readonly rest: TaskOptions;
}

/** A number of indices from 0, or a range of them. */
export type Space = bigint | number | Range;

type TaskOptions = Partial<
  Pick<
    SearchOptions<{ readonly index: bigint }> & KernelOptions<Fields, Fields>,
    | 'verify'
    | 'aim'
    | 'ring'
    | 'partition'
    | 'steal'
    | 'completed'
    | 'buffers'
    | 'chunk'
    | 'canaries'
    | 'min'
    | 'max'
    | 'granularity'
    | 'checked'
  >
>;

const OPTIONS = [
  ...(['verify', 'aim', 'ring', 'partition', 'steal', 'completed', 'buffers', 'chunk', 'canaries'] as const),
  ...(['min', 'max', 'granularity', 'checked'] as const),
] satisfies readonly (keyof TaskOptions)[];
const KEYS: readonly string[] = ['kernel', 'job', 'space', 'mode', 'chance', 'witness', ...OPTIONS];

/** Loads a file and sets its job values from the parameters. */
export async function loadTask(path: string, params: Params): Promise<Task> {
  const exported = await importFile(path);
  if (!('default' in exported)) throw noDefaultError(path, Object.keys(exported));
  const { value: given, readNames } = await evaluateExport(path, exported.default, params);
  const description = isKernel(given) ? { kernel: given } : given;
  const { kernel, job = {}, space, mode, chance, witness, ...rest } = check(path, description);
  const program = traceKernel(path, kernel);
  if (program.hit.length === 0) throw noHitsError(path, kernel);
  if (program.chunk.some(({ name }) => !name.startsWith('.')) && !rest.chunk) throw noChunkError(path, kernel);
  // A parameter that a factory has read is not also a job value, unless the factory leaves that value unset.
  const jobParams = new Map([...params].filter(([name]) => !(readNames.has(name) && Object.hasOwn(job, name))));
  checkNames(program.job, jobParams, readNames);
  const values = { ...job, ...jobValues(program.job, jobParams) };
  checkMissing(path, program.job, values);
  checkData(path, kernel, rest.buffers);
  const verify = typeof rest.verify === 'object' ? wrapCheck(rest.verify) : rest.verify;
  return { kernel, program, job: values, space, mode, chance, witness, rest: { ...rest, ...(verify && { verify }) } };
}

/** Returns an export's value. A function is called with the parameters; `readNames` holds the names that it read. */
export async function evaluateExport(
  path: string,
  given: unknown,
  params: Params,
): Promise<{ readonly value: unknown; readonly readNames: ReadonlySet<string> }> {
  const readNames = new Set<string>();
  if (typeof given !== 'function') return { value: given, readNames };
  const values: Record<string, UntypedValue> = Object.fromEntries(
    [...params].map(([name, text]) => [name, parseUntyped(text)]),
  );
  const recorder = new Proxy(values, {
    get: (target, name) => {
      readNames.add(String(name));
      return Reflect.get(target, name) as unknown;
    },
    has: (target, name) => {
      readNames.add(String(name));
      return Reflect.has(target, name);
    },
    ownKeys: (target) => {
      for (const name of Object.keys(target)) readNames.add(name);
      return Reflect.ownKeys(target);
    },
  });
  try {
    return { value: await (given as (values: object) => unknown)(recorder), readNames };
  } catch (error) {
    throw errorInFile(path, error);
  }
}

interface TaskDescription extends TaskOptions {
  readonly kernel: Kernel;
  readonly job?: FieldValues;
  readonly space?: Space;
  readonly mode?: SearchMode;
  readonly chance?: number;
  readonly witness?: FieldValues;
}

export const isKernel = (value: unknown): value is Kernel =>
  typeof value === 'object' && value !== null && 'trace' in value && 'signature' in value;

function check(path: string, described: unknown): TaskDescription {
  const { kernel } = (described ?? {}) as Partial<TaskDescription>;
  if (typeof described !== 'object' || !isKernel(kernel)) {
    throw taskError(path, 'its default export is not a kernel', FORMS);
  }
  const unknown = Object.keys(described ?? {}).filter((key) => !KEYS.includes(key));
  if (unknown.length === 0) return described as TaskDescription;
  throw taskError(
    path,
    `its default export has unknown members: ${unknown.join(', ')}`,
    `known members: ${KEYS.join(', ')}`,
  );
}

/** Traces the kernel before any device is opened: a mistake in it affects every device. */
export function traceKernel(path: string, kernel: Kernel): Program {
  try {
    return kernel.trace();
  } catch (error) {
    throw errorInFile(path, error);
  }
}

/** Checks the buffers before a job is made, so that a wrong one is found by everything that runs the file. */
function checkData(path: string, kernel: Kernel, buffers: TaskOptions['buffers']): void {
  try {
    dataSizes(kernel, buffers);
  } catch (error) {
    throw errorInFile(path, error);
  }
}

export function checkNames(fields: readonly Field[], params: Params, asked: ReadonlySet<string>): void {
  const names = new Set([...fields.map(({ name }) => name), ...asked]);
  const unknown = [...params.keys()].filter((name) => !names.has(name));
  if (unknown.length === 0) return;
  const known = fields.map(fieldDeclaration);
  const others = [...asked].filter((name) => !fields.some((field) => field.name === name) && !HIDDEN_NAMES.has(name));
  throw new MillraceError({
    code: 'usage',
    message: `unknown parameter: ${unknown.join(', ')}`,
    asked: unknown.map((name) => `--param ${name}=${params.get(name)}`).join(' '),
    advice:
      known.length + others.length === 0
        ? 'the kernel takes none'
        : `known parameters: ${[...known, ...others].join(', ')}`,
  });
}

/** Read by `await`. */
const HIDDEN_NAMES = new Set(['then']);

function checkMissing(path: string, fields: readonly Field[], values: FieldValues): void {
  const missing = fields.filter(({ name }) => !Object.hasOwn(values, name) || values[name] === undefined);
  if (missing.length === 0) return;
  const forms = missing.map(({ name, array }) => `--param ${name}=${array ? '1,2,…' : '1'}`).join(' ');
  throw new MillraceError({
    code: 'usage',
    message: `the kernel needs ${missing.map(fieldDeclaration).join(', ')}`,
    asked: `to run ${path}`,
    advice: `give ${forms}, or \`job: { … }\` in the file`,
  });
}

const FORMS =
  'export default items(…), or { kernel, space, job, verify, mode }, or a function of the parameters that returns one of them';

const noDefaultError = (path: string, names: readonly string[]): MillraceError =>
  taskError(path, `it has no default export${names.length === 0 ? '' : `, only ${names.join(', ')}`}`, FORMS);

const noHitsError = (path: string, { name }: Kernel): MillraceError =>
  taskError(path, `kernel ${name} emits no hits`, 'declare `hit: { … }` in its signature and call emit() for each hit');

const noChunkError = (path: string, { name }: Kernel): MillraceError =>
  taskError(
    path,
    `kernel ${name} has chunk values, but no function sets them`,
    'export { kernel, chunk: (piece) => ({ … }) }',
  );

const taskError = (path: string, message: string, advice: string): MillraceError =>
  new MillraceError({ code: 'input-format', message: `${path}: ${message}`, asked: `to run ${path}`, advice });
