/**
 * Where in the user's source a value or statement was written. Capturing costs some microseconds because V8 formats a
 * stack only when it is read; so every node can afford one.
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

  /** `file:line:column` of the innermost frame that is the user's own. */
  get line(): string {
    const frames = this.frames;
    const own = frames.find((frame) => frame.part === 'user') ?? frames.find((frame) => frame.part === 'std');
    // Where a bundler has put everything into one file, the outermost frame is still the kernel's body.
    return (own ?? frames.at(-1))?.where ?? 'an unknown line';
  }

  /** The named helper functions between the kernel's body and this place, outermost first. */
  get helpers(): readonly string[] {
    return this.frames
      .filter((frame) => frame.part !== 'language' && frame.name !== '')
      .map((frame) => frame.name)
      .reverse();
  }
}

export interface Frame {
  /** The function's name, '' for an anonymous one. */
  readonly name: string;
  readonly where: string;
  /** Whose code it is: the user's, a std function's, or the language's own. */
  readonly part: 'user' | 'std' | 'language';
}

/** How far up a stack is recorded: some five frames are the language's own, the rest the kernel's helpers. */
const FRAMES = 14;

/** Tracing calls the kernel's body from a function of this name; frames beyond it are not the kernel's. */
export const BODY_MARK = 'callKernelBody';

/** The language's folder, as stack frames write it; in a bundle, which has it in one file, that file. */
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
