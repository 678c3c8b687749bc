import { OutParameters } from '../../gpu/native/api.js';
import { CompileRefusal } from '../../gpu/worker/driver.js';
import { koffi } from '../../native/koffi.js';
import { addressOf, preservingSignals } from '../../native/libc.js';
import { type BoundFunctions, bind, cString, textIn } from './api.js';
import { findLibrary } from './library.js';

const wide = 'uint64_t';
const int = 'int';

const symbols = {
  nvrtcVersion: ['nvrtcVersion', wide, wide],
  nvrtcGetNumSupportedArchs: ['nvrtcGetNumSupportedArchs', wide],
  nvrtcGetSupportedArchs: ['nvrtcGetSupportedArchs', wide],
  nvrtcCreateProgram: ['nvrtcCreateProgram', wide, wide, wide, int, wide, wide],
  nvrtcDestroyProgram: ['nvrtcDestroyProgram', wide],
  nvrtcCompileProgram: ['nvrtcCompileProgram', wide, int, wide],
  nvrtcGetProgramLogSize: ['nvrtcGetProgramLogSize', wide, wide],
  nvrtcGetProgramLog: ['nvrtcGetProgramLog', wide, wide],
  nvrtcGetCUBINSize: ['nvrtcGetCUBINSize', wide, wide],
  nvrtcGetCUBIN: ['nvrtcGetCUBIN', wide, wide],
  nvrtcGetPTXSize: ['nvrtcGetPTXSize', wide, wide],
  nvrtcGetPTX: ['nvrtcGetPTX', wide, wide],
} as const;

/** NVRTC's output: machine code of one architecture, or PTX that the driver compiles further. */
export interface CompileTarget {
  readonly option: string;
  readonly form: 'cubin' | 'ptx';
}

/** NVIDIA's run-time compiler, on a thread that may block: 0.6 s for a fully unrolled SHA-256d. */
export class Nvrtc {
  readonly version: string;
  /** Architectures that it can compile for: 75, 80, 90 … */
  readonly architectures: readonly number[];
  readonly #api: BoundFunctions<typeof symbols>;
  readonly #path: string;
  readonly #out = new OutParameters();

  private constructor(api: BoundFunctions<typeof symbols>, path: string) {
    this.#api = api;
    this.#path = path;
    this.#check('nvrtcVersion', api.nvrtcVersion(this.#out.cellAddress(0), this.#out.cellAddress(1)));
    this.version = `${this.#out.int(0)}.${this.#out.int(1)}`;
    this.#check('nvrtcGetNumSupportedArchs', api.nvrtcGetNumSupportedArchs(this.#out.address));
    const numbers = new Int32Array(this.#out.int());
    // SAFETY: NVRTC writes as many as it just reported.
    this.#check('nvrtcGetSupportedArchs', api.nvrtcGetSupportedArchs(addressOf(numbers)));
    this.architectures = [...numbers];
  }

  /** `major`: the driver's CUDA version, whose compiler is searched first. */
  static open(major?: number): Nvrtc | { readonly reason: string } {
    const found = findLibrary('nvrtc', major);
    if ('reason' in found) return found;
    try {
      return new Nvrtc(bind(found.path, symbols), found.path);
    } catch (error) {
      return { reason: `${found.path} cannot be used (NVRTC 11.2 or newer is required): ${(error as Error).message}` };
    }
  }

  get path(): string {
    return this.#path;
  }

  /** Throws CompileRefusal with the compiler's first error. */
  compile(text: string, options: readonly string[], { option, form }: CompileTarget): Uint8Array {
    const [source, name] = [cString(text), cString(SOURCE_NAME)];
    const api = this.#api;
    // SAFETY: both texts end with a zero and outlive the call; there are no headers.
    const made = api.nvrtcCreateProgram(this.#out.address, addressOf(source), addressOf(name), 0, 0, 0);
    this.#check('nvrtcCreateProgram', made);
    const handle = new BigUint64Array([BigInt(this.#out.wide())]);
    const program = this.#out.wide();
    try {
      const texts = [...options, `--gpu-architecture=${option}`].map(cString);
      const list = BigUint64Array.from(texts, (bytes) => BigInt(addressOf(bytes)));
      // SAFETY: `list` and the texts that it points to outlive the call.
      const code = preservingSignals(() => api.nvrtcCompileProgram(program, list.length, addressOf(list)));
      if (code !== 0) throw this.#refusal(code, program);
      return form === 'cubin'
        ? this.#bytes(program, 'nvrtcGetCUBINSize', 'nvrtcGetCUBIN')
        : this.#bytes(program, 'nvrtcGetPTXSize', 'nvrtcGetPTX');
    } finally {
      api.nvrtcDestroyProgram(addressOf(handle));
    }
  }

  #bytes(
    program: number,
    size: 'nvrtcGetCUBINSize' | 'nvrtcGetPTXSize' | 'nvrtcGetProgramLogSize',
    get: 'nvrtcGetCUBIN' | 'nvrtcGetPTX' | 'nvrtcGetProgramLog',
  ): Uint8Array {
    this.#check(size, this.#api[size](program, this.#out.address));
    const bytes = new Uint8Array(this.#out.wide());
    // SAFETY: as many bytes as NVRTC just reported.
    if (bytes.length > 0) this.#check(get, this.#api[get](program, addressOf(bytes)));
    return bytes;
  }

  #refusal(code: number, program: number): CompileRefusal {
    const log = textIn(this.#bytes(program, 'nvrtcGetProgramLogSize', 'nvrtcGetProgramLog')).trim();
    const { line, message } = firstError(log);
    return new CompileRefusal(`NVRTC ${this.version}`, line, message || this.#describeCode(code));
  }

  #check(call: keyof typeof symbols, code: number): void {
    if (code !== 0)
      throw new CompileRefusal(`NVRTC ${this.version}`, undefined, `${call}: ${this.#describeCode(code)}`);
  }

  #describeCode(code: number): string {
    return `${koffi().load(this.#path).func('nvrtcGetErrorString', 'str', ['int'])(code)} (${code})`;
  }
}

const SOURCE_NAME = 'kernel.cu';

/** NVRTC's errors look like `kernel.cu(12): error: identifier "x" is undefined`. */
export function firstError(log: string): { readonly line: number | undefined; readonly message: string } {
  const lines = log.split('\n');
  for (const text of lines) {
    const [, line, message] = /^[^(]*\((\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (.*)/.exec(text) ?? [];
    if (line !== undefined && message !== undefined) return { line: Number(line), message };
  }
  return { line: undefined, message: lines.find((text) => text.includes('error')) ?? lines[0] ?? '' };
}

/**
 * Chooses the target: the GPU itself, else an older GPU of its generation, whose machine code it runs; else PTX of the
 * newest earlier generation, if NVRTC is older than the GPU. Undefined if the GPU is older than all.
 */
export function targetFor(gpu: number, architectures: readonly number[]): CompileTarget | undefined {
  const older = architectures.filter((known) => known <= gpu).sort((a, b) => b - a);
  const generation = (architecture: number): number => Math.floor(architecture / 10);
  const near = older.find((known) => generation(known) === generation(gpu));
  if (near !== undefined) return { option: `sm_${near}`, form: 'cubin' };
  return older[0] === undefined ? undefined : { option: `compute_${older[0]}`, form: 'ptx' };
}
