import { passTexts } from '../../../kernel/abi/pass-texts.js';
import { firstLine, MillraceError } from '../../../kernel/error.js';
import { decodeKernel, type Kernel, kernelStats, lower, lowerGpu, plainCpu } from '../../../kernel/index.js';
import type { OperationClass } from '../../../kernel/ir/ops.js';
import type { Origin } from '../../../kernel/language/origin.js';
import { placeIn } from '../faults.js';
import { type CompilePart, type CountsData, type Target, type TargetText, targets } from '../messages.js';

/** Compiles a kernel for every target, `first` before the others. */
export function compileKernel(bytes: Uint8Array, first: Target, report: (part: CompilePart) => void): void {
  // The texts are shown, not run: like `millrace kernel show` they are without the checks of a kernel from elsewhere.
  const { untrusted: _, ...kernel } = decodeKernel(bytes);
  report({ counts: countsOf(kernel) });
  for (const target of [first, ...targets.filter((one) => one !== first)]) report({ text: textOf(kernel, target) });
  report({ passes: passTexts(kernel) });
}

function textOf(kernel: Kernel, target: Target): TargetText {
  try {
    const { text, lineOrigins, statements, lanes } =
      target === 'c' || target === 'wat'
        ? lower(kernel, { target, lanes: 'auto', hoist: true, checked: false, cpu: plainCpu, nativeBodies: true })
        : lowerGpu(kernel, { target });
    return { target, text, isRefused: false, rows: lineOrigins.map(rowOf), statements, lanes };
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    // A target may lack what the kernel needs: 64-bit floats, for example.
    return { target, text: firstLine(error), isRefused: true, rows: [], statements: 0, lanes: 0 };
  }
}

const rowOf = (origin: Origin | undefined): number => (origin ? (placeIn(origin.line)?.row ?? 0) : 0);

function countsOf(kernel: Kernel): CountsData {
  const { name, always, underTests, words, host } = kernelStats(kernel);
  const classes = (Object.keys(always) as OperationClass[])
    .filter((kind) => always[kind] + underTests[kind] > 0)
    .map((kind) => ({ name: kind, always: always[kind], underTests: underTests[kind] }));
  return { name, classes, words, host };
}
