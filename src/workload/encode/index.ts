export { amplitudeGradient, fidelity, tensorProduct, traceDistance } from './compare.js';
export type { ManagedTensor, TensorFields } from './dlpack.js';
export { type EncodeOptions, encodeRows, type StateBatch } from './encode.js';
export { Encoder, type EncoderOptions, openEncoder } from './encoder.js';
export {
  type Encoding,
  encodingOf,
  encodings,
  estimateMemory,
  type MemoryEstimate,
  type Precision as StatePrecision,
  type QubitOrder,
  type StateShape,
} from './encoding.js';
export { EncodeError, type EncodeFault } from './errors.js';
export { type GatheredStates, Gatherer, type GatherOptions } from './gather.js';
export { Loader as StateLoader, loader as stateLoader } from './loader.js';
export type { PresentInput } from './present.js';
export { referenceStates } from './reference.js';
export {
  openSource as openSamples,
  type Source as Samples,
  type SourceOptions as SampleOptions,
} from './source/source.js';
export { type Calls as EncodeCalls, EncodedStates } from './states.js';
export { syntheticBatches } from './synthetic.js';
