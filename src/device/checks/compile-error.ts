import { MillraceError } from '../../kernel/error.js';
import type { Origin } from '../../kernel/index.js';

/** Generated text and the origins of its lines. */
export interface GeneratedText {
  readonly name: string;
  readonly text: string;
  /** The TypeScript that each generated line came from; index 0 is line 1. */
  readonly lineOrigins: readonly (Origin | undefined)[];
}

/** A compiler's error. */
export interface CompilerFailure {
  /** The compiler's name: `the C compiler`, `wabt`. */
  readonly compiler: string;
  readonly error: string;
  /** The line of the text, from 1, if known. */
  readonly line?: number | undefined;
  readonly asked: string;
  readonly advice: string;
  readonly cause?: unknown;
}

/** Builds the error for a failed compilation, with the line in the generated text and in TypeScript. */
export function compileError(source: GeneratedText, failure: CompilerFailure): MillraceError {
  const { compiler, error, line, asked, advice, cause } = failure;
  const lines = [`kernel ${source.name}: ${compiler} rejected the generated text`, `  error:  ${error}`];
  if (line !== undefined) {
    const origin = source.lineOrigins[line - 1];
    lines.push(`  text:   line ${line}: ${source.text.split('\n')[line - 1]?.trim() ?? ''}`);
    if (origin) lines.push(`  from:   ${[...origin.helpers, origin.line].join(' > ')}`);
  }
  return new MillraceError({ code: 'device-compile', message: lines.join('\n'), asked, advice, cause });
}
