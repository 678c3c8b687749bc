import { MillraceError } from '../../../kernel/error.js';
import { encodeKernel, type Kernel } from '../../../kernel/index.js';
import { faultOf } from '../faults.js';
import { CODE_FILE, type Evaluation, type FieldRecord, type TaskData } from '../messages.js';

/**
 * Runs the user's code and returns its kernel as data. `load` imports the text, which `url` names in stacks. Whatever comes
 * out is checked again by the page, which does not trust this thread.
 */
export async function evaluate(url: string, load: () => Promise<object>, log: readonly string[]): Promise<Evaluation> {
  nameFiles(url);
  try {
    return { task: taskOf(await exported(await load())), log };
  } catch (error) {
    return { fault: faultOf(error), log };
  }
}

/** Makes positions in stacks and in origins name the user's file instead of its URL. */
function nameFiles(url: string): void {
  Error.prepareStackTrace = (error, sites) =>
    [
      String(error),
      ...sites.map((site) => {
        const file = site.getFileName() === url ? CODE_FILE : 'millrace';
        return `    at ${site.getFunctionName() ?? ''} (${file}:${site.getLineNumber()}:${site.getColumnNumber()})`;
      }),
    ].join('\n');
}

type Exports = Readonly<Record<string, unknown>>;

/** The default export, or else the only kernel. A function is called without parameters. */
async function exported(module: object): Promise<unknown> {
  const names = module as Exports;
  if (!('default' in names)) {
    const kernels = Object.values(names).filter(isKernel);
    if (kernels.length === 1) return kernels[0];
    throw noKernel(kernels.length === 0 ? 'the code exports no kernel' : 'the code exports several kernels');
  }
  const given = names.default;
  return typeof given === 'function' ? await (given as (params: object) => unknown)({}) : given;
}

interface Described {
  readonly kernel?: unknown;
  readonly job?: FieldRecord;
  readonly chunk?: FieldRecord | ((piece: { readonly start: bigint; readonly count: number }) => FieldRecord);
  readonly buffers?: TaskData['buffers'];
  readonly space?: bigint | number | { readonly start: bigint; readonly length: bigint };
  readonly count?: number;
}

function taskOf(given: unknown): TaskData {
  const described: Described = isKernel(given) ? { kernel: given } : Object(given);
  const { kernel, job = {}, chunk = {}, buffers = {}, space = described.count ?? DEFAULT_LENGTH } = described;
  if (!isKernel(kernel)) throw noKernel('the default export is not a kernel');
  const { start, length } = typeof space === 'object' ? space : { start: 0n, length: BigInt(space) };
  const count = Number(length < 2n ** 32n ? length : 2n ** 32n);
  return {
    kernel: encoded(kernel),
    job: plain(job),
    chunk: plain(typeof chunk === 'function' ? chunk({ start, count }) : chunk),
    buffers,
    start: BigInt(start),
    length: BigInt(length),
  };
}

/** Indices of a kernel that comes without a space. */
const DEFAULT_LENGTH = 4096;

/** Typed arrays become lists. */
const plain = (fields: FieldRecord): FieldRecord =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'object' ? Array.from(value) : value]),
  );

function encoded(kernel: Kernel): Uint8Array {
  // Tracing finds mistakes that recording does not.
  kernel.trace();
  return encodeKernel(kernel);
}

const isKernel = (value: unknown): value is Kernel =>
  typeof value === 'object' && value !== null && 'trace' in value && 'signature' in value;

const noKernel = (message: string): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message,
    advice: 'export default items(…), or { kernel, space, job, buffers }',
  });
