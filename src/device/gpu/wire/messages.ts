import { type ErrorCode, MillraceError } from '../../../kernel/error.js';
import type { DeviceInfo, DeviceTelemetry, Sensors } from '../../device.js';
import type { QueueSizes } from '../resident/memory.js';
import { CompileRefusal, type GpuSource } from '../worker/driver.js';

/** The data that a worker is started with. */
export interface WorkerStart<Own = unknown> {
  readonly board: ArrayBufferLike;
  readonly completion: 'poll' | 'callback' | 'sync';
  readonly telemetry: boolean;
  /** Threads that help to copy, for runtimes that access the host's arrays. */
  readonly copyMemory: SharedArrayBuffer | undefined;
  readonly startData: Own;
}

/**
 * Requests that the main thread sends by message: everything that is not performance-critical. Each gets an answer or
 * an error.
 */
export interface Requests {
  /** Allocates device memory under a number chosen by the main thread. The answer is its pointer, if it has one. */
  alloc: { ask: { readonly number: number; readonly bytes: number }; answer: number | undefined };
  /** The same for memory that another library allocated. */
  adopt: {
    ask: { readonly number: number; readonly bytes: number; readonly pointer: number };
    answer: undefined;
  };
  /**
   * Allocates host memory likewise, page-locked if possible: shared memory, as a view of a buffer that holds only this
   * memory; or memory of the runtime, by its address.
   */
  host: {
    ask: { readonly number: number; readonly bytes: number };
    answer: { readonly locked: boolean; readonly shared?: Uint8Array; readonly address?: number };
  };
  /** Registers existing shared memory under a number. */
  share: { ask: { readonly number: number; readonly memory: ArrayBufferLike }; answer: undefined };
  /** Loads a program. The answer is the occupancy, if known. */
  load: { ask: GpuSource; answer: number | undefined };
  /** Opens a resident grid, under a number chosen by the main thread; false if that is not possible. */
  grid: {
    ask: {
      readonly number: number;
      readonly program: number;
      readonly memory: SharedArrayBuffer;
      readonly sizes: QueueSizes;
      readonly block: Uint32Array;
      readonly buffers: readonly number[];
    };
    answer: boolean;
  };
  /** Ends a resident grid. */
  dismiss: { ask: { readonly number: number }; answer: undefined };
  sensors: { ask: undefined; answer: Sensors | undefined };
  telemetry: { ask: undefined; answer: DeviceTelemetry };
  /** The runtime's handles of the open streams, oldest first; empty if it has none. */
  handles: { ask: undefined; answer: readonly number[] };
}
export type RequestKind = keyof Requests;
export type Request = { [K in RequestKind]: { readonly kind: K; readonly ask: Requests[K]['ask'] } }[RequestKind];

/** To the worker. */
export type WorkerCall = Request & { readonly call: number };

/** From the worker. */
export type WorkerMessage =
  | { readonly kind: 'opened'; readonly info: DeviceInfo }
  | { readonly kind: 'refused'; readonly error: SerializedError }
  | { readonly kind: 'answer'; readonly call: number; readonly answer: unknown }
  | { readonly kind: 'error'; readonly call: number; readonly error: SerializedError }
  /** A mark whose group failed. */
  | { readonly kind: 'failed'; readonly line: number; readonly mark: number; readonly error: SerializedError }
  /** A resident grid has ended for good. */
  | { readonly kind: 'gridOver'; readonly number: number; readonly error: SerializedError }
  | { readonly kind: 'fatal'; readonly error: SerializedError }
  | { readonly kind: 'log'; readonly line: string };

/** An error in a form that can be sent between threads. */
export interface SerializedError {
  readonly text: string;
  readonly code?: ErrorCode | undefined;
  readonly asked?: string | undefined;
  readonly advice?: string | undefined;
  readonly refusal?: { readonly compiler: string; readonly line: number | undefined };
  readonly stack?: string | undefined;
}

export function serializeError(error: unknown): SerializedError {
  if (error instanceof MillraceError) {
    const { code, summary, asked, advice } = error;
    return { text: summary, code, asked, advice };
  }
  if (error instanceof CompileRefusal) {
    return { text: error.message, refusal: { compiler: error.compiler, line: error.line } };
  }
  return error instanceof Error ? { text: error.message, stack: error.stack } : { text: String(error) };
}

export function deserializeError({ text, code, asked, advice, refusal, stack }: SerializedError): Error {
  if (code !== undefined) {
    return new MillraceError({
      code,
      message: text,
      ...(asked !== undefined && { asked }),
      ...(advice !== undefined && { advice }),
    });
  }
  if (refusal) return new CompileRefusal(refusal.compiler, refusal.line, text);
  const error = new Error(text);
  if (stack !== undefined) error.stack = stack;
  return error;
}
