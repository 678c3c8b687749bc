import { OutParameters } from '../../gpu/native/api.js';
import { CompileRefusal } from '../../gpu/worker/driver.js';
import { addressOf } from '../../native/libc.js';
import { CL } from './api.js';
import type { Context } from './context.js';
import type { ClDevice } from './info.js';

/**
 * The compiler options, without correctly rounded quotients if the device does not support them: the compiler may
 * refuse it.
 */
export function buildOptions(options: readonly string[], { single }: Pick<ClDevice, 'single'>): string {
  const exact = (single & CL.FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) !== 0;
  return options.filter((option) => exact || option !== '-cl-fp32-correctly-rounded-divide-sqrt').join(' ');
}

/** Builds a program from text. Throws CompileRefusal if the platform's compiler rejects it. */
export function fromText(context: Context, text: string, options: readonly string[]): number {
  const { api, errors, device, handle } = context;
  const bytes = new TextEncoder().encode(text);
  const out = new OutParameters();
  // SAFETY: a list of one text and of its length, all of which outlive the call; the platform copies the text.
  const program = api.clCreateProgramWithSource(
    handle,
    1,
    out.put(addressOf(bytes), 0),
    out.put(bytes.length, 1),
    out.cellAddress(2),
  );
  errors.check('clCreateProgramWithSource', out.int(2));
  const code = api.clBuildProgram(program, 1, out.put(device.handle), buildOptions(options, device), 0, 0);
  if (code === 0) return program;
  const refusal = refusalOf(compilerOf(context), buildLog(context, program) || `clBuildProgram failed with ${code}`);
  api.clReleaseProgram(program);
  throw refusal;
}

/**
 * Loads a program from a binary that `binaryOf` returned for the same kind of device; undefined if the platform rejects
 * it.
 */
export function fromBinary(context: Context, binary: Uint8Array, options: readonly string[]): number | undefined {
  const { api, device, handle } = context;
  const out = new OutParameters();
  // SAFETY: lists of one device, one length and one address, all of which outlive the call; the bytes are as they were
  // when they were stored (their digest was checked), and the platform copies them.
  const program = api.clCreateProgramWithBinary(
    handle,
    1,
    out.put(device.handle, 0),
    out.put(binary.length, 1),
    out.put(addressOf(binary), 2),
    out.cellAddress(3),
    out.cellAddress(4),
  );
  if (out.int(4) !== 0) return undefined;
  if (out.int(3) === 0 && api.clBuildProgram(program, 1, out.cellAddress(0), buildOptions(options, device), 0, 0) === 0)
    return program;
  api.clReleaseProgram(program);
  return undefined;
}

/**
 * Returns the program as the platform stores it: PTX from NVIDIA, machine code from PoCL, which compiles it at this
 * call.
 */
export function binaryOf({ api, errors }: Context, program: number): Uint8Array {
  const out = new OutParameters();
  errors.check('clGetProgramInfo', api.clGetProgramInfo(program, CL.PROGRAM_BINARY_SIZES, 8, out.address, 0));
  const binary = new Uint8Array(out.wide());
  // SAFETY: a list of one address, of as many bytes as the platform has just reported.
  const code = api.clGetProgramInfo(program, CL.PROGRAM_BINARIES, 8, out.put(addressOf(binary)), 0);
  errors.check('clGetProgramInfo', code, 'the binary of a program');
  return binary;
}

const compilerOf = ({ device }: Context): string => `the OpenCL compiler of ${device.platform.name} ${device.driver}`;

function buildLog({ api, device }: Context, program: number): string {
  const out = new OutParameters();
  if (api.clGetProgramBuildInfo(program, device.handle, CL.PROGRAM_BUILD_LOG, 0, 0, out.address) !== 0) return '';
  const log = new Uint8Array(out.wide());
  // SAFETY: as many bytes as the platform has just reported.
  if (log.length === 0) return '';
  api.clGetProgramBuildInfo(program, device.handle, CL.PROGRAM_BUILD_LOG, log.length, addressOf(log), 0);
  return new TextDecoder().decode(log).replaceAll('\0', '').trim();
}

/** Finds the first error of a log: `file:line:column: error: text` from most, `error: file:line:column: text` from PoCL. */
export function refusalOf(compiler: string, log: string): CompileRefusal {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  for (const line of lines) {
    const match = /:(\d+):\d+:\s*(?:fatal )?error:\s*(.*)/.exec(line) ?? /^error:.*?:(\d+):\d+:\s*(.*)/.exec(line);
    if (match) return new CompileRefusal(compiler, Number(match[1]), match[2] ?? '');
  }
  // Linker errors have no line; some give the subject after a headline.
  const first = Math.max(
    0,
    lines.findIndex((line) => /error/i.test(line)),
  );
  return new CompileRefusal(
    compiler,
    undefined,
    lines
      .slice(first, first + 2)
      .map((line) => line.trim())
      .join(' '),
  );
}
