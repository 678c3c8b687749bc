import type { NativeShape } from '../../ir/program.js';
import type { NativeText } from '../../language/std-function.js';

/**
 * The last words of SHA-256d of messages that differ in the fourth word of their last block: ARMv8's SHA-2 instructions in
 * assembly, four lanes interleaved, in groups of four.
 *
 * Neoverse-N1 starts one of these instructions per cycle, on one of its two vector pipes, so their number is the limit. A
 * double hash has 112. Twelve are left out here: the first four rounds and message words 16 to 19 follow from sums with the
 * word that varies, other message words from constants, and the last word needs only one of rounds 60 to 63, which the idle
 * integer pipes compute. 100 cycles would be 24.8 MH/s at 2.48 GHz; measured 102.3. The order of instructions:
 * - A lane's four rounds are together (sums, copy, SHA256H, SHA256H2), then the next lane's. Grouped by kind of
 *   instruction, the plain vector instructions come in bursts, half of which go to the pipe that the others need.
 * - A store of a vector also takes a cycle of a vector pipe. It goes between SHA256SU0 and SHA256SU1, where a cycle is free.
 * - The work of the integer pipes, the end of the previous group and the beginning of the next, is spread over the rounds.
 * - The first beginning and the last end are not overlapped. With 16 nonces they cost 3 cycles each, with 128 a third.
 */
export function armLastWordsBody(sha256: Sha256, sharedCount: number): NativeText {
  return { prelude: prelude(sha256), lanes: GROUP, text: (shape) => text(shape, sharedCount) };
}

/** The constants and functions of SHA-256 that the body uses. */
export interface Sha256 {
  readonly iv: readonly number[];
  readonly constants: readonly number[];
  padding(bits: number): readonly number[];
}

/** Lanes of a group, which use all registers. */
const GROUP = 4;

/** Passes nonces and results through memory, a gang's for each of an item's. Repeats the last nonce to fill a group. */
function text({ lanes, args, results }: NativeShape, sharedCount: number): string {
  const type = lanes > 1 ? 'u32v' : 'u32';
  const shared = args.slice(0, sharedCount).map((name) => (lanes > 1 ? `${name}[0]` : name));
  const nonces = args.slice(sharedCount);
  while ((nonces.length * lanes) % GROUP !== 0) nonces.push(nonces.at(-1) as string);
  return [
    '{',
    `  const u32 shared[] = {${shared.join(', ')}};`,
    `  const ${type} nonces[] = {${nonces.join(', ')}};`,
    `  ${type} lasts[${nonces.length}];`,
    `  sha256_lasts(shared, (const u32 *)nonces, (u32 *)lasts, ${(nonces.length * lanes) / GROUP});`,
    ...results.map((name, at) => `  ${name} = lasts[${at}];`),
    '}',
  ].join('\n');
}

type Quad = readonly number[];
const quads = (words: readonly number[]): Quad[] =>
  Array.from({ length: words.length / 4 }, (_, q) => words.slice(4 * q, 4 * q + 4));
const sum = (a: Quad, b: Quad): Quad => a.map((word, i) => (word + (b[i] as number)) >>> 0);
const rotr = (x: number, by: number) => (x >>> by) | (x << (32 - by));
const smallSigma0 = (x: number) => (rotr(x, 7) ^ rotr(x, 18) ^ (x >>> 3)) >>> 0;
/** Computes SHA256SU0. */
const su0 = (a: Quad, b: Quad): Quad => sum(a, [...a.slice(1), b[0] as number].map(smallSigma0));

/** Returns the quads in memory that are the same for all jobs, by name. */
function constantQuads({ iv, constants, padding }: Sha256): Map<string, Quad> {
  const k = quads(constants);
  const [w4, w8, w12] = quads(padding(640)) as [Quad, Quad, Quad];
  const [digest8, digest12] = quads(padding(256)) as [Quad, Quad];
  const [abcd, efgh] = quads(iv) as [Quad, Quad];
  const plus = (q: number, words: Quad) => sum(k[q] as Quad, words);
  return new Map<string, Quad>([
    ...k.map((words, q): [string, Quad] => [`k${q}`, words]),
    ['kw1', plus(1, w4)],
    ['kw2', plus(2, w8)],
    ['kw3', plus(3, w12)],
    ['w12', w12],
    ['su20', su0(w4, w8)],
    ['su24', su0(w8, w12)],
    ['abcd', abcd],
    ['efgh', efgh],
    ['digest8', digest8],
    ['digest12', digest12],
    ['digestKw2', plus(2, digest8)],
    ['digestKw3', plus(3, digest12)],
    ['digestSu24', su0(digest8, digest12)],
  ]);
}

/** Quads of the call: the initial values of each lane of a group, its values for the end, and the job's values. */
const BEGIN = 0; // abcd and efgh after four rounds, words 16 to 19
const END = BEGIN + 3 * GROUP; // efgh and abcd after 60 rounds, words 44, 52 and 56 with those that follow
const JOB = END + 5 * GROUP; // the last quad of SHA256SU0 that is the same for all, the state, its first half plus constants
const JOB_QUADS = ['su28', 'abcdIn', 'efghIn', 'abcdInK'] as const;
const QUADS = JOB + JOB_QUADS.length;

function prelude(sha256: Sha256): string {
  const { iv, constants, padding } = sha256;
  const table = constantQuads(sha256);
  const hex = (words: Quad) => `{${words.map((word) => `0x${word.toString(16)}`).join(', ')}}`;
  const sigma = (x: string) => `(${x} >> 7 | ${x} << 25) ^ (${x} >> 18 | ${x} << 14) ^ ${x} >> 3`;
  const vectors = Array.from({ length: 26 }, (_, i) => `"v${i}"`);
  const integers = Array.from({ length: 10 }, (_, i) => `"x${i + 8}"`);
  return `
typedef u32 sha256_four __attribute__((vector_size(16)));
static const sha256_four sha256_lasts_table[] = {${[...table.values()].map(hex).join(', ')}};
/* shared: the state after four rounds and words 16 to 19, both without what the nonce adds; the state before. */
static __attribute__((noinline)) void sha256_lasts(const u32 *shared, const u32 *nonces, u32 *lasts, u64 groups) {
  sha256_four quads[${QUADS}], part[5];
  __builtin_memcpy(part, shared, sizeof part);
  for (int lane = 0; lane < ${GROUP}; lane++) {
    quads[${BEGIN} + 3 * lane] = part[0];
    quads[${BEGIN} + 3 * lane + 1] = part[1];
    quads[${BEGIN} + 3 * lane + 2] = part[2];
  }
  quads[${JOB}] = (sha256_four)${hex(su0(padding(640).slice(8), [0]))};
  quads[${JOB}][3] += ${sigma('shared[8]')};
  quads[${JOB + 1}] = part[3];
  quads[${JOB + 2}] = part[4];
  quads[${JOB + 3}] = part[3] + sha256_lasts_table[0];
  u64 step = 0;
  asm volatile(
${assembly(table)
  .map((line) => `    "${line}\\n"`)
  .join('\n')}
    : [nonces] "+r"(nonces), [lasts] "+r"(lasts), [groups] "+r"(groups), [step] "+r"(step)
    : [table] "r"(sha256_lasts_table), [quads] "r"(quads), [a] "r"(shared[0]), [e] "r"(shared[4]),
      [w18] "r"(shared[10]), [w19] "r"(shared[11]), [bias] "r"(0x${(((constants[60] as number) + (iv[7] as number)) >>> 0).toString(16)}u)
    : "memory", "cc", ${[...integers, ...vectors].join(', ')});
}`.trim();
}

/** Prints the whole loop over groups. `groups` counts down; no instruction inside changes the flags. */
function assembly(table: ReadonlyMap<string, Quad>): string[] {
  const places = new Map([...table.keys()].map((name, at): [string, string] => [name, `[%[table], #${16 * at}]`]));
  JOB_QUADS.forEach((name, at) => void places.set(name, quadAt(JOB + at)));
  const lanes = Array.from({ length: GROUP }, (_, lane) => steps(lane, places));
  const begin = lanes.flatMap((_, lane) => beginLane(lane));
  const end = lanes.flatMap((_, lane) => endLane(lane));

  // After the first steps, in which all lanes load their initial values, and before the last, which store the values for the
  // next end.
  const interleaved = [...end, ...begin];
  const rounds = lanes[0]?.length as number;
  const turns = (rounds - FREE_STEPS) * GROUP;
  const body: string[] = [];
  let placed = 0;
  for (let step = 0; step < rounds; step++) {
    for (let lane = 0; lane < GROUP; lane++) {
      body.push(...((lanes[lane] as string[][])[step] as string[]));
      const due = Math.max(
        0,
        Math.ceil((((step - FREE_STEPS) * GROUP + lane + 1) / turns) * interleaved.length * SPREAD_SPEED),
      );
      while (placed < Math.min(due, interleaved.length)) body.push(interleaved[placed++] as string);
    }
  }
  return [
    ...begin,
    '1:',
    'subs %[groups], %[groups], #1',
    'add x8, %[nonces], #16',
    'csel %[nonces], x8, %[nonces], ne', // the last group begins itself again, without effect
    ...body,
    'add %[lasts], %[lasts], %[step]', // the end before the first group has no result
    'mov %[step], #16',
    'b.ne 1b',
    ...end,
  ];
}

/** Steps at the beginning of a group without spread instructions, and how much faster than evenly the rest is spread. */
const FREE_STEPS = 2;
const SPREAD_SPEED = 1.2;

const quadAt = (quad: number) => `[%[quads], #${16 * quad}]`;
const [COPY, KW] = [24, 25];

/** Returns a lane's instructions, four rounds each except at the end. */
function steps(lane: number, places: ReadonlyMap<string, string>): string[][] {
  const [a, e, ...w] = Array.from({ length: 6 }, (_, i) => 6 * lane + i) as [number, number, ...number[]];
  const word = (quad: number) => w[quad % 4] as number;
  const load = (to: number, name: string) => `ldr q${to}, ${places.get(name)}`;
  const add = (to: number, from: number) => `add v${to}.4s, v${to}.4s, v${from}.4s`;
  const copy = `mov v${COPY}.16b, v${a}.16b`;
  const h = (efgh = e) => `sha256h q${a}, q${efgh}, v${KW}.4s`;
  const h2 = `sha256h2 q${e}, q${COPY}, v${KW}.4s`;
  const su0 = (quad: number) => `sha256su0 v${word(quad)}.4s, v${word(quad + 1)}.4s`;
  const su1 = (quad: number) => `sha256su1 v${word(quad)}.4s, v${word(quad + 2)}.4s, v${word(quad + 3)}.4s`;
  const begun = (part: number) => quadAt(BEGIN + 3 * lane + part);
  const store = (register: number, part: number) => `str q${register}, ${quadAt(END + 5 * lane + part)}`;
  /** Rounds from 4·quad on, and the words sixteen further on if needed. */
  const rounds = (quad: number, extend: boolean, also: readonly string[] = []) => [
    load(KW, `k${quad}`),
    add(KW, word(quad)),
    copy,
    h(),
    h2,
    ...(extend ? [su0(quad), ...also, su1(quad)] : also),
  ];

  const first = [
    [
      ...[`ldr q${a}, ${begun(0)}`, `ldr q${COPY}, ${begun(0)}`, `ldr q${e}, ${begun(1)}`, load(KW, 'kw1')],
      ...[h(), h2, `ldr q${word(0)}, ${begun(2)}`],
    ],
    // word(0) holds words 16 to 19; for the next three quads SHA256SU0's part is the same for all
    [
      load(KW, 'kw2'),
      copy,
      h(),
      load(word(1), 'su20'),
      h2,
      load(word(2), 'w12'),
      `sha256su1 v${word(1)}.4s, v${word(2)}.4s, v${word(0)}.4s`,
    ],
    [load(KW, 'kw3'), copy, h(), load(word(2), 'su24'), h2, `sha256su1 v${word(2)}.4s, v${word(0)}.4s, v${word(1)}.4s`],
    [
      load(KW, 'k4'),
      add(KW, word(0)),
      copy,
      h(),
      load(word(3), 'su28'),
      h2,
      `sha256su1 v${word(3)}.4s, v${word(1)}.4s, v${word(2)}.4s`,
      su0(0),
      su1(0),
    ],
    ...range(5, 16).map((quad) => rounds(quad, quad < 12)),
  ];
  const second = [
    // words 0 to 7 are the digest: what the rounds left plus the state before
    [
      ...[
        load(KW, 'abcdInK'),
        add(KW, a),
        load(word(0), 'abcdIn'),
        add(word(0), a),
        load(word(3), 'efgh'),
        load(COPY, 'abcd'),
      ],
      ...[load(word(1), 'efghIn'), load(a, 'abcd'), h(word(3)), add(word(1), e), load(e, 'efgh'), h2],
      ...[su0(0), load(word(2), 'digest8'), load(word(3), 'digest12'), su1(0)],
    ],
    rounds(1, true),
    [load(KW, 'digestKw2'), copy, h(), load(word(2), 'digestSu24'), h2, su1(2)],
    [load(KW, 'digestKw3'), copy, h(), h2, su0(3), su1(3)],
    ...range(4, 15).map((quad) => {
      // stored when they are there: words 44 to 47 (quad 11), 52 to 55 (13), 56 to 59 (14)
      const kept = { 8: store(word(11), 2), 10: store(word(13), 3), 11: store(word(14), 4) }[quad];
      return rounds(quad, quad < 11, kept ? [kept] : []);
    }),
    [store(e, 0), store(a, 1)],
  ];
  return [...first, ...second];
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** Adds the nonce: to a and e in the fourth round, directly to word 19, by σ0 to word 18. */
function beginLane(lane: number): string[] {
  const at = (word: number) => `[%[quads], #${16 * (BEGIN + 3 * lane) + 4 * word}]`;
  return [
    `ldr w8, [%[nonces], #${4 * lane}]`,
    'add w9, w8, %w[a]',
    `str w9, ${at(0)}`,
    'add w10, w8, %w[e]',
    `str w10, ${at(4)}`,
    ...sigma('w11', 'w8', ['ror #7', 'ror #18', 'lsr #3']),
    'add w12, w8, %w[w19]',
    'add w11, w11, %w[w18]',
    `stp w11, w12, ${at(10)}`,
  ];
}

/** Computes message word 60, and with it e of round 60, which becomes the last word. */
function endLane(lane: number): string[] {
  const at = (part: number, element: number) => `[x16, #${16 * part + 4 * element}]`;
  return [
    `add x16, %[quads], #${16 * (END + 5 * lane)}`,
    `ldp w8, w9, ${at(2, 0)}`,
    `ldr w10, ${at(3, 1)}`,
    `ldr w11, ${at(4, 2)}`,
    ...sigma('w12', 'w9', ['ror #7', 'ror #18', 'lsr #3']),
    'add w8, w8, w12',
    'add w8, w8, w10',
    `ldp w13, w14, ${at(0, 0)}`, // e, f
    `ldp w15, w17, ${at(0, 2)}`, // g, h
    ...sigma('w12', 'w11', ['ror #17', 'ror #19', 'lsr #10']),
    `ldr w9, ${at(1, 3)}`, // d
    'add w8, w8, w12',
    ...sigma('w12', 'w13', ['ror #6', 'ror #11', 'ror #25']),
    'add w9, w9, w17',
    'eor w14, w14, w15',
    'and w14, w14, w13',
    'eor w14, w14, w15',
    'add w12, w12, w14',
    'add w9, w9, %w[bias]',
    'add w8, w8, w12',
    'add w8, w8, w9',
    `str w8, [%[lasts], #${4 * lane}]`,
  ];
}

/** Computes the exclusive or of three rotations or shifts; the first is a rotation. */
const sigma = (to: string, from: string, [first, ...others]: readonly string[]): string[] => [
  `ror ${to}, ${from}, ${first?.slice('ror '.length)}`,
  ...others.map((by) => `eor ${to}, ${to}, ${from}, ${by}`),
];
