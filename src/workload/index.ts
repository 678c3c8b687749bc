import type { Kernel } from '../kernel/index.js';
import { headerScan, versionScan } from './block/kernel/kernel.js';
import { scaledPieces } from './encode/kernel/amplitude.js';
import { iqpPhases } from './encode/kernel/iqp.js';
import { productState } from './encode/kernel/product.js';
import { chains as gapChains } from './gaps/kernel/chain-kernel.js';
import { sieve as gapSieve } from './gaps/kernel/sieve-kernels.js';
import { fill as uhashFill } from './uhash/kernel/fill.js';
import { mix as uhashMix, seeds as uhashSeeds } from './uhash/kernel/kernel.js';
import { wordPieces } from './words/kernel/kernel.js';

/** Kernels by the name that `millrace kernel` takes. A workload's main kernel has the workload's name. */
export const kernels: Readonly<Record<string, () => Kernel>> = {
  block: () => headerScan({ topWordZero: true }),
  'block-versions': () => versionScan({ topWordZero: true, versions: 2 }),
  words: () => wordPieces(1),
  encode: () => scaledPieces({ ...state16, length: 2 ** 16 }, 8) as unknown as Kernel,
  'encode-angle': () => productState('angle', state16) as unknown as Kernel,
  'encode-iqp': () => iqpPhases({ ...state16, tileBits: 11 }) as unknown as Kernel,
  uhash: () => uhashMix(uhashPlain) as unknown as Kernel,
  'uhash-fill': () => uhashFill(uhashPlain) as unknown as Kernel,
  gaps: () => gapChains({ limb: 'u32', bits: 288 }) as unknown as Kernel,
  'gaps-sieve': () => gapSieve({ tileBits: 2 ** 17 }) as unknown as Kernel,
  'uhash-seeds': () => uhashSeeds({ headerBytes: 32 }),
};

const uhashPlain = { chainsPerItem: 1, copies: 1, tables: 1, pads: 1 } as const;

/** 16 qubits, complex numbers of two doubles. */
const state16 = { qubits: 16, real: 'f64', wide: 'f64', order: 'little', store: 'quads', pieceBits: 13 } as const;
