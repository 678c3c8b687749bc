import { MAX_PRINTS, PRINT_HEADER_WORDS, PRINT_RECORD_WORDS } from '../../ir/prints.js';
import { AtomicBuffer } from '../../language/buffers.js';
import { when } from '../../language/control.js';
import { asScalar, Expr } from '../../language/expr.js';
import { currentTrace } from '../../language/trace.js';
import type { Numeric, Type } from '../../language/types.js';

/**
 * Shows a value while a kernel is being developed. The engine reports label, value, index and line: on the interpreter at
 * once, on other devices when the chunk is complete, at most 1,024 values of a chunk. A launch without the engine must bind
 * the buffer `_prints`.
 */
export function print(label: string, value: Expr<Type>): void {
  const trace = currentTrace();
  if (!(value instanceof Expr))
    throw trace.error('kernel-type', 'print() of a value that is known while tracing', 'write console.log() for it');
  trace.checkEffect('print()');
  const { buffer, call } = trace.addPrint(label, value.type);
  const prints = new AtomicBuffer<'u32'>(buffer);
  const item = new Expr('u32', trace.leaf('item', 'u32', {}));
  const words = [item, call, ...wordsOf(value)];
  const slot = prints.add(0, 1);
  when(slot.lt(MAX_PRINTS), () => {
    const start = slot.mul(PRINT_RECORD_WORDS).add(PRINT_HEADER_WORDS);
    for (const [at, word] of words.entries()) prints.store(start.add(at), word);
  });
}

function wordsOf(value: Expr<Type>): (Expr<'u32'> | number)[] {
  switch (value.type) {
    case 'bool':
      return [value.to('u32'), 0];
    case 'i64':
    case 'u64':
    case 'f64': {
      const bits = (value as Expr<Numeric>).bits('u64');
      return [bits.lo, bits.hi];
    }
    default:
      return [(asScalar(value) as Expr<Numeric>).bits('u32'), 0];
  }
}
