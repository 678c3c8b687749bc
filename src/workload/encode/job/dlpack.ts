import { bytesAt, globalSymbolAddress, mapPages, unmapPages } from '../../../device/native/libc.js';

/** The fields of a DLPack tensor. Shape and strides are in elements. */
export interface TensorFields {
  readonly pointer: number;
  readonly device: { readonly type: number; readonly ordinal: number };
  readonly code: number;
  readonly bits: number;
  readonly lanes: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** Offsets of fields in a 64-bit DLManagedTensor (DLPack's unversioned one); shape and strides follow it. */
const Field = {
  data: 0,
  deviceType: 8,
  deviceOrdinal: 12,
  dimensions: 16,
  code: 20,
  bits: 21,
  lanes: 22,
  shape: 24,
  strides: 32,
  byteOffset: 40,
  context: 48,
  deleter: 56,
} as const;
const STRUCT_BYTES = 64;
const PAGE = 4096;

/**
 * A DLPack tensor for another library in this process. It keeps its memory until the consumer has called the deleter, on
 * any thread. The deleter must not be JavaScript, which would block a foreign thread (or crash it at the end of the
 * process). It is the C library's `time`, which stores the time where its argument points, at the tensor's first field.
 * So the deleter overwrites the data pointer, and that field is polled.
 */
export class ManagedTensor {
  readonly fields: TensorFields;
  /** Address of the DLManagedTensor, the content of a capsule named `dltensor`. */
  readonly address: number;
  readonly #view: DataView;
  readonly #onFree: () => void;
  #isFreed = false;

  /** Calls `freed` when the memory is no longer used. */
  constructor(fields: TensorFields, freed: () => void) {
    this.fields = fields;
    this.#onFree = freed;
    this.address = mapPages(PAGE);
    // SAFETY: a page of our own, unmapped when the deleter has been called; nothing here looks at it afterwards.
    this.#view = new DataView(bytesAt(this.address, PAGE).buffer);
    this.#writeFields();
    live.add(this);
    sweeping ??= setInterval(sweep, SWEEP_MS).unref();
  }

  /** True if the consumer has called the deleter. Its memory is freed then. */
  get isReleased(): boolean {
    this.#poll();
    return this.#isFreed;
  }

  /** Releases a tensor that has no consumer, as the deleter would. */
  release(): void {
    if (!this.isReleased) this.#view.setBigUint64(Field.data, 0n, true);
    this.#poll();
  }

  #writeFields(): void {
    const { pointer, device, code, bits, lanes, shape, strides } = this.fields;
    const words = this.#view;
    const list = (field: number, at: number, numbers: readonly number[]): number => {
      words.setBigUint64(field, BigInt(this.address + at), true);
      for (const [i, value] of numbers.entries()) words.setBigInt64(at + 8 * i, BigInt(value), true);
      return at + 8 * numbers.length;
    };
    words.setBigUint64(Field.data, BigInt(pointer), true);
    words.setInt32(Field.deviceType, device.type, true);
    words.setInt32(Field.deviceOrdinal, device.ordinal, true);
    words.setInt32(Field.dimensions, shape.length, true);
    words.setUint8(Field.code, code);
    words.setUint8(Field.bits, bits);
    words.setUint16(Field.lanes, lanes, true);
    list(Field.strides, list(Field.shape, STRUCT_BYTES, shape), strides);
    words.setBigUint64(Field.byteOffset, 0n, true);
    words.setBigUint64(Field.context, 0n, true);
    words.setBigUint64(Field.deleter, BigInt(globalSymbolAddress('time')), true);
  }

  #poll(): void {
    if (this.#isFreed || this.#view.getBigUint64(Field.data, true) === BigInt(this.fields.pointer)) return;
    this.#isFreed = true;
    live.delete(this);
    unmapPages(this.address, PAGE);
    this.#onFree();
  }
}

const SWEEP_MS = 50;
/** Tensors that consumers may still use, kept here so that they are not garbage collected. */
const live = new Set<ManagedTensor>();
let sweeping: NodeJS.Timeout | undefined;

function sweep(): void {
  for (const tensor of live) void tensor.isReleased;
  if (live.size > 0) return;
  clearInterval(sweeping);
  sweeping = undefined;
}
