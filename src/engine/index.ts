export type { Batch, Batches, BatchOptions } from './batches.js';
export type { Aim } from './chunk.js';
export { type DeviceStatus, Engine, type EngineOptions, type Preparation } from './engine.js';
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
} from './flow.js';
export { type GenerateOptions, generate, type Row } from './generate.js';
export type { Indexed, Mode } from './hits.js';
export type { RowsGiven } from './input.js';
export { Intervals } from './intervals.js';
export type { Backlog, Canary, Credit, Finding, Job } from './job.js';
export { type ChunkRecord, type Outcome, Recorder } from './record.js';
export { type Hit, hitsIn } from './ring.js';
export type { Ending, Progress, Run as JobRun } from './run.js';
export {
  type FlowCanary,
  type KernelOptions,
  type KnownHits,
  type Search,
  type SearchOptions,
  search,
  searchFlow,
} from './search.js';
export type { Share } from './share.js';
export { type ChunkSource, MemorySource } from './source.js';
export { between, endOf, launchBase, type Piece, type Range, rangeOf } from './space.js';
export { type SensorSample, type Traced, type TraceEvent, traceEvents } from './trace.js';
export { type TransformedRow, type TransformOptions, transform } from './transform.js';
export {
  type Axis,
  type Setting,
  type Trial,
  type Tunable,
  type TuneOptions,
  type TuningRecord,
  tune,
} from './tune.js';
export { keepTuning, keepTuningsOn, settingFor, type TuningShelf, tunedFlow, tuningFor } from './tune-known.js';
export type { Found, Given } from './values.js';
export type { Check, CheckModule, Opinion, Verify } from './verify.js';
export { type Nature, VirtualDevice, virtualDevices } from './virtual.js';
export { type OpenDevices, openDevicesWith, type Where } from './where.js';
