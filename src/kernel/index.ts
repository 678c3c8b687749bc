export * from './buffers.js';
export { checkProgram } from './check.js';
export * from './control.js';
export { type ErrorCode, type ErrorDetails, MillraceError } from './error.js';
export { Expr, type In, lit } from './expr.js';
export { RING_HEADER_WORDS, type RingLayout, ringCapacity, ringLayout } from './harness.js';
export { interpret, type Run } from './interpret.js';
export type { BufferDecl, Field, Hoisted, NativeShape, Node, Program } from './ir.js';
export { type ItemContext, items } from './items.js';
export {
  bestLanes,
  type CpuFeatures,
  kernelText,
  type Lowered,
  type LowerOptions,
  lower,
  plainCpu,
  type TextOptions,
  vectorLanes,
} from './lower.js';
export * from './operations.js';
export { Origin } from './origin.js';
export { JobParameters, type Values, valuesOf } from './params.js';
export type { Kernel, TraceOptions } from './signature.js';
export { type Counts, type KernelStats, kernelStats, type OperationClass, type TargetStats } from './stats.js';
export { belowTarget, sha256 } from './std/sha256.js';
export { type StdFunction, std } from './std-function.js';
export { Near, type TileContext, tiles } from './tiles.js';
export * from './types.js';
