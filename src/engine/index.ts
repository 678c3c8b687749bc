export { type DeviceSelection, type OpenDevices, openDevicesWith } from './devices.js';
export { type DeviceStatus, Engine, type EngineOptions, type KernelPerDevice } from './engine.js';
export type { Aim } from './feed/chunk-size.js';
export type { ArrayOf, ElementType, WrittenBuffers } from './flow/arrays.js';
export type { Checked } from './flow/checked.js';
export {
  type Flow,
  type FlowOptions,
  type FlowSlot,
  type FlowSpec,
  type FlowStep,
  flow,
  type OpenFlow,
  Overflow,
  type ReapContext,
} from './flow/flow.js';
export type { OnPrint, Printed } from './flow/prints.js';
export { type Hit, hitsIn } from './flow/ring.js';
export type { InputValues, OutputValues } from './flow/values.js';
export type { Backlog, Canary, CheckResult, DeliveredResult, Job } from './job.js';
export type { Batch, Batches, BatchOptions, RowBatch } from './makers/batches.js';
export { type GenerateOptions, generate, type Row } from './makers/generate.js';
export { type ReduceOptions, type ReducePart, reduce } from './makers/reduce.js';
export type { Indexed, SearchMode } from './makers/reorder-buffer.js';
export type { InputRows } from './makers/row-source.js';
export { type RunOptions, type RunResult, run } from './makers/run-kernel.js';
export {
  type FlowCanary,
  type KernelOptions,
  type KnownHits,
  type Search,
  type SearchOptions,
  search,
  searchFlow,
} from './makers/search.js';
export { type TransformedRow, type TransformOptions, transform } from './makers/transform.js';
export type { PartitionMode } from './run/partition.js';
export type { JobProgress, Run as JobRun, RunOutcome } from './run/run.js';
export { type ChunkOutcome, type ChunkRecord, Recorder } from './telemetry/record.js';
export { type SensorSample, type TraceEvent, type TraceInput, traceEvents } from './telemetry/trace.js';
export { type FaultSpec, VirtualDevice, virtualDevices } from './testing/virtual.js';
export {
  type Axis,
  type Setting,
  type Trial,
  type Tunable,
  type TuneOptions,
  type TuningRecord,
  tune,
} from './tune/tune.js';
export { saveTuning, setTuningStore, settingFor, type TuningStore, tunedFlow, tuningFor } from './tune/tuning-store.js';
export type { Check, CheckModule, Verify, VerifyResult } from './verify/verify.js';
export type { WorkCoverage } from './work/bins.js';
export { Intervals } from './work/intervals.js';
export { type ChunkSource, MemorySource } from './work/source.js';
export { between, endOf, launchBase, type Piece, type Range, rangeOf } from './work/space.js';
