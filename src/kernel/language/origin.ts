/**
 * The place in the user's source where a value or statement was written. Capturing takes some microseconds, since V8 formats
 * a stack only when it is read. Every node can therefore have an origin.
 */
export class Origin {
  readonly #holder: { stack?: string } = {};
  #frames: StackFrame[] | undefined;

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
    this.#frames ??= parse(this.#holder.stack ?? '');
    return this.#frames;
  }

  /** `file:line:column` of the innermost frame in the user's code. */
  get line(): string {
    const frames = this.frames;
    const own = frames.find((frame) => frame.owner === 'user') ?? frames.find((frame) => frame.owner === 'std');
    // If a bundler has put everything into one file, the outermost frame is still the kernel's body.
    return (own ?? frames.at(-1))?.position ?? 'an unknown line';
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

/** Tracing calls the kernel's body from a function with this name. Frames beyond it do not belong to the kernel. */
export const BODY_CALLER_NAME = 'callKernelBody';

/** The language's folder as it appears in stack frames; in a bundle, the bundle's one file. */
const languageFolder = /\/kernel\/language\/origin\.[jt]s$/.test(import.meta.url)
  ? import.meta.url.slice(0, import.meta.url.lastIndexOf('/language/') + 1).replace(/^file:\/\//, '')
  : `${import.meta.url}:`;

function parse(stack: string): StackFrame[] {
  const frames: StackFrame[] = [];
  for (const text of stack.split('\n')) {
    const match = /^\s*at (?:(?:async )?(.*?) \()?((?:file:\/\/)?[^()]+:\d+:\d+)\)?$/.exec(text);
    if (!match) continue;
    const [, fullName = '', location = ''] = match;
    if (fullName.includes(BODY_CALLER_NAME)) break;
    const position = location.replace(/^file:\/\//, '');
    const [plainName = ''] = fullName.split(' [as ', 1);
    const name = plainName.replace(/^new /, '').replace(/^(Object|Module|Array)\.|<anonymous>$/g, '');
    frames.push({ name, position, owner: ownerOf(position) });
  }
  return frames;
}

function ownerOf(where: string): StackFrame['owner'] {
  if (where.startsWith('node:')) return 'language';
  if (!where.startsWith(languageFolder) || /\.test\.[jt]s:/.test(where)) return 'user';
  return where.startsWith(`${languageFolder}std/`) ? 'std' : 'language';
}
