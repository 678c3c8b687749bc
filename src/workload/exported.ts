import type { ExportKernel } from '../export/request.js';
import { MillraceError } from '../kernel/error.js';
import { genesis } from './block/kernel/genesis.js';
import { headerScan, midstateScan } from './block/kernel/kernel.js';
import { headerPrefix, targetFromBits } from './block/kernel/reference.js';
import { jobValues } from './block/kernel/scan.js';
import { exportedEncode } from './encode/kernel/exported.js';
import { encodeEngine } from './encode/library/engine.js';
import { exportedWords } from './words/library/exported.js';

/** `--param name=value` of `millrace export`. */
export type ExportParams = ReadonlyMap<string, string>;

/** Kernels that `millrace export` takes by name. */
export const exportedKernels: Readonly<Record<string, (params: ExportParams) => ExportKernel>> = {
  block: (params) => {
    checkParams('block', params, []);
    return {
      source: 'block',
      // For all targets: the test for those below 2^224 saves nothing that can be measured.
      cpu: { kernel: headerScan({ topWordZero: false }) },
      gpu: { kernel: headerScan({ topWordZero: false }) },
      armSha2: { kernel: headerScan({ topWordZero: false, perThread: 32 }), indices: 32 },
      indexField: 'nonce',
      program: midstateScan({ topWordZero: false }),
      example: {
        job: jobValues(headerPrefix(genesis), targetFromBits(genesis.bits)),
        start: 2083230000n,
        count: 10000n,
      },
    };
  },
  words: (params) => {
    checkParams('words', params, []);
    return exportedWords();
  },
  encode: (params) => {
    checkParams('encode', params, ['encoding', 'qubits', 'precision', 'order']);
    return { ...exportedEncode(params), ...(params.size === 0 && { engine: encodeEngine() }) };
  },
};

/** Why other workloads cannot be exported. */
export const refusedKernels: Readonly<Record<string, string>> = {
  uhash: 'uhash is a chain of launches that JavaScript puts together, not one kernel: it cannot be exported',
  gaps: 'gaps is a chain of launches that JavaScript puts together, not one kernel: it cannot be exported',
};

function checkParams(kernel: string, params: ExportParams, known: readonly string[]): void {
  const unknown = [...params.keys()].filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw new MillraceError({
    code: 'usage',
    message: `kernel ${kernel} has no parameter ${unknown.join(', ')}`,
    asked: unknown.map((name) => `--param ${name}=${params.get(name)}`).join(' '),
    advice: known.length === 0 ? 'it takes none' : `its parameters are ${known.join(', ')}`,
  });
}
