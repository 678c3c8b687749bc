import { lstat, readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path';

/** Why a directory of programs cannot be trusted, and what to do about it. */
export interface TrustProblem {
  readonly fault: string;
  readonly advice: string;
}

/**
 * Reports if another user could put programs into the directory or replace the directory; undefined if not. Reads only.
 * A directory that does not exist yet is judged by its parents. Systems without user ids are trusted.
 */
export async function trustProblem(directory: string): Promise<TrustProblem | undefined> {
  const me = process.getuid?.();
  if (me === undefined) return undefined;
  const { root } = parse(resolve(directory));
  let names = namesIn(resolve(directory).slice(root.length));
  let at = root;
  let links = 0;
  for (;;) {
    const state = await lstat(at).catch(() => undefined);
    if (state === undefined) return undefined; // this process will create it, below a directory that was checked
    const isLast = names.length === 0;
    if (state.uid !== me && (isLast || state.uid !== 0)) return ownedByOther(at, isLast, state.uid, me);
    if (state.isSymbolicLink() && !isLast) {
      if (++links > MAX_LINKS) return useAnother(`${at} is part of a loop of symbolic links`);
      const target = await readlink(at);
      names = [...namesIn(target), ...names];
      at = isAbsolute(target) ? root : dirname(at);
    } else {
      if (!state.isDirectory()) return useAnother(isLast ? 'it is not a directory' : `${at} is not a directory`);
      // In a sticky directory only owners can rename their entries. Programs themselves must not lie in a sticky
      // directory.
      if ((state.mode & 0o022) !== 0 && (isLast || (state.mode & STICKY) === 0))
        return writableByOthers(at, isLast, state.mode);
      if (isLast) return undefined;
    }
    const [next = '', ...rest] = names;
    names = rest;
    at = join(at, next);
  }
}

const STICKY = 0o1000;
/** The limit of Linux. */
const MAX_LINKS = 40;

const namesIn = (path: string): string[] => path.split(sep).filter((name) => name !== '' && name !== '.');

const SET_ADVICE = 'set MILLRACE_CACHE_DIR to a directory that only you can write to';

const useAnother = (fault: string): TrustProblem => ({ fault, advice: SET_ADVICE });

function ownedByOther(at: string, isLast: boolean, owner: number, me: number): TrustProblem {
  return useAnother(`${isLast ? 'it' : `its parent directory ${at}`} belongs to user ${owner}, not to user ${me}`);
}

function writableByOthers(at: string, isLast: boolean, mode: number): TrustProblem {
  const octal = (mode & 0o777).toString(8);
  return {
    fault: `other users can write to ${isLast ? 'it' : `its parent directory ${at}`} (mode ${octal})`,
    advice: `run \`chmod ${isLast ? '700' : 'go-w'} ${at}\`, or ${SET_ADVICE}`,
  };
}
