import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MillraceError } from '../../../kernel/error.js';
import { parseInput, parseOutput } from '../files/file.js';
import { checkNonce, displayOf, header, headerPrefix, merkleRoot, targetFromBits, targetText } from './reference.js';

const data = new URL('../../../../test/data/block/', import.meta.url);
const text = (name: string) => readFileSync(new URL(name, data), 'latin1');

interface Vector {
  readonly merkle_root: string;
  readonly target: string;
  readonly nonce: number;
  readonly hash: string;
  readonly header: string;
}

const course = JSON.parse(text('course/expected.json')) as (Vector & { case: string; block: number })[];
const mainnet = JSON.parse(text('mainnet/vectors.json')) as (Omit<Vector, 'nonce'> & {
  name: string;
  nbits: string;
  leaves: string[];
  chain_nonce: number;
  first_nonce: number;
  first_hash: string;
  all_valid_nonces?: number[];
})[];
const synthetic = JSON.parse(text('synthetic/expected.json')) as Record<
  string,
  (Omit<Vector, 'nonce'> & { block: number; first_nonce: number })[]
>;

function expectVector(file: string, block: number, vector: Vector) {
  const input = parseInput(text(`${file}.in`))[block]!;
  const prefix = headerPrefix(input);
  const target = targetFromBits(input.bits);
  expect(displayOf(merkleRoot(input.transactions))).toBe(vector.merkle_root);
  expect(targetText(target)).toBe(vector.target);
  expect(Buffer.from(header(prefix, vector.nonce)).toString('hex')).toBe(vector.header);
  expect(checkNonce(prefix, target, vector.nonce)).toEqual({ valid: true, hash: vector.hash });
}

describe('the course files', () => {
  it.each(course)('$case block $block: root, target, header, hash, nonce', (vector) => {
    expectVector(`course/${vector.case}`, vector.block, vector);
    expect(parseOutput(text(`course/${vector.case}.out`))[vector.block]).toBe(vector.nonce);
  });
});

describe('main, test and signet blocks', () => {
  it.each(mainnet)('$name: the nonce on the chain and the smallest one', (vector) => {
    expectVector(`mainnet/${vector.name}`, 0, { ...vector, nonce: vector.chain_nonce });
    const [block] = parseInput(text(`mainnet/${vector.name}.in`));
    const first = checkNonce(headerPrefix(block!), targetFromBits(block!.bits), vector.first_nonce);
    expect(first).toEqual({ valid: true, hash: vector.first_hash });
    expect(parseOutput(text(`mainnet/${vector.name}.out`))).toEqual([vector.first_nonce]);
    for (const nonce of vector.all_valid_nonces ?? []) {
      expect(checkNonce(headerPrefix(block!), targetFromBits(block!.bits), nonce).valid).toBe(true);
    }
  });
});

describe('the synthetic files', () => {
  it.each(Object.entries(synthetic).flatMap(([file, all]) => all.map((vector) => ({ file, ...vector }))))(
    '$file block $block',
    (vector) => {
      expectVector(`synthetic/${vector.file}`, vector.block, { ...vector, nonce: vector.first_nonce });
      expect(parseOutput(text(`synthetic/${vector.file}.out`))[vector.block]).toBe(vector.first_nonce);
    },
  );
});

describe('the comparison', () => {
  it('is strict: a hash equal to the target is not below it', () => {
    const genesis = mainnet[0]!;
    const prefix = Buffer.from(genesis.header, 'hex').subarray(0, 76);
    const hash = BigInt(`0x${genesis.hash}`);
    expect(checkNonce(prefix, hash, genesis.chain_nonce).valid).toBe(false);
    expect(checkNonce(prefix, hash + 1n, genesis.chain_nonce).valid).toBe(true);
  });
});

describe('targets', () => {
  // Values of Bitcoin Core's arith_uint256 tests for SetCompact, and the limits of its overflow rule.
  it.each([
    [0x01123456, 0x12n],
    [0x02123456, 0x1234n],
    [0x03123456, 0x123456n],
    [0x04123456, 0x12345600n],
    [0x05009234, 0x92340000n],
    [0x20123456, 0x123456n << 232n],
    [0x207fffff, 0x7fffffn << 232n],
    [0x2100ffff, 0xffffn << 240n],
    [0x220000ff, 0xffn << 248n],
    [0x1d00ffff, 0xffffn << 208n],
    [0x181717f0, 0x1717f0n << 168n],
  ])('%x', (bits, target) => {
    expect(targetFromBits(bits)).toBe(target);
  });

  it.each([
    [0x00000000, 'zero'],
    [0x00123456, 'zero'],
    [0x01003456, 'zero'],
    [0x02000056, 'zero'],
    [0x04000000, 'zero'],
    [0x00923456, 'zero'],
    [0x01803456, 'zero'],
    [0x04800000, 'zero'],
    [0xff000000, 'zero'],
    [0x01fedcba, 'negative'],
    [0x04923456, 'negative'],
    [0x1d80ffff, 'negative'],
    [0x21010000, 'more than 256 bits'],
    [0x22000100, 'more than 256 bits'],
    [0x23000001, 'more than 256 bits'],
    [0xff123456, 'more than 256 bits'],
  ])('%x is rejected', (bits, why) => {
    const refused = () => targetFromBits(bits);
    expect(refused).toThrow(MillraceError);
    expect(refused).toThrow(why);
    expect(refused).toThrow(expect.objectContaining({ code: 'input-format' }));
  });
});

it('a block without transactions has no root', () => {
  expect(() => merkleRoot([])).toThrow(expect.objectContaining({ code: 'input-format' }));
});
