import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * How Node loads a user's file: `millrace` is this installation, wherever the file lies, and TypeScript loses its types.
 * They become spaces, so that lines and columns of errors are the file's own. Node 22.18 does as much by itself, Node 20
 * does not; done here it is the same everywhere. Both functions only pass on what they are given, so that they serve
 * `registerHooks` (called at once) and `register` (called in a thread of its own) alike.
 */
export function resolve<Result>(
  specifier: string,
  context: ResolveContext,
  next: (specifier: string, context: ResolveContext) => Result,
): Result {
  // A second copy of the language would know nothing of the tracing under way in this one.
  if (/^millrace($|\/)/.test(specifier)) return next(specifier, { ...context, parentURL: import.meta.url });
  return next(sourceOf(specifier, context.parentURL) ?? specifier, context);
}

export function load<Result, Context>(
  url: string,
  context: Context,
  next: (url: string, context: Context) => Result,
): Result | Loaded {
  if (!isTypeScript(url)) return next(url, context);
  const path = fileURLToPath(url);
  return { format: 'module', source: strip(readFileSync(path, 'utf8'), path), shortCircuit: true };
}

export interface ResolveContext {
  readonly parentURL?: string | undefined;
}

export interface Loaded {
  readonly format: 'module';
  readonly source: string;
  readonly shortCircuit: true;
}

/** TypeScript writes `./table.js` and means `./table.ts`. */
function sourceOf(specifier: string, parentURL: string | undefined): string | undefined {
  if (!/^\.{1,2}\/.*\.m?js$/.test(specifier) || parentURL === undefined || !isTypeScript(parentURL)) return undefined;
  const written = new URL(specifier, parentURL);
  const meant = new URL(written.href.replace(/js$/, 'ts'));
  return !existsSync(written) && existsSync(meant) ? meant.href : undefined;
}

const isTypeScript = (url: string): boolean => url.startsWith('file:') && /\.m?ts$/.test(url.split('?', 1)[0] ?? '');

/** Throws a SyntaxError whose message begins with file, line and column: only an error's text crosses threads. */
export function strip(text: string, path: string): string {
  // Loaded when there is something to strip: 3.6 MB of WebAssembly take 50 to 200 ms.
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
