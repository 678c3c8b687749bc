export { type OpenDevices, openDevicesWith, type Where } from './devices.js';
export { type DeviceStatus, Engine, type EngineOptions, type Preparation } from './engine.js';
export type { Aim } from './feed/chunk-size.js';
export {
  type Flow,
  type FlowOptions,
  type FlowSlot,
  type FlowSpec,
  flow,
  type OpenFlow,
  Overflow,
  type Reaped,
  type Step,
} from './flow/flow.js';
export { type Hit, hitsIn } from './flow/ring.js';
export type { Found, Given } from './flow/values.js';
export type { Backlog, Canary, Credit, Finding, Job } from './job.js';
export type { Batch, Batches, BatchOptions } from './makers/batches.js';
export { type GenerateOptions, generate, type Row } from './makers/generate.js';
export type { Indexed, Mode } from './makers/harvest.js';
export type { RowsGiven } from './makers/row-source.js';
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
export type { Share } from './run/partition.js';
export type { Ending, Progress, Run as JobRun } from './run/run.js';
export { type ChunkRecord, type Outcome, Recorder } from './telemetry/record.js';
export { type SensorSample, type Traced, type TraceEvent, traceEvents } from './telemetry/trace.js';
export { type Nature, VirtualDevice, virtualDevices } from './testing/virtual.js';
export { keepTuning, keepTuningsOn, settingFor, type TuningShelf, tunedFlow, tuningFor } from './tune/known.js';
export {
  type Axis,
  type Setting,
  type Trial,
  type Tunable,
  type TuneOptions,
  type TuningRecord,
  tune,
} from './tune/tune.js';
export type { Check, CheckModule, Opinion, Verify } from './verify/verify.js';
export { Intervals } from './work/intervals.js';
export { type ChunkSource, MemorySource } from './work/source.js';
export { between, endOf, launchBase, type Piece, type Range, rangeOf } from './work/space.js';
