import { bindOnce } from '../../gpu/native/api.js';

/**
 * The part of OpenCL 1.2 that the device needs: the type of a function's result, then of its arguments. Pointers,
 * handles and sizes are `wide`, plain numbers in JavaScript (see libc.ts for why); output parameters point into
 * `OutParameters`. Every call goes through the object made from this table, so that a wrapper can time them all.
 */
const wide = 'uint64_t';
const word = 'uint32_t';
const code = 'int';
const text = 'const char *';

const symbols = {
  clGetPlatformIDs: [code, word, wide, wide],
  clGetPlatformInfo: [code, wide, word, wide, wide, wide],
  clGetDeviceIDs: [code, wide, wide, word, wide, wide],
  clGetDeviceInfo: [code, wide, word, wide, wide, wide],
  clCreateContext: [wide, wide, word, wide, wide, wide, wide],
  clReleaseContext: [code, wide],
  clCreateCommandQueue: [wide, wide, wide, wide, wide],
  clReleaseCommandQueue: [code, wide],
  clCreateBuffer: [wide, wide, wide, wide, wide, wide],
  clReleaseMemObject: [code, wide],
  clCreateProgramWithSource: [wide, wide, word, wide, wide, wide],
  clCreateProgramWithBinary: [wide, wide, word, wide, wide, wide, wide, wide],
  clBuildProgram: [code, wide, word, wide, text, wide, wide],
  clGetProgramBuildInfo: [code, wide, wide, word, wide, wide, wide],
  clGetProgramInfo: [code, wide, word, wide, wide, wide],
  clReleaseProgram: [code, wide],
  clCreateKernel: [wide, wide, text, wide],
  clReleaseKernel: [code, wide],
  clSetKernelArg: [code, wide, word, wide, wide],
  clGetKernelWorkGroupInfo: [code, wide, wide, word, wide, wide, wide],
  clEnqueueWriteBuffer: [code, wide, wide, word, wide, wide, wide, word, wide, wide],
  clEnqueueReadBuffer: [code, wide, wide, word, wide, wide, wide, word, wide, wide],
  clEnqueueCopyBuffer: [code, wide, wide, wide, wide, wide, wide, word, wide, wide],
  clEnqueueFillBuffer: [code, wide, wide, wide, wide, wide, wide, word, wide, wide],
  clEnqueueMapBuffer: [wide, wide, wide, word, wide, wide, wide, word, wide, wide, wide],
  clEnqueueUnmapMemObject: [code, wide, wide, wide, word, wide, wide],
  clEnqueueNDRangeKernel: [code, wide, wide, word, wide, wide, wide, word, wide, wide],
  clEnqueueMarkerWithWaitList: [code, wide, word, wide, wide],
  clEnqueueBarrierWithWaitList: [code, wide, word, wide, wide],
  clGetEventInfo: [code, wide, word, wide, wide, wide],
  clGetEventProfilingInfo: [code, wide, word, wide, wide, wide],
  clRetainEvent: [code, wide],
  clReleaseEvent: [code, wide],
  clWaitForEvents: [code, word, wide],
  clFlush: [code, wide],
  clFinish: [code, wide],
} as const satisfies Readonly<Record<string, readonly [result: string, ...types: string[]]>>;

type Argument<Type> = Type extends typeof text ? string : number;
export type OpenClApi = {
  readonly [K in keyof typeof symbols]: (typeof symbols)[K] extends readonly [string, ...infer Types]
    ? (...given: { [I in keyof Types]: Argument<Types[I]> }) => number
    : never;
};
export type OpenClCall = keyof OpenClApi;

/** Binds the functions of the library at `path`, which `loadForever` has pinned. Throws koffi's error if one is missing. */
export function openclApi(path: string): OpenClApi {
  return bindOnce<OpenClApi>(path, symbols, (library) => {
    const rows = Object.entries(symbols);
    const entries = rows.map(([name, [result, ...types]]) => [name, library.func(name, result, [...types])]);
    return Object.fromEntries(entries);
  });
}

/** Constants, by the specification's names without their prefix. */
export const CL = {
  PLATFORM_VERSION: 0x0901,
  PLATFORM_NAME: 0x0902,

  DEVICE_TYPE_ALL: 0xffff_ffff,
  DEVICE_TYPE_CPU: 2,
  DEVICE_TYPE: 0x1000,
  DEVICE_MAX_COMPUTE_UNITS: 0x1002,
  DEVICE_MAX_WORK_GROUP_SIZE: 0x1004,
  DEVICE_MAX_CLOCK_FREQUENCY: 0x100c,
  DEVICE_MAX_MEM_ALLOC_SIZE: 0x1010,
  DEVICE_SINGLE_FP_CONFIG: 0x101b,
  DEVICE_GLOBAL_MEM_SIZE: 0x101f,
  DEVICE_LOCAL_MEM_TYPE: 0x1022,
  DEVICE_LOCAL_MEM_SIZE: 0x1023,
  DEVICE_ENDIAN_LITTLE: 0x1026,
  DEVICE_AVAILABLE: 0x1027,
  DEVICE_COMPILER_AVAILABLE: 0x1028,
  DEVICE_NAME: 0x102b,
  DEVICE_VENDOR: 0x102c,
  DRIVER_VERSION: 0x102d,
  DEVICE_PROFILE: 0x102e,
  DEVICE_VERSION: 0x102f,
  DEVICE_EXTENSIONS: 0x1030,
  DEVICE_DOUBLE_FP_CONFIG: 0x1032,
  DEVICE_MAX_NUM_SUB_GROUPS: 0x105c,
  /** cl_nv_device_attribute_query */
  DEVICE_COMPUTE_CAPABILITY_MAJOR_NV: 0x4000,
  DEVICE_COMPUTE_CAPABILITY_MINOR_NV: 0x4001,

  FP_DENORM: 1 << 0,
  FP_INF_NAN: 1 << 1,
  FP_ROUND_TO_NEAREST: 1 << 2,
  FP_FMA: 1 << 5,
  FP_CORRECTLY_ROUNDED_DIVIDE_SQRT: 1 << 7,

  QUEUE_PROFILING_ENABLE: 1 << 1,

  MEM_READ_WRITE: 1 << 0,
  MEM_USE_HOST_PTR: 1 << 3,
  MEM_ALLOC_HOST_PTR: 1 << 4,
  MAP_READ: 1 << 0,
  MAP_WRITE: 1 << 1,

  PROGRAM_BINARY_SIZES: 0x1165,
  PROGRAM_BINARIES: 0x1166,
  PROGRAM_BUILD_LOG: 0x1183,
  KERNEL_WORK_GROUP_SIZE: 0x11b0,

  EVENT_COMMAND_EXECUTION_STATUS: 0x11d3,
  PROFILING_COMMAND_START: 0x1282,
  PROFILING_COMMAND_END: 0x1283,
} as const;
