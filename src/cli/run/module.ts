import { readFileSync, statSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { pathToFileURL } from 'node:url';
import { MillraceError } from '../../kernel/error.js';
import { load, resolve, strip } from './hooks.js';

/** The exports of a user's file. What is wrong in it is told with its file and line. */
export async function importFile(path: string): Promise<Readonly<Record<string, unknown>>> {
  checkFile(path);
  try {
    return await importModule(pathToFileURL(path).href);
  } catch (error) {
    throw inFile(path, error);
  }
}

/** A module by its address. */
export async function importModule(url: string): Promise<Readonly<Record<string, unknown>>> {
  // What the file is about to import. Once there are hooks, every module is asked for in their thread: 60 ms for these.
  if (!isHooked) await import(PACKAGE);
  hookNode();
  return (await import(url)) as Record<string, unknown>;
}

/** An error that a user's file caused: for programs always the same code, for people where it is. */
export function inFile(path: string, error: unknown): unknown {
  if (error instanceof MillraceError) {
    if (!error.code.startsWith('kernel-')) return error;
    const where = /:\d+:\d+/.test(error.message) ? '' : whereOf(error, path);
    return fault(path, where + error.summary, error, error.asked, error.advice);
  }
  if (!(error instanceof Error)) return fault(path, `it threw ${String(error)}`, error);
  return fault(
    path,
    `${whereOf(error, path)}${error.name}: ${error.message}`.replace(/^SyntaxError: (?=\/)/, ''),
    error,
  );
}

function fault(
  path: string,
  message: string,
  cause: unknown,
  asked = `to run ${path}`,
  advice = ADVICE,
): MillraceError {
  return new MillraceError({ code: 'input-format', message, asked, advice, cause });
}

const ADVICE = 'put it right there and run it again';

/** `file:line:column: ` of the innermost frame that is not Node's or ours, where the error has one. */
function whereOf({ name, stack = '' }: Error, path: string): string {
  const lines = stack.split('\n').map((line) => line.replaceAll('file://', ''));
  // Node writes the place of some syntax errors on a line of its own, before the error, and hides that of others.
  const written = lines.find((line) => line.startsWith(`${path}:`));
  const places = lines.filter((line) => /^\s+at /.test(line)).flatMap((line) => placeIn(line) ?? []);
  const own = places.find((place) => !/^node:|\/node_modules\//.test(place) && !place.startsWith(HERE));
  const place = written ?? own ?? (name === 'SyntaxError' ? faultIn(path) : undefined);
  return place === undefined ? '' : `${place}: `;
}

/** The `file:line:column` that ends a frame of a stack, in parentheses or not. */
function placeIn(frame: string): string | undefined {
  const last = frame.split(/[()\s]/).findLast((word) => word !== '') ?? '';
  return /:\d+:\d+$/.test(last) ? last : undefined;
}

/** Where a file is no JavaScript, if that is the trouble. */
function faultIn(path: string): string | undefined {
  try {
    strip(readFileSync(path, 'utf8'), path);
    return undefined;
  } catch (error) {
    return /^.*?:\d+:\d+(?=: )/.exec((error as Error).message)?.[0];
  }
}

/** The package's own code, as stack frames write it. */
const HERE = new URL('../../', import.meta.url).href.replace(/^file:\/\//, '');

function checkFile(path: string): void {
  const refuse = (message: string, advice: string, cause?: unknown): MillraceError =>
    new MillraceError({ code: 'io', message, asked: `to run ${path}`, advice, cause });
  try {
    if (statSync(path).isFile()) return;
  } catch (cause) {
    throw refuse(`${path}: there is no such file`, '`millrace init` writes one to begin with', cause);
  }
  throw refuse(`${path} is no file`, 'name the file whose default export is a kernel');
}

/** By its own name, as the file has it: from anywhere in here that is this installation. */
const PACKAGE: string = 'millrace';

let isHooked = false;

/** Once for the thread: files that the user's file imports are loaded in the same way. */
function hookNode(): void {
  if (isHooked) return;
  isHooked = true;
  // Node 22.15 and later; `register` is on its way out there, and needs a thread.
  const { registerHooks } = nodeModule as { registerHooks?: (hooks: object) => unknown };
  if (registerHooks) registerHooks({ resolve, load });
  else nodeModule.register('./hooks.js', import.meta.url);
}
