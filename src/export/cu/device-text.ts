import { cudaLowering, lowerGpu } from '../../kernel/abi/lower-gpu.js';
import type { Kernel } from '../../kernel/index.js';
import type { CuPipeline } from '../request.js';
import { annotate } from './comments.js';
import { hostPart } from './host-part.js';
import { WordNames } from './words.js';

/** The generated parts of the file. */
export interface DeviceText {
  /** Types, and the launch block. */
  readonly types: string;
  /** Names of the words that the host and the kernel share. */
  readonly words: string;
  /** The kernel without its body. */
  readonly declaration: string;
  /** The body of the function that computes the job's words. */
  readonly hostPart: string;
  /** Functions of the device, and the kernel. */
  readonly kernel: string;
}

/** The kernel's name in the file. */
const ENTRY = 'search_nonces';

/**
 * Lowers the kernel as CUDA devices of the engine do. The text is theirs, with names for words of memory and with comments.
 */
export function deviceText(kernel: Kernel, pipeline: CuPipeline): DeviceText {
  const lowered = lowerGpu(kernel, { ...cudaLowering, harness: pipeline === 'persistent' ? 'queue' : 'range' });
  const { program, shape } = lowered;
  const names = new WordNames(lowered, pipeline);
  const lines = lowered.text.replace(shape.entry, ENTRY).trimEnd().split('\n');
  const at = lines.findIndex((line) => line.startsWith('extern "C"'));
  const prelude = lines.slice(0, at).filter((line) => line !== '' && !line.startsWith('//'));
  const isFunction = (line: string) => line.startsWith('__device__');
  const head = wrapped((lines[at] ?? '').replace(/ \{$/, ''));
  const body = lines.slice(at + 1).map((line) => names.apply(line));
  return {
    types: prelude.filter((line) => !isFunction(line)).join('\n'),
    words: names.declarations,
    declaration: `${head};`,
    hostPart: hostPart(program)
      .map((line) => `  ${line}`)
      .join('\n'),
    kernel: [...prelude.filter(isFunction), '', `${head} {`, ...annotate(body, pipeline)].join('\n'),
  };
}

/** Breaks the list of a head's arguments into lines. */
function wrapped(head: string): string {
  const [name = '', list = ''] = head.split(`${ENTRY}(`);
  const rows: string[] = [];
  for (const argument of list.replace(/\)$/, '').split(', ')) {
    const last = rows.at(-1);
    if (last !== undefined && last.length + argument.length < 110) rows[rows.length - 1] = `${last}, ${argument}`;
    else rows.push(argument);
  }
  return `${name}${ENTRY}(\n    ${rows.join(',\n    ')})`;
}
