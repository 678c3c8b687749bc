import { between, endOf, type Range } from '../../src/engine/work/space.js';

/** Simulated witnesses: each block of 2^bits indices has a number of them that is Poisson's with mean 1, at random places. */
export function witnessesIn(range: Range, bits: number): bigint[] {
  const size = 1n << BigInt(bits);
  const found: bigint[] = [];
  for (let block = range.start / size; block * size < endOf(range); block++)
    for (const index of blockWitnesses(block, size))
      if (index >= range.start && index < endOf(range)) found.push(index);
  return found;
}

export function isWitness(index: bigint, bits: number): boolean {
  return witnessesIn(between(index, index + 1n), bits).length > 0;
}

function blockWitnesses(block: bigint, size: bigint): Set<bigint> {
  let state = mix(
    Number(block & 0x7fff_ffffn) ^ mix(Number((block >> 31n) & 0x7fff_ffffn)) ^ mix(Number(size % 65_521n)),
  );
  const uniform = (): number => {
    state = mix(state + 0x9e3779b9);
    return (state >>> 0) / 2 ** 32;
  };
  const found = new Set<bigint>();
  for (let rest = uniform(); rest > Math.exp(-1); rest *= uniform())
    found.add(block * size + (BigInt(Math.floor(uniform() * 2 ** 32)) * size) / (1n << 32n));
  return found;
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
