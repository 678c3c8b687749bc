export { type WordOptions, wordBatches } from './generator/batches.js';
export type { DeviceBatch } from './generator/device-ring.js';
export {
  type DeviceProperties,
  deviceCount,
  deviceProperties,
  everyGpu,
  isCudaAvailable,
  wordsVersion,
} from './generator/devices.js';
export { createGenerator, type Generator, type GeneratorOptions } from './generator/generator.js';
export { Status, type StatusCode, WordsError } from './generator/status.js';
export { type FusedWords, fusedWords } from './kernel/fused.js';
export {
  type ByteString,
  type Charset,
  type CharsetOptions,
  fromByteString,
  parseCharsets,
  toByteString,
  utf8ByteString,
} from './space/charset.js';
export type { Filter } from './space/filtered.js';
export { Keyspace } from './space/keyspace.js';
export { type Layout, layoutNames, layouts } from './space/layout.js';
export { type Mask, parseMask, prefixesOf } from './space/mask.js';
export { parseMaskFile } from './space/mask-file.js';
export type { Order } from './space/order.js';
export { type Words, wordsOf } from './space/words.js';
