/**
 * A kernel file for tests that need a running search but not its results: one index in `2 ** bits` hits, at a few million
 * indices a second per thread, without an end. It is a loop: an equally fast hash takes a third of a second longer to
 * compile, in every process that runs it.
 */
export const zerosFile = (bits: number): string => `import { cell, items, loop, u32, when } from 'millrace';
const kernel = items('zeros', { hit: { n: u32 } }, ({ index, emit }) => {
  const x = cell(u32, index.lo);
  loop(90, () => x.set(x.mul(1664525).add(1013904223).xor(x.shr(15))));
  when(x.clz().ge(${bits}), () => emit({ n: index.lo }));
});
export default { kernel, space: 2n ** 40n };
`;
