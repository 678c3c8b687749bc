import type { ErrorCode } from '../../../kernel/error.js';
import { OutParameters } from '../../gpu/native/api.js';
import { DriverErrors } from '../../gpu/native/errors.js';
import { Cuda, type CudaApi, type CudaCall, textAt } from './api.js';

/** The driver's result codes, with its name and description of each. */
export class CudaErrors extends DriverErrors<CudaCall> {
  protected readonly codes = codes;
  protected readonly hints = hints;
  readonly #api: CudaApi;
  readonly #out = new OutParameters();

  constructor(api: CudaApi, device: string) {
    super(device);
    this.#api = api;
  }

  protected isFatal(_call: CudaCall, code: number): boolean {
    return fatalCodes.has(code);
  }

  protected describeCode(code: number): string {
    const name = this.#text('cuGetErrorName', code) || 'unknown code';
    const text = this.#text('cuGetErrorString', code);
    return `${name} (${code})${text === '' ? '' : `: ${text}`}`;
  }

  #text(call: 'cuGetErrorName' | 'cuGetErrorString', code: number): string {
    return this.#api[call](code, this.#out.address) === Cuda.success ? textAt(this.#out.wide()) : '';
  }
}

/** Codes after which every call of the process fails, including opening the device again: measured on an H200. */
const fatalCodes: ReadonlySet<number> = new Set([
  4, 46, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 806, 807, 810, 999,
]);

const codes: ReadonlyMap<number, ErrorCode> = new Map([
  [Cuda.outOfMemory, 'device-memory'],
  [Cuda.noDevice, 'device-absent'],
  [200, 'device-compile'],
  [209, 'device-compile'],
  [218, 'device-compile'],
  [221, 'device-compile'],
  [222, 'device-compile'],
]);

const CHECKED =
  'compile the kernel with `checked` to find the access, then restart the program (CUDA fails all later calls of this process)';

const hints: ReadonlyMap<number, string> = new Map([
  [1, 'this is a bug in Millrace: please report it with the line above'],
  [2, 'free buffers, use smaller ones, or end other programs that use memory of this GPU (nvidia-smi lists them)'],
  [34, 'this libcuda is the stub of the toolkit: install the driver, or remove the stub from LD_LIBRARY_PATH'],
  [46, 'another process is using the GPU, or it was lost: check nvidia-smi'],
  [100, 'check nvidia-smi and CUDA_VISIBLE_DEVICES'],
  [101, 'check CUDA_VISIBLE_DEVICES'],
  [209, 'the program was compiled for another GPU: clear the cache of compiled programs'],
  [214, 'the GPU reported a memory error: check `nvidia-smi -q -d ECC`, then reset the GPU'],
  [222, 'NVRTC is newer than the driver: update the driver, or name an older NVRTC in MILLRACE_LIBNVRTC'],
  [226, 'the GPU contained a hardware fault: restart the program'],
  [700, `the kernel accessed an invalid address: ${CHECKED}`],
  [701, 'the kernel needs more registers or workgroup memory than the GPU has: use a smaller workgroup'],
  [702, 'the watchdog of a GPU with a display ended the launch: use smaller chunks'],
  [712, 'the memory is already page-locked'],
  [714, CHECKED],
  [715, CHECKED],
  [716, CHECKED],
  [717, CHECKED],
  [718, CHECKED],
  [719, `the kernel crashed: ${CHECKED}`],
  [802, 'the GPUs are not ready: on machines with NVSwitch start nvidia-fabricmanager'],
  [803, 'the driver was updated while it was in use: restart the machine, or reload the nvidia modules'],
  [804, 'the CUDA compatibility package does not support this GPU: remove it from LD_LIBRARY_PATH'],
  [999, 'check the kernel log (dmesg, lines with NVRM or Xid); if the error persists, restart the machine'],
]);
