import { type GridBindingKind, type GridShape, LaunchStatus } from '../../abi/grid.js';
import { bytesOf, type Scalar, toWords, type Value } from '../../language/types.js';
import { cSyntax } from '../c/c-like.js';
import { cFunctions } from '../c/functions.js';
import { cLiteral } from '../c/literal.js';
import { bufferName } from '../names.js';
import { cFamily, type Helper, helperBody, nvidiaComplements, type OperationTable } from './forms.js';
import type { EntryForms, GpuLanguage, MemoryForms, SubgroupForms } from './language.js';
import { type GpuLayout, hasLongLoop, sizeOf } from './layout.js';

/** Returns the language CUDA C++ for nvcc and NVRTC, from compute capability 7.0. */
export function cudaLanguage(): GpuLanguage {
  return {
    syntax: cSyntax,
    typeName: (type) => type,
    literal,
    table,
    helper: (name, helper) =>
      `__device__ __forceinline__ ${helper.result} ${name}(${cArguments(helper)}) { ${helperBody(helper)} }`,
    memory,
    entry,
    subgroups,
    functions: cFunctions('static __device__'),
    functionContext: {
      status: 'u32 *status',
      cancel: 'const volatile u32 *cancel',
      epoch: 'const u32 epoch',
      tables: 'const u32 *__restrict__ tables',
      nearTable: (type, name) => `const ${type} *${name}`,
    },
  };
}

/** A warp. Every thread of the workgroup takes part. */
const subgroups: SubgroupForms = {
  size: 32,
  swapped: (value, by) => `__shfl_xor_sync(0xffffffffu, ${value}, ${by})`,
  before: (value, by) => `__shfl_up_sync(0xffffffffu, ${value}, ${by})`,
};

export const cArguments = ({ args }: Helper): string => args.map((type, i) => `${type} ${'abcd'[i]}`).join(', ');

/** The text already prevents contraction (a product that is added is `__fmul_rn`); the flag is a second safeguard. */
export const cudaOptions: readonly string[] = ['--std=c++17', '--fmad=false'];

function literal(type: Scalar, value: Value): string {
  if (type === 'bool') return String(value);
  if ((type === 'f32' || type === 'f64') && !Number.isFinite(Number(value))) {
    const bits = toWords(type, value).map((word) => word.toString(16).padStart(8, '0'));
    return type === 'f32' ? `__uint_as_float(0x${bits[0]}u)` : `__longlong_as_double(0x${bits[1]}${bits[0]}ll)`;
  }
  return cLiteral(type, value);
}

const family = cFamily('ull', { f32: '__float_as_uint', f64: '(u64)__double_as_longlong' });
const table: OperationTable = {
  forms: {
    ...family.forms,
    mul_f32: '__fmul_rn($a, $b)',
    mul_f64: '__dmul_rn($a, $b)',
    div_f32: '__fdiv_rn($a, $b)',
    div_f64: '__ddiv_rn($a, $b)',
    sqrt_f32: '__fsqrt_rn($a)',
    sqrt_f64: '__dsqrt_rn($a)',
    abs_f32: 'fabsf($a)',
    abs_f64: 'fabs($a)',
    floor_f32: 'floorf($a)',
    floor_f64: 'floor($a)',
    ceil_f32: 'ceilf($a)',
    ceil_f64: 'ceil($a)',
    trunc_f32: 'truncf($a)',
    trunc_f64: 'trunc($a)',
    round_f32: 'rintf($a)',
    round_f64: 'rint($a)',
    fma_f32: '__fmaf_rn($a, $b, $c)',
    fma_f64: '__fma_rn($a, $b, $c)',
    bits_u32_f32: '__uint_as_float($a)',
    bits_i32_f32: '__int_as_float($a)',
    bits_f32_u32: '__float_as_uint($a)',
    bits_f32_i32: '__float_as_int($a)',
    bits_u64_f64: '__longlong_as_double((long long)$a)',
    bits_f64_u64: '(u64)__double_as_longlong($a)',
    popcount_u32: '(u32)__popc($a)',
    popcount_i32: '(u32)__popc((u32)$a)',
    popcount_u64: '(u32)__popcll($a)',
    clz_u32: '(u32)__clz((int)$a)',
    clz_i32: '(u32)__clz($a)',
    clz_u64: '(u32)__clzll((long long)$a)',
    ctz_u32: '(u32)__clz((int)__brev($a))',
    ctz_i32: '(u32)__clz((int)__brev((u32)$a))',
    ctz_u64: '(u32)__clzll((long long)__brevll($a))',
    byteSwap_u32: '__byte_perm($a, 0u, 0x0123u)',
    mulHi_u32: '__umulhi($a, $b)',
    mulHi_u64: '__umul64hi($a, $b)',
    funnel_u32: '__funnelshift_r($b, $a, $c)',
  },
  functions: {
    ...family.functions,
    ...nvidiaComplements.functions,
    rotl_u32: '__funnelshift_l(a, a, b)',
    rotr_u32: '__funnelshift_r(a, a, b)',
    rotl_i32: '(i32)__funnelshift_l((u32)a, (u32)a, b)',
    rotr_i32: '(i32)__funnelshift_r((u32)a, (u32)a, b)',
    rotl_u64: 'a << (b & 63u) | a >> (0u - b & 63u)',
    rotr_u64: 'a >> (b & 63u) | a << (0u - b & 63u)',
    byteSwap_u64: '(u64)__byte_perm((u32)a, 0u, 0x0123u) << 32 | __byte_perm((u32)(a >> 32), 0u, 0x0123u)',
    wmadHi_u64: 'const u64 x = a * b + c, y = x + d; return __umul64hi(a, b) + (x < c) + (y < d);',
  },
  logic3: nvidiaComplements.logic3,
};

const vectors: Readonly<Partial<Record<Scalar, { readonly type: string; readonly width: 2 | 4 }>>> = {
  u32: { type: 'uint4', width: 4 },
  i32: { type: 'int4', width: 4 },
  f32: { type: 'float4', width: 4 },
  u64: { type: 'ulonglong2', width: 2 },
  f64: { type: 'double2', width: 2 },
};

/** Splits a quad into accesses of 16 bytes: two for a quad of 8-byte elements. */
const pieces = (type: Scalar, quad: string): { type: string; width: 2 | 4; at: readonly string[] } => {
  const { type: vector, width } = vectors[type] as { type: string; width: 2 | 4 };
  return { type: vector, width, at: width === 4 ? [quad] : [`(${quad}) * 2u`, `(${quad}) * 2u + 1u`] };
};

const calls = {
  add: 'atomicAdd',
  sub: 'atomicSub',
  and: 'atomicAnd',
  or: 'atomicOr',
  xor: 'atomicXor',
  min: 'atomicMin',
  max: 'atomicMax',
  exchange: 'atomicExch',
  compareExchange: 'atomicCAS',
} as const;

const memory: MemoryForms = {
  address: 'u64',
  read: (decl, at) => `${bufferName(decl)}[${at}]`,
  write: (decl, at, value) => `${bufferName(decl)}[${at}] = ${value};`,
  readQuad(decl, quad, names) {
    const { type, width, at } = pieces(decl.type, quad);
    const constness = decl.kind === 'read' ? 'const ' : '';
    return at.flatMap((index, piece) => {
      const own = names.slice(piece * width, (piece + 1) * width);
      const whole = `${own[0]}_q`;
      return [
        `const ${type} ${whole} = ((${constness}${type} *)${bufferName(decl)})[${index}];`,
        `const ${decl.type} ${own.map((name, k) => `${name} = ${whole}.${'xyzw'[k]}`).join(', ')};`,
      ];
    });
  },
  writeQuad(decl, quad, values) {
    const { type, width, at } = pieces(decl.type, quad);
    return at.map((index, piece) => {
      const own = values.slice(piece * width, (piece + 1) * width).join(', ');
      return `((${type} *)${bufferName(decl)})[${index}] = make_${type}(${own});`;
    });
  },
  atomic(op, decl, at, operands) {
    const cell = `${bufferName(decl)}[${at}]`;
    const plain = `*(volatile ${decl.type} *)&${cell}`;
    if (op === 'load') return plain;
    if (op === 'store') return `${plain} = ${operands[0]}`;
    if (op === 'sub' && decl.type === 'u64') return `atomicAdd(&${cell}, 0ull - ${operands[0]})`; // atomicSub has no u64
    return `${calls[op]}(&${[cell, ...operands].join(', ')})`;
  },
  prefetch: (decl, quad) => {
    const bytes = bytesOf[decl.type] * 4;
    return [
      `asm volatile("prefetch.global.L2 [%0];" :: "l"((const char *)${bufferName(decl)} + (u64)(${quad}) * ${bytes}u));`,
    ];
  },
  barrier: () => ['__syncthreads();'],
  uniformLoad: (place) => place,
  needsBroadcast: () => false,
  uniformLoadIsBarrier: false,
  checks: cChecks('__device__', 'u32 *status', 'atomicExch'),
  checkArguments: 'status, ',
};

/** Records the first access out of bounds; its number is then all ones, and the access is skipped. */
export function cChecks(qualifier: string, status: string, exchange: string): string {
  const { trapped, site, index, length } = LaunchStatus;
  return [
    `${qualifier} u64 checked_index(${status}, u64 base, u64 index, u64 width, u64 length, u32 site) {`,
    '  const u64 at = base >> 60 ? (u64)-1 : base * 4 + index * width;',
    '  if (width <= length && at <= length - width) return at;',
    `  if (${exchange}(&status[${trapped}], 1u) == 0u) {`,
    `    status[${site}] = site; status[${index}] = (u32)at; status[${index + 1}] = (u32)(at >> 32);`,
    `    status[${length}] = (u32)length; status[${length + 1}] = (u32)(length >> 32);`,
    '  }',
    '  return (u64)-1;',
    '}',
    `${qualifier} u32 checked_entry(${status}, u32 index, u32 length, u32 site) {`,
    '  return checked_index(status, 0u, index, 1u, length, site) < length ? index : 0u;',
    '}',
  ].join('\n');
}

const entry: EntryForms = {
  preamble: () => [
    'typedef unsigned int u32; typedef int i32; typedef unsigned long long u64; typedef float f32; typedef double f64;',
  ],
  globals: ({ shape: { launch } }) => (launch.byValue ? [`struct Launch { u32 words[${launch.words}]; };`] : []),
  head: ({ shape }) =>
    `extern "C" __global__ void __launch_bounds__(${shape.workgroup}) ${shape.entry}(${cudaArguments(shape).join(', ')})`,
  begin: (layout) => [...nearMemory(layout), 'const u32 thread = threadIdx.x, group = blockIdx.x, groups = gridDim.x;'],
  word: ({ shape }, index) => (shape.launch.byValue ? `launch.words[${index}]` : `launch[${index}]`),
  wordAt: ({ shape }, at) => (shape.launch.byValue ? `launch.words[${at}]` : `launch[${at}]`),
  tableWord: (at) => `tables[${at}]`,
  limitToCount: () => [
    'if (counted) {',
    '  const u32 count = *counted;',
    '  if (count == 0u) return;',
    '  if (count - 1u < last) last = count - 1u;',
    '}',
  ],
  cancelBeforeLoop: () => [],
  // One thread reads the word, over the bus if it is in the host's memory, and the barrier passes it to the others. That
  // thread may have returned from a long loop, so in kernels with long loops every thread reads it. A barrier waits only for
  // threads that have not returned.
  cancelInLoop: ({ program }, every) => [
    `if (round % ${every}u == 0u && __syncthreads_or(${hasLongLoop(program.body) ? '' : 'thread == 0u && '}*cancel != epoch)) {`,
    `  if (thread == 0u) status[${LaunchStatus.incomplete}] = 1u;`,
    '  break;',
    '}',
  ],
  cancelInItem: ['if (*cancel != epoch) {', `  status[${LaunchStatus.incomplete}] = 1u;`, '  return;', '}'],
};

/** Returns the parameters of the entry, in the order of the shape's bindings. */
export function cudaArguments({ bindings, launch }: GridShape): string[] {
  const forms: Readonly<Record<GridBindingKind, (name: string, type?: Scalar) => string>> = {
    launch: () => (launch.byValue ? 'const __grid_constant__ Launch launch' : 'const u32 *__restrict__ launch'),
    counted: () => 'const u32 *counted',
    cancel: () => 'const volatile u32 *cancel',
    status: () => 'u32 *status',
    tables: () => 'const u32 *__restrict__ tables',
    read: (name, type) => `const ${type} *__restrict__ ${name}`,
    rw: (name, type) => `${type} *__restrict__ ${name}`,
    atomic: (name, type) => `${type} *${name}`,
  };
  return bindings.map((binding) => forms[binding.kind](bufferName(binding), binding.type));
}

export function nearMemory({ near, shape }: GpuLayout): string[] {
  if (shape.dynamicBytes === 0)
    return near.map(
      ({ name, type, length }) => `__shared__ __align__(16) ${type} ${name}[${paddedLength(type, length)}];`,
    );
  return [
    'extern __shared__ __align__(16) unsigned char near_bytes[];',
    ...near.map(
      ({ name, type }, i) => `${type} *const ${name} = (${type} *)(near_bytes + ${sizeOf(near.slice(0, i))});`,
    ),
  ];
}

/**
 * Rounds a length up to fill 16 bytes. The compiler reads ahead to the end of a 16-byte piece, which would be out of bounds.
 */
const paddedLength = (type: Scalar, length: number): number => {
  const grain = 16 / bytesOf[type];
  return Math.ceil(length / grain) * grain;
};
