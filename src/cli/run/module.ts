import { readFileSync, statSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { pathToFileURL } from 'node:url';
import { MillraceError } from '../../kernel/error.js';
import { bundledExport, library } from '../start/library.js';
import { load, resolve, strip } from './hooks.js';

/** Returns the exports of a user's file. Errors in the file are reported with file and line. */
export async function importFile(path: string): Promise<Readonly<Record<string, unknown>>> {
  checkFile(path);
  try {
    return await importModule(pathToFileURL(path).href);
  } catch (error) {
    throw errorInFile(path, error);
  }
}

/** Imports a module by its URL. */
export async function importModule(url: string): Promise<Readonly<Record<string, unknown>>> {
  // Preloads what the file will import. After hooks are installed, every module is resolved in their thread: 60 ms for
  // these.
  if (!isHooked) await import(bundledExport(PACKAGE, library.bundle) ?? PACKAGE);
  installHooks();
  return (await import(url)) as Record<string, unknown>;
}

/** Converts an error that a user's file caused: always the same code, and a message that says where it is. */
export function errorInFile(path: string, error: unknown): unknown {
  if (error instanceof MillraceError) {
    if (!isFaultOfFile(error)) return error;
    const where = /:\d+:\d+/.test(error.message) ? '' : whereOf(error, path);
    return fileError(path, where + error.summary, error, error.asked, error.advice);
  }
  if (!(error instanceof Error)) return fileError(path, `it threw ${String(error)}`, error);
  if ((error as NodeJS.ErrnoException).code === 'ERR_UNKNOWN_FILE_EXTENSION' && error.message.endsWith(path)) {
    const advice = 'use a file that ends in .ts, .mts, .js or .mjs; `millrace init` writes an example';
    return fileError(path, `${path} is not a TypeScript or JavaScript file`, error, undefined, advice);
  }
  return fileError(
    path,
    `${whereOf(error, path)}${error.name}: ${error.message}`.replace(/^SyntaxError: (?=\/)/, ''),
    error,
  );
}

/** True if an error at work is the file's fault: of its kernel, its buffers, or code of its own that a job calls. */
export function isCausedByFile(path: string, error: unknown): boolean {
  if (error instanceof MillraceError) return isFaultOfFile(error);
  const frames = error instanceof Error ? placesOf(error) : [];
  const innermost = frames.find((place) => !place.startsWith('node:'));
  return innermost !== undefined && (innermost.startsWith(`${path}:`) || isOutside(innermost));
}

/** Kernels, and launches whose buffers do not fit them. */
const isFaultOfFile = ({ code }: MillraceError): boolean => /^(kernel-.*|buffer-range|launch-arguments)$/.test(code);

function fileError(
  path: string,
  message: string,
  cause: unknown,
  asked = `to run ${path}`,
  advice = ADVICE,
): MillraceError {
  return new MillraceError({ code: 'input-format', message, asked, advice, cause });
}

const ADVICE = 'correct the file and run it again';

/** Returns `file:line:column: ` of the innermost frame outside Node and this package, if the error has one. */
function whereOf(error: Error, path: string): string {
  const { name, stack = '' } = error;
  const lines = stack.split('\n').map((line) => line.replaceAll('file://', ''));
  // Node writes the position of some syntax errors on a separate line before the error, and omits that of others.
  const written = lines.find((line) => line.startsWith(`${path}:`));
  const own = placesOf(error).find((place) => !place.startsWith('node:') && isOutside(place));
  const place = written ?? own ?? (name === 'SyntaxError' ? faultIn(path) : undefined);
  return place === undefined ? '' : `${place}: `;
}

/** Returns the `file:line:column` of each stack frame, the innermost first. */
const placesOf = ({ stack = '' }: Error): string[] =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .flatMap((line) => placeIn(line.replaceAll('file://', '')) ?? []);

/** True for a place outside this package and others. */
const isOutside = (place: string): boolean => !place.includes('/node_modules/') && !place.startsWith(PACKAGE_FOLDER);

/** Returns the `file:line:column` at the end of a stack frame, in parentheses or not. */
function placeIn(frame: string): string | undefined {
  const last = frame.split(/[()\s]/).findLast((word) => word !== '') ?? '';
  return /:\d+:\d+$/.test(last) ? last : undefined;
}

/** Returns the position of a syntax error in a file, if it has one. */
function faultIn(path: string): string | undefined {
  try {
    strip(readFileSync(path, 'utf8'), path);
    return undefined;
  } catch (error) {
    return /^.*?:\d+:\d+(?=: )/.exec((error as Error).message)?.[0];
  }
}

/** The package's own folder, as stack frames write it. */
const PACKAGE_FOLDER = new URL('../../', import.meta.url).href.replace(/^file:\/\//, '');

function checkFile(path: string): void {
  const refuse = (message: string, advice: string, cause?: unknown): MillraceError =>
    new MillraceError({ code: 'io', message, asked: `to run ${path}`, advice, cause });
  try {
    if (statSync(path).isFile()) return;
  } catch (cause) {
    throw refuse(`${path}: no such file`, '`millrace init` writes an example', cause);
  }
  throw refuse(`${path} is not a file`, 'name the file whose default export is a kernel');
}

/** The name by which the file imports it; from inside the package it resolves to this installation. */
const PACKAGE: string = 'millrace';

let isHooked = false;

/** Installs the hooks once per thread: files that the user's file imports are loaded in the same way. */
function installHooks(): void {
  if (isHooked) return;
  isHooked = true;
  // Node 22.15 and later. `register` is being deprecated there, and needs a thread.
  const { registerHooks } = nodeModule as { registerHooks?: (hooks: object) => unknown };
  if (registerHooks) registerHooks({ resolve, load });
  else nodeModule.register('./hooks.js', import.meta.url, { data: library });
}
