import { type GridBindingKind, type GridShape, LaunchStatus, MAX_VALUE_WORDS } from '../../abi/grid.js';
import type { BufferDecl } from '../../ir/program.js';
import { type Scalar, toWords, type Value } from '../../language/types.js';
import { cSyntax } from '../c/c-like.js';
import { cFunctions } from '../c/functions.js';
import { cLiteral } from '../c/literal.js';
import { bufferName } from '../names.js';
import { cArguments, cChecks } from './cuda.js';
import { cFamily, helperBody, nvidiaComplements, type OperationTable } from './forms.js';
import type { EntryForms, GpuLanguage, MemoryForms } from './language.js';

/** Extensions that a program needs, or has. */
export interface OpenClUses {
  readonly usesDoubles: boolean;
  readonly usesWideAtomics: boolean;
  /** True on NVIDIA. */
  readonly inlinePtx: boolean;
}

/** Returns the language OpenCL C 1.2, which 3.0 contains. */
export function openclLanguage(
  { usesDoubles, usesWideAtomics, inlinePtx }: OpenClUses,
  workgroup: number,
): GpuLanguage {
  return {
    syntax: cSyntax,
    typeName: (type) => type,
    literal,
    table: inlinePtx ? nvidiaTable : table,
    helper: (name, helper) => `static inline ${helper.result} ${name}(${cArguments(helper)}) { ${helperBody(helper)} }`,
    // A single thread needs no barrier. PoCL splits kernels at barriers: without them tiles compile 4 to 8 times as fast.
    memory: workgroup === 1 ? { ...memory, barrier: () => [] } : memory,
    entry: { ...entry, preamble: () => preamble(usesDoubles, usesWideAtomics) },
    functions: cFunctions('static'),
    functionContext: {
      status: '__global u32 *status',
      cancel: '__global const volatile u32 *cancel',
      epoch: 'const u32 epoch',
      tables: '__global const u32 *restrict tables',
    },
  };
}

/** Without the option, f32 division and square root are only within 3 ulp. */
export const openclOptions: readonly string[] = ['-cl-std=CL1.2', '-cl-fp32-correctly-rounded-divide-sqrt'];

const preamble = (usesDoubles: boolean, usesWideAtomics: boolean): string[] => [
  ...(usesDoubles ? ['#pragma OPENCL EXTENSION cl_khr_fp64 : enable'] : []),
  ...(usesWideAtomics
    ? ['base', 'extended'].map((part) => `#pragma OPENCL EXTENSION cl_khr_int64_${part}_atomics : enable`)
    : []),
  '#pragma OPENCL FP_CONTRACT OFF',
  `typedef uint u32; typedef int i32; typedef ulong u64; typedef float f32;${usesDoubles ? ' typedef double f64;' : ''}`,
];

function literal(type: Scalar, value: Value): string {
  if (type === 'bool') return String(value);
  if (type === 'u64') return cLiteral(type, value).replace('ull', 'ul');
  if ((type === 'f32' || type === 'f64') && !Number.isFinite(Number(value))) {
    const bits = toWords(type, value).map((word) => word.toString(16).padStart(8, '0'));
    return type === 'f32' ? `as_float(0x${bits[0]}u)` : `as_double(0x${bits[1]}${bits[0]}ul)`;
  }
  return cLiteral(type, value);
}

const family = cFamily('ul', { f32: 'as_uint', f64: 'as_ulong' });
const table: OperationTable = {
  forms: {
    ...family.forms,
    sqrt: 'sqrt($a)',
    fma: 'fma($a, $b, $c)',
    abs_f32: 'fabs($a)',
    abs_f64: 'fabs($a)',
    floor: 'floor($a)',
    ceil: 'ceil($a)',
    trunc: 'trunc($a)',
    round: 'rint($a)',
    bits_u32_f32: 'as_float($a)',
    bits_i32_f32: 'as_float($a)',
    bits_f32_u32: 'as_uint($a)',
    bits_f32_i32: 'as_int($a)',
    bits_u64_f64: 'as_double($a)',
    bits_f64_u64: 'as_ulong($a)',
    popcount_u32: 'popcount($a)',
    popcount_i32: '(u32)popcount($a)',
    popcount_u64: '(u32)popcount($a)',
    clz_u32: 'clz($a)',
    clz_i32: 'clz((u32)$a)',
    clz_u64: '(u32)clz($a)',
    byteSwap_u32: 'as_uint(as_uchar4($a).s3210)',
    byteSwap_u64: 'as_ulong(as_uchar8($a).s76543210)',
    mulHi: 'mul_hi($a, $b)',
    bitSelect_u32: 'bitselect($c, $b, $a)',
    bitSelect_u64: 'bitselect($c, $b, $a)',
    funnel_u32: '(u32)(upsample($a, $b) >> ($c & 31u))',
    // rotate() rotates left, by a count of the value's type, modulo its width
    rotl_u32: 'rotate($a, $b)',
    rotr_u32: 'rotate($a, 0u - $b)',
    rotl_i32: 'rotate($a, (i32)$b)',
    rotr_i32: 'rotate($a, (i32)(0u - $b))',
    rotl_u64: 'rotate($a, (u64)$b)',
    rotr_u64: 'rotate($a, (u64)(0u - $b & 63u))',
    rotr_u32_const: 'rotate($a, $ru)',
    rotr_i32_const: 'rotate($a, $r)',
    rotr_u64_const: 'rotate($a, $rul)',
  },
  functions: {
    ...family.functions,
    // ctz() is of OpenCL 2.0. The ones below the lowest set bit; all of them if there is none.
    ctz_u32: 'popcount(~a & (a - 1u))',
    ctz_i32: 'popcount(~(u32)a & ((u32)a - 1u))',
    ctz_u64: '(u32)popcount(~a & (a - 1ul))',
    wmadHi_u64: 'const u64 x = a * b + c, y = x + d; return mul_hi(a, b) + (x < c) + (y < d);',
  },
};

const nvidiaTable: OperationTable = {
  ...table,
  functions: { ...table.functions, ...nvidiaComplements.functions },
  logic3: nvidiaComplements.logic3,
};

const vectors: Readonly<Partial<Record<Scalar, string>>> = {
  u32: 'uint4',
  i32: 'int4',
  f32: 'float4',
  u64: 'ulong4',
  f64: 'double4',
};
/** Names of atomic functions, after `atomic_` for u32 and `atom_` for u64. */
const calls = {
  add: 'add',
  sub: 'sub',
  and: 'and',
  or: 'or',
  xor: 'xor',
  min: 'min',
  max: 'max',
  exchange: 'xchg',
  compareExchange: 'cmpxchg',
} as const;
const quads = (decl: BufferDecl): string => {
  const constness = decl.kind === 'read' ? 'const ' : '';
  return `((${constness}__global ${vectors[decl.type]} *)${bufferName(decl)})`;
};

const memory: MemoryForms = {
  address: 'u64',
  read: (decl, at) => `${bufferName(decl)}[${at}]`,
  write: (decl, at, value) => `${bufferName(decl)}[${at}] = ${value};`,
  readQuad(decl, quad, names) {
    const whole = `${names[0]}_q`;
    return [
      `const ${vectors[decl.type]} ${whole} = ${quads(decl)}[${quad}];`,
      `const ${decl.type} ${names.map((name, k) => `${name} = ${whole}.s${k}`).join(', ')};`,
    ];
  },
  writeQuad: (decl, quad, values) => [`${quads(decl)}[${quad}] = (${vectors[decl.type]})(${values.join(', ')});`],
  atomic(op, decl, at, operands) {
    const cell = `${bufferName(decl)}[${at}]`;
    const pointer = `(volatile ${decl.kind === 'near' ? '__local' : '__global'} ${decl.type} *)&${cell}`;
    if (op === 'load') return `*${pointer}`;
    if (op === 'store') return `*${pointer} = ${operands[0]}`;
    return `${decl.type === 'u64' ? 'atom' : 'atomic'}_${calls[op]}(&${[cell, ...operands].join(', ')})`;
  },
  prefetch: (decl, quad) => [`prefetch(&${quads(decl)}[${quad}], 1);`],
  barrier({ near, global }) {
    const flags = [...(near ? ['CLK_LOCAL_MEM_FENCE'] : []), ...(global ? ['CLK_GLOBAL_MEM_FENCE'] : [])];
    return [`barrier(${flags.join(' | ')});`];
  },
  uniformLoad: (place) => place,
  needsBroadcast: () => false,
  uniformLoadIsBarrier: false,
  checks: cChecks('static', '__global u32 *status', 'atomic_xchg'),
  checkArguments: 'status, ',
};

const entry: Omit<EntryForms, 'preamble'> = {
  globals: ({ shape: { launch } }) =>
    launch.byValue ? [`typedef struct { u32 words[${launch.words}]; } Launch;`] : [],
  head: ({ shape }) =>
    `__kernel __attribute__((reqd_work_group_size(${shape.workgroup}, 1, 1))) void ${shape.entry}(${openclArguments(shape).join(', ')})`,
  begin: ({ near, program, shape }) => [
    ...near.map(({ name, type, length }) => `__local ${type} ${name}[${length}] __attribute__((aligned(16)));`),
    ...(program.kind === 'tiles' && shape.workgroup > 1 ? ['__local u32 stop[2];'] : []),
    'const u32 thread = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);',
  ],
  word: ({ shape }, index) => (shape.launch.byValue ? `launch.words[${index}]` : `launch[${index}]`),
  wordAt: (_, at) => `launch[${at}]`,
  tableWord: (at) => `tables[${at}]`,
  limitToCount: () => [
    'if (counted) {',
    '  const u32 count = *counted;',
    '  if (count == 0u) return;',
    '  if (count - 1u < last) last = count - 1u;',
    '}',
  ],
  cancelBeforeLoop: () => [],
  cancelInLoop: ({ program, shape }, every) =>
    program.kind === 'items' || shape.workgroup === 1
      ? // Each thread reads for itself: a barrier in the loop would prevent PoCL from vectorizing.
        [
          `if (round % ${every}u == 0u && *cancel != epoch) {`,
          `  status[${LaunchStatus.incomplete}] = 1u;`,
          '  break;',
          '}',
        ]
      : // Two alternating words, so that one barrier is enough.
        [
          `if (thread == 0u) stop[round % 2u] = round % ${every}u == 0u && *cancel != epoch;`,
          'barrier(CLK_LOCAL_MEM_FENCE);',
          'if (stop[round % 2u]) {',
          `  if (thread == 0u) status[${LaunchStatus.incomplete}] = 1u;`,
          '  break;',
          '}',
        ],
  cancelInItem: ['if (*cancel != epoch) {', `  status[${LaunchStatus.incomplete}] = 1u;`, '  return;', '}'],
};

function openclArguments({ bindings, launch }: GridShape): string[] {
  const forms: Readonly<Record<GridBindingKind, (name: string, type?: Scalar) => string>> = {
    // All threads read the same small parameters, which is the purpose of constant memory.
    launch: () => {
      if (launch.byValue) return 'const Launch launch';
      return launch.words <= MAX_VALUE_WORDS ? '__constant const u32 *launch' : '__global const u32 *restrict launch';
    },
    counted: () => '__global const u32 *counted',
    cancel: () => '__global const volatile u32 *cancel',
    status: () => '__global u32 *status',
    tables: () => '__global const u32 *restrict tables',
    read: (name, type) => `__global const ${type} *restrict ${name}`,
    rw: (name, type) => `__global ${type} *restrict ${name}`,
    atomic: (name, type) => `__global ${type} *${name}`,
  };
  return bindings.map((binding) => forms[binding.kind](bufferName(binding), binding.type));
}
