import type { DeviceBuffer, DeviceInfo } from '../../../device/device.js';
import type { Precision, StateShape } from '../kernel/encoding.js';
import type { ManagedTensor } from './dlpack.js';
import { EncodeError } from './errors.js';

/** Counts of a batch's calls: copies to the device, launches, copies back, waits of the host. */
export interface CallCounts {
  readonly copies: number;
  readonly launches: number;
  readonly reads: number;
  readonly waits: number;
}

/** The device memory of a batch of states. */
export interface StatesMemory {
  readonly buffer: DeviceBuffer;
  /** Reads from an offset in bytes. */
  read(into: Float64Array | Float32Array, offset: number): Promise<void>;
  /** Returns the buffer, for another batch. */
  returnBuffer(): void;
  /** Gives up the buffer: it now belongs to the caller. */
  detach(): void;
}

/** DLPack's numbers for devices. */
const deviceTypes: Readonly<Partial<Record<DeviceInfo['kind'], number>>> = { native: 1, cuda: 2 };

/**
 * States on their device: rows of 2^qubits complex amplitudes, real and imaginary part next to each other. They are
 * read, released, or handed over, the latter two once.
 */
export class EncodedStates {
  readonly shape: readonly [samples: number, amplitudes: number];
  readonly dtype: 'complex64' | 'complex128';
  readonly device: DeviceInfo;
  /** Which kernels made them. */
  readonly path: string;
  readonly calls: CallCounts;
  readonly #memory: StatesMemory;
  #endedBy: string | undefined;

  constructor(
    states: StateShape & { readonly samples: number; readonly precision: Precision },
    made: { readonly device: DeviceInfo; readonly path: string; readonly calls: CallCounts },
    memory: StatesMemory,
  ) {
    this.shape = [states.samples, 2 ** states.qubits];
    this.dtype = states.precision === 'f64' ? 'complex128' : 'complex64';
    this.device = made.device;
    this.path = made.path;
    this.calls = made.calls;
    this.#memory = memory;
  }

  /** In elements. */
  get strides(): readonly [number, number] {
    return [this.shape[1], 1];
  }

  /** DLPack's type of the states: complex (code 5), 64 or 128 bits, one lane. */
  get type(): { readonly code: 5; readonly bits: 64 | 128; readonly lanes: 1 } {
    return { code: 5, bits: this.dtype === 'complex128' ? 128 : 64, lanes: 1 };
  }

  /** Copies all states, or `count` from `first` on, to host memory. */
  async read(first = 0, count = this.shape[0] - first): Promise<Float64Array | Float32Array> {
    this.#checkUsable('a copy of the states');
    const { bits } = this.type;
    const length = count * this.shape[1] * 2;
    const into = bits === 128 ? new Float64Array(length) : new Float32Array(length);
    await this.#memory.read(into, (first * this.shape[1] * bits) / 8);
    return into;
  }

  /** Passes the buffer to the caller, who frees it. It can be handed over once. */
  handOver(): DeviceBuffer {
    this.#checkUsable('the buffer');
    this.#endedBy = 'handed over';
    this.#memory.detach();
    return this.#memory.buffer;
  }

  /** Where the states are, for other libraries: on CUDA the device's pointer, on `native` an address of this process. */
  get pointer(): number | undefined {
    return this.#memory.buffer.pointer;
  }

  /**
   * Hands the states over as a DLPack tensor: the consumer calls its deleter once, and then the memory is freed. Only
   * for states that have a pointer.
   */
  async handOverTensor(): Promise<ManagedTensor> {
    const { kind, id } = this.device;
    const type = deviceTypes[kind];
    const { pointer } = this;
    if (type === undefined || pointer === undefined) {
      throw new EncodeError('handover', {
        message: `memory of ${id} has no pointer for other libraries`,
        asked: 'states as a DLPack tensor',
        advice: 'encode on cuda or native, or read() them',
      });
    }
    const { ManagedTensor } = await import('./dlpack.js'); // loads the C library
    const buffer = this.handOver();
    const [, ordinal = '0'] = id.split(':');
    const device = { type, ordinal: Number(ordinal) };
    return new ManagedTensor({ ...this.type, pointer, device, shape: this.shape, strides: this.strides }, () =>
      buffer.free(),
    );
  }

  /** Frees the memory for other states. */
  release(): void {
    if (this.#endedBy === undefined) this.#memory.returnBuffer();
    this.#endedBy ??= 'released';
  }

  #checkUsable(asked: string): void {
    if (this.#endedBy === undefined) return;
    throw new EncodeError('consumed', {
      message: `these states have been ${this.#endedBy} already`,
      asked,
      advice: 'states are handed over or released once; read them before',
    });
  }
}
