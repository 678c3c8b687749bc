import { cells, loop, table } from '../../language/control.js';
import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { u64Of } from '../../language/operations.js';
import { areKnownEarly, std } from '../../language/std-function.js';
import type { Scalar } from '../../language/types.js';
import { type MessageBytes, type MessageForm, messageBlocks } from './message.js';

type Lane = Expr<'u64'>;
type Message = readonly ExprLike<'u32'>[];

/**
 * Keccak over little-endian lanes of 64 bits, with the padding of its submission, as Ethereum uses it. The permutation is a
 * loop of 22 rounds between the first and the last one: those two have fewer operations if lanes are zero or not needed.
 */
export const keccak = {
  /** Keccak-f[1600] of 25 lanes, x first: lane (x, y) is number x + 5y. */
  permute(state: readonly ExprLike<'u64'>[]): Lane[] {
    return permute(...state.map((lane) => operand('u64', lane))) as Lane[];
  },

  /**
   * Returns Keccak-256 of a message of `bytes` bytes, four lanes. `message` holds them as words of 32 bits; bytes of the last
   * word past the end are ignored. A length that only the kernel knows is at most 135.
   */
  hash256: (message: Message, bytes: MessageBytes = message.length * 4): Lane[] =>
    sponge(message, bytes, { name: 'keccak.hash256', marker: 0x01, outLanes: 4 }),

  /** Returns Keccak-512, eight lanes. A length that only the kernel knows is at most 71. */
  hash512: (message: Message, bytes: MessageBytes = message.length * 4): Lane[] =>
    sponge(message, bytes, { name: 'keccak.hash512', marker: 0x01, outLanes: 8 }),
};

/** SHA-3 (FIPS 202): Keccak with another padding. */
export const sha3 = {
  /** Returns SHA3-256 of a message of `bytes` bytes, four lanes. See `keccak.hash256`. */
  hash256: (message: Message, bytes: MessageBytes = message.length * 4): Lane[] =>
    sponge(message, bytes, { name: 'sha3.hash256', marker: 0x06, outLanes: 4 }),

  /** Returns SHA3-512, eight lanes. A length that only the kernel knows is at most 71. */
  hash512: (message: Message, bytes: MessageBytes = message.length * 4): Lane[] =>
    sponge(message, bytes, { name: 'sha3.hash512', marker: 0x06, outLanes: 8 }),
};

interface Sponge {
  readonly name: string;
  readonly marker: number;
  readonly outLanes: number;
}

/** Adds blocks to the state, each followed by a permutation. A block leaves out twice as many lanes as the digest has. */
function sponge(message: Message, bytes: MessageBytes, { name, marker, outLanes }: Sponge): Lane[] {
  const rateLanes = LANES - 2 * outLanes;
  const form: MessageForm = { name, order: 'little', marker, blockBytes: 8 * rateLanes, lengthBytes: 0 };
  let state = Array.from({ length: LANES }, () => operand('u64', 0));
  const blocks = messageBlocks(form, message, bytes);
  for (const [i, block] of blocks.entries()) {
    // The last bit of the padding.
    if (i === blocks.length - 1) block.push(operand('u32', block.pop() ?? 0).or(0x8000_0000));
    state = keccak.permute(
      state.map((lane, k) => (k < rateLanes ? lane.xor(u64Of(block[2 * k] ?? 0, block[2 * k + 1] ?? 0)) : lane)),
    );
  }
  return state.slice(0, outLanes);
}

const LANES = 25;
const ROUNDS = 24;

const permute = std({
  name: 'keccak.permute',
  results: () => Array<Scalar>(LANES).fill('u64'),
  generic: (...args) => {
    const lanes = args as Lane[];
    if (areKnownEarly(lanes))
      return roundConstants.reduce((state, constant) => round(state, operand('u64', constant)), lanes);
    const constants = table('u64', roundConstants);
    const state = cells('u64', round(lanes, operand('u64', roundConstants[0] as bigint)));
    loop(ROUNDS - 2, (i) => {
      const next = round(
        state.map((lane) => lane.get()),
        constants.at(i.add(1)),
      );
      for (const [k, lane] of state.entries()) lane.set(next[k] as Lane);
    });
    return round(
      state.map((lane) => lane.get()),
      operand('u64', roundConstants[ROUNDS - 1] as bigint),
    );
  },
});

function round(state: readonly Lane[], constant: Lane): Lane[] {
  const at = (lanes: readonly Lane[], x: number, y: number) => lanes[(x % 5) + 5 * (y % 5)] as Lane;
  const columns = fives.map((x) =>
    at(state, x, 0)
      .xor(at(state, x, 1))
      .xor(at(state, x, 2))
      .xor(at(state, x, 3))
      .xor(at(state, x, 4)),
  );
  const around = fives.map((x) => (columns[(x + 4) % 5] as Lane).xor((columns[(x + 1) % 5] as Lane).rotl(1)));
  const turned: Lane[] = [];
  for (const y of fives) {
    for (const x of fives) {
      const lane = at(state, x, y).xor(around[x] as Lane);
      turned[y + 5 * ((2 * x + 3 * y) % 5)] = lane.rotl(turns[x + 5 * y] as number);
    }
  }
  return turned.map((lane, i) => {
    const [x, y] = [i % 5, Math.floor(i / 5)];
    const mixed = lane.xor(
      at(turned, x + 1, y)
        .not()
        .and(at(turned, x + 2, y)),
    );
    return i === 0 ? mixed.xor(constant) : mixed;
  });
}

const fives = [0, 1, 2, 3, 4] as const;

/** Rotations by lane: the triangular numbers along the path (x, y) → (y, 2x + 3y). */
const turns: readonly number[] = turnsByLane();

function turnsByLane(): number[] {
  const all = Array<number>(LANES).fill(0);
  let [x, y] = [1, 0];
  for (let t = 0; t < LANES - 1; t++) {
    all[x + 5 * y] = (((t + 1) * (t + 2)) / 2) % 64;
    [x, y] = [y, (2 * x + 3 * y) % 5];
  }
  return all;
}

/** A linear shift register, x^8 + x^6 + x^5 + x^4 + 1, gives seven bits a round, at the positions 2^j − 1. */
const roundConstants: readonly bigint[] = constantsByRound();

function constantsByRound(): bigint[] {
  let register = 1;
  return Array.from({ length: ROUNDS }, () => {
    let constant = 0n;
    for (let j = 0; j < 7; j++) {
      if (register & 1) constant |= 1n << BigInt(2 ** j - 1);
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0);
    }
    return constant;
  });
}
