import { expect, test } from 'vitest';
import { armWithAes, missing, runForeign, x86WithAesNi } from '../../../../test/foreign.js';
import { type Kernel, kernelText, lowerGpu } from '../../../kernel/index.js';
import { fill } from './fill.js';
import { digests, emitAll, emitBest, findBest, mix, seeds, type Variant } from './kernel.js';
import { PAD_BYTES } from './pads.js';
import { fillPad, mixPad, phaseOf, seedOf } from './reference.js';

const isLong = process.env.MILLRACE_LONG === '1';
const plain: Variant = { chainsPerItem: 3, copies: 1, tables: 1, pads: 1 };
const header = Uint8Array.from({ length: 32 }, (_, i) => 3 * i);

/** Other processors: ARM with AES and SHA-2 instructions, x86 with AES-NI but no AVX-512. */
const foreigners = [
  ['ARM', armWithAes, /vaeseq_u8/, isLong ? [4, 1] : []],
  ['x86 without AVX-512', x86WithAesNi, /_mm_aesenc_si128/, isLong ? [8, 4] : []],
] as const;

test.for(foreigners)(
  'fills scratchpads and mixes rounds on %s',
  { timeout: 300_000 },
  ([, foreign, instructions, lanes], { skip }) => {
    const reason = lanes.length === 0 ? 'compiling is slow: npm run test:long' : missing(foreign);
    if (reason) return skip(reason);
    const kernel = mix(plain) as unknown as Kernel;
    expect(kernelText(kernel, { target: 'c', cpu: foreign.cpu })).toMatch(instructions);
    const nonces = 3;
    const slots = Array.from({ length: 4 * nonces }, (__, slot) => ({ nonce: BigInt(slot >> 2), chain: slot % 4 }));
    const stride = PAD_BYTES / 4;
    const state = new Uint32Array(8 * slots.length);
    const pads = new Uint32Array(stride * slots.length);
    const rounds = 24;
    const expected = new Uint32Array(state.length);
    const filled = new Uint32Array(pads.length);
    slots.forEach(({ nonce, chain }, slot) => {
      const seed = seedOf(header, nonce, chain);
      state.set(seed, 8 * slot);
      const pad = fillPad(seed);
      filled.set(pad, slot * stride);
      mixPad(seed, pad, phaseOf(nonce, chain), (round, __, now) => {
        if (round === rounds - 1) expected.set(now, 8 * slot);
      });
    });
    for (const width of lanes) {
      const { pad0 } = runForeign(
        foreign,
        fill(plain) as unknown as Kernel,
        width,
        slots.length,
        { state, pad0: pads },
        { from: 0, blocks: 8192, perPad: 12 },
      );
      expect(Buffer.from(pad0!.buffer).equals(Buffer.from(filled.buffer))).toBe(true);
      const chunk = { from: 0, rounds, nonces, turn: 0, perPhase: 32, perPad: 12 };
      const mixed = runForeign(foreign, kernel, width, slots.length / 3, { state, pad0: filled }, chunk);
      expect(mixed.state).toEqual(expected);
    }
  },
);

test.for(['opencl', 'wgsl', 'cuda'] as const)('every kernel is within the budget of %s', (target, { skip }) => {
  // WGSL is the longest, with the most bindings.
  if (!isLong && target !== 'wgsl') return skip('npm run test:long');
  const spread: Readonly<Record<typeof target, readonly Variant[]>> = {
    opencl: [{ ...plain, pads: 5 }],
    wgsl: [{ ...plain, chainsPerItem: 1, copies: 8, pads: 13 }],
    cuda: [{ ...plain, chainsPerItem: 1, copies: 32, tables: 4 }],
  };
  const variants = isLong ? Object.values(spread).flat() : spread[target];
  const kernels = [
    ...variants.flatMap((variant) => [fill(variant), mix(variant)]),
    ...(isLong ? [0, 7, 32, 1021] : [7]).map((headerBytes) => seeds({ headerBytes })),
    ...[findBest, emitBest, emitAll, digests],
  ];
  for (const kernel of kernels) expect(lowerGpu(kernel as unknown as Kernel, { target }).statements).toBeLessThan(2500);
});
