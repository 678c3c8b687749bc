import type { Device, DeviceBuffer, DeviceProgram, HostMemory, Stream } from '../../device/device.js';
import {
  PRINT_BYTES,
  PRINT_HEADER_WORDS,
  type PrintCall,
  type PrintedValue,
  printedIn,
} from '../../kernel/ir/prints.js';
import type { Value } from '../../kernel/language/types.js';

/** A value that a kernel has printed. */
export interface Printed {
  readonly kernel: string;
  readonly label: string;
  readonly value: Value;
  readonly index: bigint;
  /** `file:line:column` of the call. */
  readonly line: string;
}

/**
 * Receives what the kernels of a job print, or the number of values that did not fit: on the interpreter at once, on other
 * devices when a chunk is complete.
 */
export type OnPrint = (printed: Printed | { readonly kernel: string; readonly omitted: number }) => void;

/** Returns what is printed for people: `kernel.ts:12: x = 42 at index 7`. */
export function formatPrinted(printed: Parameters<OnPrint>[0]): string {
  if ('omitted' in printed) return `${printed.kernel}: ${printed.omitted} more values of this chunk are not shown`;
  const { label, value, index, line } = printed;
  return `${line.replace(/^.*[/\\]/, '').replace(/:\d+$/, '')}: ${label} = ${value} at index ${index}`;
}

/** Prints to the console of the process or the page. */
export const printToConsole: OnPrint = (printed) => console.info(formatPrinted(printed));

/** Returns the calls of `print` of a kernel; undefined if it has none. */
export function printCalls({ bindings }: DeviceProgram): { name: string; calls: readonly PrintCall[] } | undefined {
  const decl = bindings.find(({ prints }) => prints !== undefined);
  return decl && { name: decl.name, calls: decl.prints ?? [] };
}

/** The memory for what one kernel prints in one chunk. */
export class PrintMemory {
  readonly buffer: DeviceBuffer;
  readonly #host: HostMemory;
  readonly #kernel: string;
  readonly #calls: readonly PrintCall[];
  /** Values of the chunk that are reported already. */
  #reported = 0;

  constructor(buffer: DeviceBuffer, host: HostMemory, kernel: string, calls: readonly PrintCall[]) {
    this.buffer = buffer;
    this.#host = host;
    this.#kernel = kernel;
    this.#calls = calls;
  }

  /** Returns undefined if the kernel prints nothing. */
  static async for(device: Device, program: DeviceProgram): Promise<PrintMemory | undefined> {
    const found = printCalls(program);
    if (!found) return undefined;
    const host = await device.host(PRINT_BYTES);
    try {
      return new PrintMemory(await device.alloc(PRINT_BYTES), host, program.name, found.calls);
    } catch (error) {
      host.free();
      throw error;
    }
  }

  clear(stream: Stream): void {
    this.#reported = 0;
    stream.fill(this.buffer, 0, 0, PRINT_HEADER_WORDS * 4);
  }

  read(stream: Stream): void {
    stream.read(this.buffer, this.#host.bytes.subarray(0, PRINT_BYTES));
  }

  /** Returns what a launch that runs on this thread calls for each value. `start` is the index of item 0. */
  reporter(start: bigint, onPrint: OnPrint): (printed: PrintedValue) => void {
    return (printed) => {
      this.#reported++;
      this.#report(start, printed, onPrint);
    };
  }

  /** Reports what was read and is not reported yet. */
  report(start: bigint, onPrint: OnPrint): void {
    const { buffer, byteOffset } = this.#host.bytes;
    const { values, omitted } = printedIn(new Uint32Array(buffer, byteOffset, PRINT_BYTES / 4), this.#calls);
    for (const printed of values.slice(this.#reported)) this.#report(start, printed, onPrint);
    if (omitted > 0) onPrint({ kernel: this.#kernel, omitted });
  }

  #report(start: bigint, { call, item, value }: PrintedValue, onPrint: OnPrint): void {
    onPrint({ kernel: this.#kernel, label: call.label, value, index: start + BigInt(item), line: call.line });
  }

  free(): void {
    this.buffer.free();
    this.#host.free();
  }
}
