import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { MillraceError } from '../../kernel/error.js';
import type { FieldValues, Kernel } from '../../kernel/index.js';
import { importFile } from './module.js';
import { checkNames, evaluateExport, isKernel, type Space, traceKernel } from './task.js';
import { jobValues, type Params } from './values.js';

/** A user's file, and the name of one of its kernels if given as `FILE#NAME`. */
export interface KernelFile {
  readonly path: string;
  readonly name?: string;
}

/** Parses `FILE` or `FILE#NAME`; undefined if the text looks like neither. A file's own name may contain a `#`. */
export function kernelFile(text: string): KernelFile | undefined {
  if (existsSync(text)) return { path: resolve(text) };
  const at = text.lastIndexOf('#');
  if (at > 0) return { path: resolve(text.slice(0, at)), name: text.slice(at + 1) };
  return /[./\\]/.test(text) ? { path: resolve(text) } : undefined;
}

/**
 * Loads a kernel of a user's file and traces it once, so that mistakes are reported with their line. Without a name it is
 * the default export, which `millrace run` uses, or else the only kernel. Names are those of exports, or of kernels.
 */
export async function loadKernel({ path, name }: KernelFile, params: Params): Promise<LoadedKernel> {
  const exported = await importFile(path);
  const value = name === undefined ? onlyExport(path, exported) : exportByName(path, exported, name);
  const { value: given, readNames } = await evaluateExport(path, value, params);
  const kernel = kernelOf(given);
  if (!kernel) throw kernelError(path, `the export ${name ?? 'default'} is not a kernel`, exported);
  const fields = traceKernel(path, kernel).job;
  checkNames(fields, params, readNames);
  const { job = {}, space } = given as Partial<LoadedKernel>;
  const isOwn = (param: string): boolean =>
    fields.some((field) => field.name === param) && !(readNames.has(param) && Object.hasOwn(job, param));
  const own = new Map([...params].filter(([param]) => isOwn(param)));
  return { kernel, job: { ...job, ...jobValues(fields, own) }, space };
}

export interface LoadedKernel {
  readonly kernel: Kernel;
  /** As an object for `millrace run` has them, with the parameters. */
  readonly job: FieldValues;
  readonly space: Space | undefined;
}

type Exports = Readonly<Record<string, unknown>>;

/** Returns the kernel of an export: the export itself, or the `kernel` of an object for `millrace run`. */
function kernelOf(value: unknown): Kernel | undefined {
  if (isKernel(value)) return value;
  const { kernel } = (typeof value === 'object' && value !== null ? value : {}) as { readonly kernel?: unknown };
  return isKernel(kernel) ? kernel : undefined;
}

function onlyExport(path: string, exported: Exports): unknown {
  if (Object.hasOwn(exported, 'default')) return exported.default;
  const kernels = new Set(Object.values(exported).flatMap((value) => kernelOf(value) ?? []));
  const [only] = kernels;
  if (kernels.size === 1) return only;
  throw kernelError(path, kernels.size === 0 ? 'it does not export a kernel' : 'it exports several kernels', exported);
}

function exportByName(path: string, exported: Exports, name: string): unknown {
  if (Object.hasOwn(exported, name)) return exported[name];
  const found = Object.values(exported).find((value) => kernelOf(value)?.name === name);
  if (found !== undefined) return found;
  throw kernelError(path, `it does not export a kernel called ${JSON.stringify(name)}`, exported);
}

/** Lists the possible names. A function may return a kernel, but is not called to find out. */
function kernelError(path: string, message: string, exported: Exports): MillraceError {
  const choices = Object.entries(exported).flatMap(([name, value]) => {
    const kernel = kernelOf(value);
    if (kernel) return kernel.name === name ? `#${name}` : `#${name} (${kernel.name})`;
    return typeof value === 'function' ? `#${name} (a function)` : [];
  });
  return new MillraceError({
    code: 'input-format',
    message: `${path}: ${message}`,
    asked: `a kernel of ${path}`,
    advice:
      choices.length === 0
        ? 'export a kernel: export default items(…)'
        : `name one after the file: ${choices.map((choice) => `${path}${choice}`).join(', ')}`,
  });
}
