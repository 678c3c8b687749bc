export { amplitudeGradient, fidelity, tensorProduct, traceDistance } from './files/compare.js';
export { Loader as StateLoader, loader as stateLoader } from './files/loader.js';
export { syntheticBatches } from './files/synthetic.js';
export type { DeviceInput } from './job/device-input.js';
export type { ManagedTensor, TensorFields } from './job/dlpack.js';
export { type EncodeOptions, encodeRows, type StateBatch } from './job/encode.js';
export { Encoder, type EncoderOptions, openEncoder } from './job/encoder.js';
export { EncodeError, type EncodeFault } from './job/errors.js';
export { type GatheredStates, Gatherer, type GatherOptions } from './job/gather.js';
export { type CallCounts as EncodeCalls, EncodedStates } from './job/states.js';
export {
  type Encoding,
  encodingOf,
  encodings,
  estimateMemory,
  type MemoryEstimate,
  type Precision as StatePrecision,
  type QubitOrder,
  type StateShape,
} from './kernel/encoding.js';
export { referenceStates } from './kernel/reference.js';
export {
  openSource as openSamples,
  type Source as Samples,
  type SourceOptions as SampleOptions,
} from './source/source.js';
