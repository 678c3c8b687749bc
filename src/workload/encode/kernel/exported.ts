import type { ExportKernel, ExportVariant } from '../../../export/request.js';
import type { Kernel } from '../../../kernel/index.js';
import { EncodeError } from '../job/errors.js';
import { wholeAmplitude } from './amplitude.js';
import { encodingOf, lengthOf, MAX_QUBITS, precisionOf, type QubitOrder, realBytes, stateBytes } from './encoding.js';
import { pieceBitsFor, piecesOfState } from './kernel.js';
import { basisState, productState } from './product.js';

const DEFAULT_QUBITS = 16;

/** An encoding as one kernel: samples in, states out. `iqp` is a chain of launches and cannot be exported. */
export function exportedEncode(params: ReadonlyMap<string, string>): ExportKernel {
  const encoding = encodingOf(params.get('encoding') ?? 'amplitude');
  const precision = precisionOf(params.get('precision') ?? 'f64');
  const qubits = qubitsOf(params.get('qubits'));
  const order = orderOf(params.get('order'));
  const length = lengthOf(encoding, qubits);
  const variant = (processor: 'cpu' | 'gpu'): ExportVariant => {
    const store = processor === 'gpu' ? 'quads' : 'floats';
    const spec = { qubits, real: precision, wide: 'f64', order, store, pieceBits: pieceBitsFor(processor) } as const;
    const items = piecesOfState(qubits, spec.pieceBits);
    switch (encoding) {
      case 'amplitude':
        return { kernel: wholeAmplitude({ ...spec, length }) as unknown as Kernel };
      case 'basis':
        return { kernel: basisState(spec) as unknown as Kernel, items };
      case 'iqp':
        throw new EncodeError('encoding', {
          message: 'iqp is a chain of launches, not one kernel: it cannot be exported',
          asked: 'to export encode with --param encoding=iqp',
          advice: 'use amplitude, angle, basis, phase or iqp-z',
        });
      case 'angle':
      case 'phase':
      case 'iqp-z':
        return { kernel: productState(encoding, spec) as unknown as Kernel, items };
    }
  };
  return {
    source: 'encode',
    cpu: variant('cpu'),
    gpu: variant('gpu'),
    rowBytes: {
      x: encoding === 'basis' ? 4 : length * realBytes(precision),
      states: stateBytes(qubits, precision),
      ...(encoding === 'amplitude' && { norms: 8 }),
    },
  };
}

function qubitsOf(text = String(DEFAULT_QUBITS)): number {
  const qubits = Number(text);
  if (/^\d+$/.test(text) && qubits >= 1 && qubits <= MAX_QUBITS) return qubits;
  throw new EncodeError('qubits', {
    message: `${text} is not a number of qubits`,
    asked: `--param qubits=${text}`,
    advice: `give a whole number from 1 to ${MAX_QUBITS}`,
  });
}

function orderOf(text = 'little'): QubitOrder {
  if (text === 'little' || text === 'big') return text;
  throw new EncodeError('encoding', {
    message: `unknown order of qubits ${text}`,
    asked: `--param order=${text}`,
    advice: 'use little (qubit 0 is the lowest bit) or big',
  });
}
