import { type GridBinding, type GridBindingKind, LaunchHeader, LaunchStatus, STATUS_WORDS } from '../../abi/grid.js';
import type { BufferDecl, HoistedProgram, Node, Statement } from '../../ir/program.js';
import { isInteger, type Scalar, toWords, type Value } from '../../language/types.js';
import { rootsOf, topologicalOrder } from '../../passes/graph.js';
import type { Syntax } from '../c/c-like.js';
import type { FunctionSyntax } from '../c/functions.js';
import { cLiteral } from '../c/literal.js';
import { bufferName } from '../names.js';
import { type Helper, helperBody } from './forms.js';
import type { EntryForms, GpuLanguage, LaneForms, MemoryForms } from './language.js';
import { forEachStatement, type GpuLayout, hasStatement } from './layout.js';
import { wgslTable } from './wgsl-forms.js';

/** Returns the WGSL language. A program's accesses to its memory determine how the memory is declared. */
export function wgslLanguage(program: HoistedProgram, checked: boolean, hasSubgroups: boolean): GpuLanguage {
  const uses = memoryUses(program, checked);
  const usesLanes = hasSubgroups && hasStatement(program.body, isIntegerReduction);
  return {
    syntax,
    typeName: (type) => type,
    literal,
    table: wgslTable,
    helper,
    memory: memoryForms(uses, checked),
    entry: {
      ...entry,
      preamble: () => (usesLanes ? ['enable subgroups;'] : []),
      globals: (layout) => globals(layout, uses),
    },
    ...(usesLanes && { lanes }),
    functions,
  };
}

const isIntegerReduction = (statement: Statement): boolean =>
  statement.kind === 'scan' || (statement.kind === 'sum' && isInteger(statement.result.type));

const lanes: LaneForms = {
  sum: (value) => `subgroupAdd(${value})`,
  sumBefore: (value) => `subgroupExclusiveAdd(${value})`,
  any: (condition) => `subgroupAny(${condition})`,
};

interface MemoryUses {
  /** Names of near arrays with atomic updates: every access to them is atomic. */
  readonly atomicNear: ReadonlySet<string>;
  /** Names of buffers that are only accessed by quads: 16 bytes at a time. */
  readonly quadOnly: ReadonlySet<string>;
  /** True if there are constants without a literal: infinities and NaN. */
  readonly nonFiniteFloats: boolean;
}

function memoryUses({ body, buffers }: HoistedProgram, checked: boolean): MemoryUses {
  const atomicNear = new Set<string>();
  const single = new Set<string>(checked ? buffers.map(bufferName) : []);
  const quad = new Set<string>();
  forEachStatement(body, (statement) => {
    if (statement.kind === 'atomic' && statement.place.buffer.kind === 'near')
      atomicNear.add(bufferName(statement.place.buffer));
    if (statement.kind !== 'load' && statement.kind !== 'store') return;
    const width = statement.kind === 'load' ? statement.results.length : statement.values.length;
    (width === 4 ? quad : single).add(bufferName(statement.place.buffer));
  });
  const isOdd = ({ op, type, detail }: Node) =>
    op === 'const' && type === 'f32' && !Number.isFinite(Number(detail.value));
  return {
    atomicNear,
    quadOnly: new Set([...quad].filter((name) => !single.has(name))),
    nonFiniteFloats: topologicalOrder(rootsOf(body)).some(isOdd),
  };
}

const syntax: Syntax = {
  constant: (_, name, value) => `let ${name} = ${value};`,
  variable: (type, name, value) => `var ${name}: ${type} = ${value};`,
  // The value is written even if it is zero: Tint zeroes a variable without one when the function starts, not in each round of
  // a loop that declares it.
  array: (type, name, length, values) => `var ${name} = array<${type}, ${length}>(${values.join(', ')});`,
  loop: (name, from, condition, step) => `for (var ${name}: u32 = ${from}; ${condition}; ${step})`,
  breakIf: (condition) => `if (${condition}) { break; }`,
};

const functions: FunctionSyntax = {
  head: (name, result, params) => `fn ${name}(${params.join(', ')}) -> ${result}`,
  param: (type, name) => `${name}: ${type}`,
  structure: (name, types) => `struct ${name} { ${types.map((type, i) => `r${i}: ${type}`).join(', ')} }`,
  returnAll: (type, values) => `return ${type}(${values.join(', ')});`,
};

function literal(type: Scalar, value: Value): string {
  switch (type) {
    case 'bool':
      return String(value);
    case 'u32':
      return cLiteral(type, value);
    case 'i32':
      return value === -2147483648 ? 'i32(-2147483648)' : Number(value) < 0 ? `(${value}i)` : `${value}i`;
    case 'f32':
      // Values without a WGSL literal come out of a function, so that they are not constant expressions.
      if (!Number.isFinite(Number(value))) return `f32_of(0x${(toWords(type, value)[0] ?? 0).toString(16)}u)`;
      return Object.is(value, -0) ? '(-0.0f)' : cLiteral(type, value);
    default:
      throw new TypeError(`WGSL has no ${type}`);
  }
}

function helper(name: string, shape: Helper): string {
  const args = shape.args.map((type, i) => `${'abcd'[i]}: ${type}`).join(', ');
  return `fn ${name}(${args}) -> ${shape.result} { ${helperBody(shape)} }`;
}

const calls = {
  add: 'atomicAdd',
  sub: 'atomicSub',
  and: 'atomicAnd',
  or: 'atomicOr',
  xor: 'atomicXor',
  min: 'atomicMin',
  max: 'atomicMax',
  exchange: 'atomicExchange',
  load: 'atomicLoad',
  store: 'atomicStore',
} as const;

function memoryForms({ atomicNear, quadOnly }: MemoryUses, checked: boolean): MemoryForms {
  const isAtomic = (decl: BufferDecl) => atomicNear.has(bufferName(decl));
  return {
    address: 'u32',
    read(decl, at) {
      const name = bufferName(decl);
      if (isAtomic(decl)) return `atomicLoad(&${name}[${at}])`;
      return quadOnly.has(name) ? `${name}[(${at}) / 4u][(${at}) % 4u]` : `${name}[${at}]`;
    },
    write(decl, at, value) {
      const name = bufferName(decl);
      return isAtomic(decl) ? `atomicStore(&${name}[${at}], ${value});` : `${name}[${at}] = ${value};`;
    },
    readQuad(decl, quad, names) {
      if (!quadOnly.has(bufferName(decl))) return undefined;
      const whole = `${names[0]}_q`;
      return [
        `let ${whole} = ${bufferName(decl)}[${quad}];`,
        ...names.map((name, k) => `let ${name} = ${whole}.${'xyzw'[k]};`),
      ];
    },
    writeQuad(decl, quad, values) {
      if (!quadOnly.has(bufferName(decl))) return undefined;
      return [`${bufferName(decl)}[${quad}] = vec4<${decl.type}>(${values.join(', ')});`];
    },
    atomic: (op, decl, at, operands) =>
      op === 'compareExchange'
        ? `${compareExchangeName(decl)}(${[at, ...operands].join(', ')})`
        : `${calls[op]}(&${[`${bufferName(decl)}[${at}]`, ...operands].join(', ')})`,
    atomicFunction: (op, decl) => (op === 'compareExchange' ? compareExchange(decl) : undefined),
    prefetch: () => [],
    barrier: ({ near, global }) => [...(global ? ['storageBarrier();'] : []), ...(near ? ['workgroupBarrier();'] : [])],
    uniformLoad: (place) => `workgroupUniformLoad(&${place})`,
    // WGSL treats only read-only memory, and values loaded like this, as uniform, and a barrier needs uniform conditions.
    needsBroadcast: (decl) => decl.kind === 'rw' || (decl.kind === 'near' && (checked || isAtomic(decl))),
    uniformLoadIsBarrier: true,
    checks,
    checkArguments: '',
  };
}

const compareExchangeName = (decl: BufferDecl): string => `compare_exchange_${bufferName(decl)}`;

/** WGSL has only the weak form, which may fail by chance. A pointer to storage cannot be passed: one function a buffer. */
const compareExchange = (decl: BufferDecl): string =>
  [
    `fn ${compareExchangeName(decl)}(at: u32, expected: u32, value: u32) -> u32 {`,
    '  var seen = expected;',
    '  loop {',
    `    let tried = atomicCompareExchangeWeak(&${bufferName(decl)}[at], expected, value);`,
    '    seen = tried.old_value;',
    '    if (tried.exchanged || seen != expected) { break; }',
    '  }',
    '  return seen;',
    '}',
  ].join('\n');

/** Records the first access out of bounds; its number is then all ones, and the access is skipped. */
const checks = [
  'fn checked_index(base: u32, index: u32, width: u32, length: u32, site: u32) -> u32 {',
  '  if (base <= length / 4u && index <= length / width) {',
  '    let at = base * 4u + index * width;',
  '    if (width <= length && at <= length - width) { return at; }',
  '  }',
  `  if (atomicExchange(&status[${LaunchStatus.trapped}], 1u) == 0u) {`,
  `    atomicStore(&status[${LaunchStatus.site}], site);`,
  `    atomicStore(&status[${LaunchStatus.index}], base * 4u + index * width);`,
  `    atomicStore(&status[${LaunchStatus.length}], length);`,
  '  }',
  '  return 0xffffffffu;',
  '}',
  'fn checked_entry(index: u32, length: u32, site: u32) -> u32 {',
  '  return select(0u, index, checked_index(0u, index, 1u, length, site) < length);',
  '}',
].join('\n');

function globals({ shape, near }: GpuLayout, { atomicNear, quadOnly, nonFiniteFloats }: MemoryUses): string[] {
  const { launch } = shape;
  const elements = (binding: GridBinding): string => {
    const name = bufferName(binding);
    return quadOnly.has(name) ? `${name}: array<vec4<${binding.type}>>` : `${name}: array<${binding.type}>`;
  };
  const forms: Readonly<Record<Exclude<GridBindingKind, 'counted'>, (binding: GridBinding) => string>> = {
    launch: () =>
      launch.byValue ? `<uniform> launch: array<vec4<u32>, ${launch.words / 4}>` : '<storage, read> launch: array<u32>',
    cancel: () => '<uniform> cancel: vec4<u32>',
    status: () => `<storage, read_write> status: array<atomic<u32>, ${STATUS_WORDS}>`,
    tables: () => '<storage, read> tables: array<u32>',
    read: (binding) => `<storage, read> ${elements(binding)}`,
    rw: (binding) => `<storage, read_write> ${elements(binding)}`,
    atomic: (binding) => `<storage, read_write> ${bufferName(binding)}: array<atomic<u32>>`,
  };
  return [
    ...shape.bindings.map((binding, i) => {
      const form = forms[binding.kind as keyof typeof forms];
      return `@group(0) @binding(${i}) var${form(binding)};`;
    }),
    ...near.map(
      ({ name, type, length }) =>
        `var<workgroup> ${name}: array<${atomicNear.has(name) ? `atomic<${type}>` : type}, ${length}>;`,
    ),
    ...(nonFiniteFloats ? ['fn f32_of(bits: u32) -> f32 { return bitcast<f32>(bits); }'] : []),
  ];
}

const word = ({ shape }: GpuLayout, index: number): string =>
  shape.launch.byValue ? `launch[${index >> 2}].${'xyzw'[index & 3]}` : `launch[${index}]`;

const entry: Omit<EntryForms, 'globals' | 'preamble'> = {
  head: ({ shape }) =>
    `@compute @workgroup_size(${shape.workgroup}) fn ${shape.entry}(@builtin(workgroup_id) place: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) thread: u32)`,
  // A grid of more than 65,535 workgroups is folded into rows.
  begin: () => ['let group = place.y * grid.x + place.x;', 'let groups = grid.x * grid.y;'],
  word,
  wordAt: ({ shape }, at) => (shape.launch.byValue ? `launch[(${at}) / 4u][(${at}) % 4u]` : `launch[${at}]`),
  tableWord: (at) => `tables[${at}]`,
  limitToCount: (layout) => [
    `if (${word(layout, LaunchHeader.isCounted)} != 0u) {`,
    `  if (${word(layout, LaunchHeader.count)} == 0u) { return; }`,
    `  last = min(last, ${word(layout, LaunchHeader.count)} - 1u);`,
    '}',
  ],
  // A running dispatch never sees the host's writes, so one check is enough.
  cancelBeforeLoop: () => [
    'if (cancel.x != epoch) {',
    `  if (thread == 0u) { atomicStore(&status[${LaunchStatus.incomplete}], 1u); }`,
    '  return;',
    '}',
  ],
  cancelInLoop: () => [],
  cancelInItem: [],
};
