/**
 * The place in the user's source where a value or statement was written. Capturing takes some microseconds, since V8 formats
 * a stack only when it is read. Every node can therefore have an origin.
 */
export class Origin {
  readonly #holder: { stack?: string } = {};
  #parsed: Frame[] | undefined;

  constructor() {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = FRAMES;
    Error.captureStackTrace?.(this.#holder, Origin);
    Error.stackTraceLimit = limit;
  }

  static here(): Origin {
    return new Origin();
  }

  /** Frames from the statement outwards, up to the kernel's body. */
  get frames(): readonly Frame[] {
    this.#parsed ??= parse(this.#holder.stack ?? '');
    return this.#parsed;
  }

  /** `file:line:column` of the innermost frame in the user's code. */
  get line(): string {
    const frames = this.frames;
    const own = frames.find((frame) => frame.part === 'user') ?? frames.find((frame) => frame.part === 'std');
    // If a bundler has put everything into one file, the outermost frame is still the kernel's body.
    return (own ?? frames.at(-1))?.where ?? 'an unknown line';
  }

  /** The named helper functions between the kernel's body and this line, outermost first. */
  get helpers(): readonly string[] {
    return this.frames
      .filter((frame) => frame.part !== 'language' && frame.name !== '')
      .map((frame) => frame.name)
      .reverse();
  }
}

export interface Frame {
  /** The function's name; '' if anonymous. */
  readonly name: string;
  readonly where: string;
  /** The owner of the code: the user, a std function, or the language itself. */
  readonly part: 'user' | 'std' | 'language';
}

/** Stack frames recorded: about five are the language's own, the rest the kernel's helpers. */
const FRAMES = 14;

/** Tracing calls the kernel's body from a function with this name. Frames beyond it do not belong to the kernel. */
export const BODY_MARK = 'callKernelBody';

/** The language's folder as it appears in stack frames; in a bundle, the bundle's one file. */
const languageFolder = /\/kernel\/language\/origin\.[jt]s$/.test(import.meta.url)
  ? import.meta.url.slice(0, import.meta.url.lastIndexOf('/language/') + 1).replace(/^file:\/\//, '')
  : `${import.meta.url}:`;

function parse(stack: string): Frame[] {
  const frames: Frame[] = [];
  for (const text of stack.split('\n')) {
    const match = /^\s*at (?:(?:async )?(.*?) \()?((?:file:\/\/)?[^()]+:\d+:\d+)\)?$/.exec(text);
    if (!match) continue;
    const [, fullName = '', location = ''] = match;
    if (fullName.includes(BODY_MARK)) break;
    const where = location.replace(/^file:\/\//, '');
    const [plainName = ''] = fullName.split(' [as ', 1);
    const name = plainName.replace(/^new /, '').replace(/^(Object|Module|Array)\.|<anonymous>$/g, '');
    frames.push({ name, where, part: partOf(where) });
  }
  return frames;
}

function partOf(where: string): Frame['part'] {
  if (where.startsWith('node:')) return 'language';
  if (!where.startsWith(languageFolder) || /\.test\.[jt]s:/.test(where)) return 'user';
  return where.startsWith(`${languageFolder}std/`) ? 'std' : 'language';
}
