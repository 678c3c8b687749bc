import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bundledExport, library } from '../start/library.js';

/**
 * Hooks for loading a user's file: `millrace` resolves to this installation, wherever the file is, and TypeScript types
 * are replaced by spaces, so that lines and columns of errors match the file. Node 22.18 strips types by itself, Node 20
 * does not; done here, it is the same everywhere. Both functions only pass on their arguments, so that they work with
 * `registerHooks` (synchronous) and `register` (in a separate thread) alike.
 */
export function resolve<Result>(
  specifier: string,
  context: ResolveContext,
  next: (specifier: string, context: ResolveContext) => Result,
): Result {
  const bundled = bundledExport(specifier, library.bundle);
  if (bundled !== undefined) return next(bundled, context);
  if (/^millrace($|\/)/.test(specifier)) return next(specifier, { ...context, parentURL: import.meta.url });
  return next(sourceOf(specifier, context.parentURL) ?? specifier, context);
}

/** Called in the thread of `register`, which has its own copy of `library`. */
export function initialize({ bundle }: typeof library): void {
  library.bundle = bundle;
}

export function load<Result, Context>(
  url: string,
  context: Context,
  next: (url: string, context: Context) => Result,
): Result | LoadedModule {
  if (!isTypeScript(url)) return next(url, context);
  const path = fileURLToPath(url);
  return { format: 'module', source: strip(readFileSync(path, 'utf8'), path), shortCircuit: true };
}

export interface ResolveContext {
  readonly parentURL?: string | undefined;
}

export interface LoadedModule {
  readonly format: 'module';
  readonly source: string;
  readonly shortCircuit: true;
}

/** TypeScript code imports `./table.js` for `./table.ts`. */
function sourceOf(specifier: string, parentURL: string | undefined): string | undefined {
  if (!/^\.{1,2}\/.*\.m?js$/.test(specifier) || parentURL === undefined || !isTypeScript(parentURL)) return undefined;
  const written = new URL(specifier, parentURL);
  const meant = new URL(written.href.replace(/js$/, 'ts'));
  return !existsSync(written) && existsSync(meant) ? meant.href : undefined;
}

const isTypeScript = (url: string): boolean => url.startsWith('file:') && /\.m?ts$/.test(url.split('?', 1)[0] ?? '');

/**
 * Strips types. Throws a SyntaxError whose message begins with file, line and column: only an error's text crosses
 * threads.
 */
export function strip(text: string, path: string): string {
  // Loaded on demand: 3.6 MB of WebAssembly take 50 to 200 ms.
  const { transformSync } = createRequire(import.meta.url)('@swc/wasm-typescript') as Stripper;
  try {
    return transformSync(text, { mode: 'strip-only', module: true, filename: path }).code;
  } catch (fault) {
    const { message = String(fault), startLine = 1, startColumn = 0 } = fault as SyntaxFault;
    throw new SyntaxError(`${path}:${startLine}:${startColumn + 1}: ${message}`);
  }
}

type Stripper = typeof import('@swc/wasm-typescript');

/** What the stripper throws. */
interface SyntaxFault {
  readonly message?: string;
  readonly startLine?: number;
  /** From 0. */
  readonly startColumn?: number;
}
