/**
 * The place in the user's source where a value or statement was written. Capturing takes some microseconds, since V8 formats
 * a stack only when it is read. Every node can therefore have an origin.
 */
export class Origin {
  readonly #holder: { stack?: string } = {};
  #frames: readonly StackFrame[] | undefined;

  constructor() {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = MAX_FRAMES;
    Error.captureStackTrace?.(this.#holder, Origin);
    Error.stackTraceLimit = limit;
  }

  static here(): Origin {
    return new Origin();
  }

  /** An origin that is known as text alone. */
  static ofLine(line: string): Origin {
    const origin = new Origin();
    origin.#frames = [{ name: '', position: line, owner: 'user' }];
    return origin;
  }

  /** Frames from the statement outwards, up to the kernel's body. */
  get frames(): readonly StackFrame[] {
    this.#frames ??= framesOf(callSites(this.#holder));
    return this.#frames;
  }

  /** `file:line:column` of the innermost frame in the user's code. */
  get line(): string {
    const frames = this.frames;
    const own = frames.find((frame) => frame.owner === 'user') ?? frames.find((frame) => frame.owner === 'std');
    return (own ?? frames.at(-1))?.position ?? 'an unknown line';
  }

  /** True if a std function wrote this, by itself and not in a function that it was given. */
  get isInStd(): boolean {
    return this.frames.find((frame) => frame.owner !== 'language')?.owner === 'std';
  }

  /** The named helper functions between the kernel's body and this line, outermost first. */
  get helpers(): readonly string[] {
    return this.frames
      .filter((frame) => frame.owner !== 'language' && frame.name !== '')
      .map((frame) => frame.name)
      .reverse();
  }
}

export interface StackFrame {
  /** The function's name; '' if anonymous. */
  readonly name: string;
  readonly position: string;
  /** The owner of the code: the user, a std function, or the language itself. */
  readonly owner: 'user' | 'std' | 'language';
}

/** Stack frames recorded: about five are the language's own, the rest the kernel's helpers. */
const MAX_FRAMES = 14;

const KERNEL_CALLER = 'callKernelBody';
const BLOCK_CALLER = 'callBlockBody';
/**
 * Two callers whose names are visible in a stack, even in a minified bundle, because they are names of properties. Tracing
 * runs in `callKernelBody`: frames beyond it do not belong to the kernel. `callBlockBody` calls each function that the
 * kernel's author has written: the kernel's body and the bodies of its blocks.
 */
export const callers = {
  [KERNEL_CALLER]: (trace: () => void): void => trace(),
  [BLOCK_CALLER]: <Args extends readonly unknown[], R>(body: (...args: Args) => R, ...args: Args): R => body(...args),
};

/** The parts used here of a call site of V8. */
type CallSite = Pick<NodeJS.CallSite, 'getFunctionName' | 'getFileName' | 'getLineNumber' | 'getColumnNumber'>;

/**
 * Returns the call sites of a captured stack. Their files are those that run. The text of the stack would have the names
 * that a source map gives to them, to the language's own files too, and those could not be recognised.
 */
function callSites(holder: { readonly stack?: string }): readonly CallSite[] {
  const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  const found: { sites?: readonly CallSite[] } = {};
  Error.prepareStackTrace = (_error, sites) => {
    found.sites = sites;
    return '';
  };
  try {
    const text = holder.stack; // V8 formats the stack now
    return found.sites ?? sitesInText(text ?? '');
  } finally {
    if (before) Object.defineProperty(Error, 'prepareStackTrace', before);
    else Reflect.deleteProperty(Error, 'prepareStackTrace');
  }
}

/** Reads a stack that an engine has formatted when it was captured. */
function sitesInText(text: string): CallSite[] {
  return text.split('\n').flatMap((line) => {
    const [, name = '', file, row, column] = frameText.exec(line) ?? [];
    if (file === undefined) return [];
    return {
      getFunctionName: () => name,
      getFileName: () => file,
      getLineNumber: () => Number(row),
      getColumnNumber: () => Number(column),
    };
  });
}

const frameText = /^\s*at (?:(?:async )?(.*?) \()?([^()]+):(\d+):(\d+)\)?$/;

function framesOf(sites: readonly CallSite[]): StackFrame[] {
  const end = sites.findIndex((site) => isCaller(site, KERNEL_CALLER));
  const inKernel = sites.slice(0, end < 0 ? undefined : end).filter((site) => site.getFileName()); // not Array.map
  const ownerOf = ownersOf(inKernel);
  return inKernel
    .filter((site) => !isCaller(site, BLOCK_CALLER))
    .map((site) => {
      let position: string | undefined;
      return {
        owner: ownerOf(site),
        get name() {
          return nameOf(site);
        },
        get position() {
          position ??= positionOf(site);
          return position;
        },
      };
    });
}

/** Returns a function that tells the owner of a call site. */
function ownersOf(inKernel: readonly CallSite[]): (site: CallSite) => StackFrame['owner'] {
  ownCode ??= findOwnCode();
  const { folder, file, isMapped } = ownCode;
  if (folder !== undefined) return (site) => ownerOfFile(isMapped ? fileIn(positionOf(site)) : scriptOf(site), folder);
  // A bundle without a source map. If the kernel is in another file than the language, files still tell the owners.
  if (inKernel.some((site) => scriptOf(site) !== file))
    return (site) => (scriptOf(site) === file ? 'language' : 'user');
  const bodies = new Set(inKernel.filter((_, at) => isCaller(inKernel[at + 1], BLOCK_CALLER)));
  return (site) => (bodies.has(site) ? 'user' : 'language');
}

function ownerOfFile(file: string, folder: string): StackFrame['owner'] {
  if (file.startsWith('node:')) return 'language';
  if (!file.startsWith(folder) || /\.test\.[jt]s$/.test(file)) return 'user';
  return file.startsWith(`${folder}std/`) ? 'std' : 'language';
}

/** Where this module's own code is: in a folder `kernel/`, as it runs or by a source map, or somewhere in a bundle. */
interface OwnCode {
  readonly file: string;
  readonly folder?: string;
  readonly isMapped?: boolean;
}

let ownCode: OwnCode | undefined;

function findOwnCode(): OwnCode {
  const holder: { stack?: string } = {};
  Error.captureStackTrace?.(holder);
  const [site] = callSites(holder);
  if (!site) return { file: '' };
  const file = scriptOf(site);
  const mapped = fileIn(positionOf(site));
  const [folder, mappedFolder] = [file, mapped].map((name) => thisFile.exec(name)?.[1]);
  if (folder !== undefined) return { file, folder };
  return mappedFolder === undefined ? { file } : { file, folder: mappedFolder, isMapped: true };
}

const thisFile = /^(.*\/kernel\/)language\/origin\.[jt]s(?:\?.*)?$/;

const isCaller = (site: CallSite | undefined, name: string): boolean => !!site?.getFunctionName()?.includes(name);

function nameOf(site: CallSite): string {
  const full = frameText.exec(`at ${site}`)?.[1] ?? site.getFunctionName() ?? '';
  const [plain = ''] = full.split(' [as ', 1);
  return plain.replace(/^new /, '').replace(/^(Object|Module|Array)\.|<anonymous>$/g, '');
}

/** The file that runs, as the engine names it. */
function scriptOf(site: CallSite): string {
  return withoutScheme(site.getFileName() ?? '');
}

const fileIn = (position: string): string => position.replace(/:\d+:\d+$/, '');
const withoutScheme = (file: string): string => file.replace(/^file:\/\//, '');

/** `file:line:column` in the source, if a source map tells it, else in the file that runs. */
function positionOf(site: CallSite): string {
  const [row, column] = [site.getLineNumber() ?? 0, site.getColumnNumber() ?? 0];
  return (
    positionByHook(site) ??
    positionByNode(site.getFileName() ?? '', row, column) ??
    `${scriptOf(site)}:${row}:${column}`
  );
}

/** Asks the program that formats stacks here: vitest and source-map-support install one that knows their source maps. */
function positionByHook(site: CallSite): string | undefined {
  const { prepareStackTrace }: { prepareStackTrace?: typeof Error.prepareStackTrace } = Error;
  const text: unknown = prepareStackTrace?.call(Error, { name: 'Error', message: '' }, [site as NodeJS.CallSite]);
  if (typeof text !== 'string') return undefined;
  const [, , file, row, column] = frameText.exec(text.slice(text.lastIndexOf('\n') + 1)) ?? [];
  return file === undefined ? undefined : `${withoutScheme(file)}:${row}:${column}`;
}

interface NodeModule {
  findSourceMap?(file: string): { findEntry(row: number, column: number): SourceEntry } | undefined;
}
interface SourceEntry {
  readonly originalSource?: string;
  readonly originalLine?: number;
  readonly originalColumn?: number;
}

/** Asks Node, which knows the source maps of files that it loaded with --enable-source-maps. */
function positionByNode(file: string, row: number, column: number): string | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): object | undefined } };
  const node = process?.getBuiltinModule?.('node:module') as NodeModule | undefined;
  const entry = node?.findSourceMap?.(file)?.findEntry(row - 1, column - 1);
  if (entry?.originalSource === undefined || entry.originalLine === undefined) return undefined;
  return `${withoutScheme(entry.originalSource)}:${entry.originalLine + 1}:${(entry.originalColumn ?? 0) + 1}`;
}
