import { MillraceError } from '../../../kernel/error.js';
import { type HoistedProgram, innerBlocks, type Statement } from '../../../kernel/ir/program.js';
import { rootsOf, topologicalOrder } from '../../../kernel/passes/graph.js';
import type { DeviceInfo } from '../../device.js';

/** Requirements of kernels that not every OpenCL device meets, by the name of the capability. */
const needDescriptions = {
  u64: '64-bit integers, for addresses (optional in the embedded profile)',
  f64: 'double precision (cl_khr_fp64)',
  f32: 'single precision with denormals and infinities',
  'u64-atomics': 'atomic access to u64 (cl_khr_int64_base_atomics, cl_khr_int64_extended_atomics)',
  'f32-divide': 'correctly rounded division and square root of f32 (CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)',
} as const;
type Need = keyof typeof needDescriptions;

/** Refuses a kernel that the device would compute differently or not at all. */
export function checkNeeds(program: HoistedProgram, info: DeviceInfo): void {
  const missing = [...needsOf(program)].filter((need) => !info.capabilities.includes(need));
  if (missing.length === 0) return;
  throw new MillraceError({
    code: 'device-capability',
    message: `kernel ${program.name} needs features that ${info.id} (${info.name}) lacks: ${missing.map((need) => needDescriptions[need]).join('; ')}`,
    asked: `kernel ${program.name} on ${info.id}, which has ${info.capabilities.join(', ') || 'no capabilities'}`,
    advice: 'use another device, or a variant of the kernel with other types',
  });
}

/** The requirements of the part that runs on the device: job and chunk values are computed on the host. */
export function needsOf({ body, buffers, near }: HoistedProgram): ReadonlySet<Need> {
  const needs = new Set<Need>(['u64']);
  const type = (name: string): void => {
    if (name === 'f64' || name === 'f32') needs.add(name);
  };
  for (const decl of [...buffers, ...near]) type(decl.type);
  for (const node of topologicalOrder(rootsOf(body))) {
    type(node.type);
    if (node.type === 'f32' && (node.op === 'div' || node.op === 'sqrt')) needs.add('f32-divide');
  }
  const visit = (statements: readonly Statement[]): void => {
    for (const statement of statements) {
      if (statement.kind === 'cell') type(statement.cell.type);
      if (statement.kind === 'atomic' && statement.place.buffer.type === 'u64') needs.add('u64-atomics');
      if (statement.kind === 'array') type(statement.array.type);
      innerBlocks(statement).forEach(visit);
    }
  };
  visit(body);
  return needs;
}
