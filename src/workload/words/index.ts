export { type WordOptions, wordBatches } from './batches.js';
export {
  type DeviceProperties,
  deviceCount,
  deviceProperties,
  everyGpu,
  isCudaAvailable,
  wordsVersion,
} from './catalogue.js';
export { type Bytes, bytesOf, type Charset, customsOf, latin, type Reading, unlatin } from './charset.js';
export type { DeviceBatch } from './device-ring.js';
export type { Filter } from './filtered.js';
export { type FusedWords, fusedWords } from './fused.js';
export { createGenerator, type Generator, type GeneratorOptions } from './generator.js';
export { Keyspace } from './keyspace.js';
export { type Layout, layoutNames, layouts } from './layout.js';
export { type Mask, parseMask, prefixesOf } from './mask.js';
export { parseMaskFile } from './mask-file.js';
export type { Order } from './order.js';
export { Status, type StatusCode, WordsError } from './status.js';
export { type Words, wordsOf } from './words.js';
