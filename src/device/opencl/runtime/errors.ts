import type { ErrorCode, MillraceError } from '../../../kernel/error.js';
import { DriverErrors } from '../../gpu/native/errors.js';
import { FatalError } from '../../gpu/worker/driver.js';
import type { OpenClCall } from './api.js';

/** Result codes with the specification's names. */
export class OpenClErrors extends DriverErrors<OpenClCall> {
  protected readonly codes = codes;
  protected readonly hints = hints;

  /** The error of a command that failed, as its event reports it. */
  executionError(code: number, doing: string): MillraceError | FatalError {
    const hint = code === OUT_OF_RESOURCES ? CHECKED : hints.get(code);
    const error = this.error(code, `${doing} ended`, doing, hint);
    return code === OUT_OF_RESOURCES || fatalCodes.has(code) ? new FatalError(error) : error;
  }

  protected isFatal(call: OpenClCall, code: number): boolean {
    if (code === OUT_OF_RESOURCES) return call !== 'clEnqueueNDRangeKernel' && !call.startsWith('clCreate');
    return fatalCodes.has(code);
  }

  protected describeCode(code: number): string {
    return `${names.has(code) ? `CL_${names.get(code)}` : 'unknown code'} (${code})`;
  }
}

const OUT_OF_RESOURCES = -5;
/** -4 and -6 also mean that memory has run out, on the device or on the host. */
export const isOutOfMemory = (code: number): boolean => code === -4 || code === OUT_OF_RESOURCES || code === -6;

/**
 * After these every call fails: a lost device (-2), a queue that a bad access has killed (-36, -9999). NVIDIA also
 * reports -5 for a bad access, but for a launch it may mean that the kernel needs too much: the next call then shows
 * which.
 */
const fatalCodes: ReadonlySet<number> = new Set([-2, -36, -9999]);

const codes: ReadonlyMap<number, ErrorCode> = new Map([
  [-1, 'device-absent'],
  [-3, 'device-compile'],
  [-4, 'device-memory'],
  [-6, 'device-memory'],
  [-11, 'device-compile'],
  [-61, 'device-memory'],
  [-1001, 'device-absent'],
]);

const CHECKED =
  'the kernel probably accessed an invalid address: compile it with `checked` to find the access, then open the device again';
const hints: ReadonlyMap<number, string> = new Map([
  [-2, 'another process is using the device, or it was lost: check clinfo, then open it again'],
  [-3, 'this platform has no compiler: use another device'],
  [-4, 'free buffers or use smaller ones'],
  [
    -5,
    'the kernel needs more registers or workgroup memory than the device has (use a smaller workgroup), or memory is short',
  ],
  [-6, 'the host is out of memory: end other programs, or use smaller buffers'],
  [-14, 'a command that it waited for has failed'],
  [-36, CHECKED],
  [-52, 'this is a bug in Millrace: please report it with the line above'],
  [-54, 'this is a bug in Millrace: please report it with the line above'],
  [-61, 'use buffers below the maximum size that `millrace devices` reports'],
  [-9999, CHECKED],
]);

/** The specification's names, and two that extensions and NVIDIA added. */
const names: ReadonlyMap<number, string> = new Map([
  [-1, 'DEVICE_NOT_FOUND'],
  [-2, 'DEVICE_NOT_AVAILABLE'],
  [-3, 'COMPILER_NOT_AVAILABLE'],
  [-4, 'MEM_OBJECT_ALLOCATION_FAILURE'],
  [-5, 'OUT_OF_RESOURCES'],
  [-6, 'OUT_OF_HOST_MEMORY'],
  [-7, 'PROFILING_INFO_NOT_AVAILABLE'],
  [-8, 'MEM_COPY_OVERLAP'],
  [-11, 'BUILD_PROGRAM_FAILURE'],
  [-12, 'MAP_FAILURE'],
  [-13, 'MISALIGNED_SUB_BUFFER_OFFSET'],
  [-14, 'EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST'],
  [-15, 'COMPILE_PROGRAM_FAILURE'],
  [-16, 'LINKER_NOT_AVAILABLE'],
  [-17, 'LINK_PROGRAM_FAILURE'],
  [-30, 'INVALID_VALUE'],
  [-31, 'INVALID_DEVICE_TYPE'],
  [-32, 'INVALID_PLATFORM'],
  [-33, 'INVALID_DEVICE'],
  [-34, 'INVALID_CONTEXT'],
  [-35, 'INVALID_QUEUE_PROPERTIES'],
  [-36, 'INVALID_COMMAND_QUEUE'],
  [-37, 'INVALID_HOST_PTR'],
  [-38, 'INVALID_MEM_OBJECT'],
  [-42, 'INVALID_BINARY'],
  [-43, 'INVALID_BUILD_OPTIONS'],
  [-44, 'INVALID_PROGRAM'],
  [-45, 'INVALID_PROGRAM_EXECUTABLE'],
  [-46, 'INVALID_KERNEL_NAME'],
  [-47, 'INVALID_KERNEL_DEFINITION'],
  [-48, 'INVALID_KERNEL'],
  [-49, 'INVALID_ARG_INDEX'],
  [-50, 'INVALID_ARG_VALUE'],
  [-51, 'INVALID_ARG_SIZE'],
  [-52, 'INVALID_KERNEL_ARGS'],
  [-53, 'INVALID_WORK_DIMENSION'],
  [-54, 'INVALID_WORK_GROUP_SIZE'],
  [-55, 'INVALID_WORK_ITEM_SIZE'],
  [-56, 'INVALID_GLOBAL_OFFSET'],
  [-57, 'INVALID_EVENT_WAIT_LIST'],
  [-58, 'INVALID_EVENT'],
  [-59, 'INVALID_OPERATION'],
  [-61, 'INVALID_BUFFER_SIZE'],
  [-63, 'INVALID_GLOBAL_WORK_SIZE'],
  [-64, 'INVALID_PROPERTY'],
  [-1001, 'PLATFORM_NOT_FOUND_KHR'],
  [-9999, 'NV_ILLEGAL_BUFFER_ACCESS'],
]);
