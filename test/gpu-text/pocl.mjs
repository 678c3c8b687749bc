// PoCL through libOpenCL, in a process of its own: just enough to build and run the generated text.

import koffi from 'koffi';
import { serve } from './service.mjs';

// A library that has started threads must not be unloaded when the process ends.
const [RTLD_NOW, RTLD_NODELETE] = [2, 0x1000];
const libc = koffi.load('libc.so.6');
libc.func('void *dlopen(const char *path, int flags)')('libOpenCL.so.1', RTLD_NOW | RTLD_NODELETE);
const cl = koffi.load('libOpenCL.so.1');

const platforms = cl.func('int clGetPlatformIDs(uint, _Out_ uintptr_t *, _Out_ uint *)');
const platformInfo = cl.func('int clGetPlatformInfo(uintptr_t, uint, size_t, void *, size_t *)');
const devices = cl.func('int clGetDeviceIDs(uintptr_t, uint64_t, uint, _Out_ uintptr_t *, _Out_ uint *)');
const deviceInfo = cl.func('int clGetDeviceInfo(uintptr_t, uint, size_t, void *, size_t *)');
const createContext = cl.func('uintptr_t clCreateContext(void *, uint, uintptr_t *, void *, void *, _Out_ int *)');
const createQueue = cl.func('uintptr_t clCreateCommandQueue(uintptr_t, uintptr_t, uint64_t, _Out_ int *)');
const createProgram = cl.func(
  'uintptr_t clCreateProgramWithSource(uintptr_t, uint, const char **, size_t *, _Out_ int *)',
);
const buildProgram = cl.func('int clBuildProgram(uintptr_t, uint, uintptr_t *, const char *, void *, void *)');
const buildInfo = cl.func('int clGetProgramBuildInfo(uintptr_t, uintptr_t, uint, size_t, void *, size_t *)');
const createKernel = cl.func('uintptr_t clCreateKernel(uintptr_t, const char *, _Out_ int *)');
const setArgument = cl.func('int clSetKernelArg(uintptr_t, uint, size_t, void *)');
const createBuffer = cl.func('uintptr_t clCreateBuffer(uintptr_t, uint64_t, size_t, void *, _Out_ int *)');
const release = cl.func('int clReleaseMemObject(uintptr_t)');
const enqueueWrite = cl.func(
  'int clEnqueueWriteBuffer(uintptr_t, uintptr_t, uint, size_t, size_t, void *, uint, void *, void *)',
);
const enqueueRead = cl.func(
  'int clEnqueueReadBuffer(uintptr_t, uintptr_t, uint, size_t, size_t, void *, uint, void *, void *)',
);
const enqueueCopy = cl.func(
  'int clEnqueueCopyBuffer(uintptr_t, uintptr_t, uintptr_t, size_t, size_t, size_t, uint, void *, void *)',
);
const enqueueKernel = cl.func(
  'int clEnqueueNDRangeKernel(uintptr_t, uintptr_t, uint, void *, size_t *, size_t *, uint, void *, void *)',
);
const finish = cl.func('int clFinish(uintptr_t)');

const CL_PLATFORM_NAME = 0x0902;
const CL_DEVICE_NAME = 0x102b;
const CL_DEVICE_TYPE_ALL = 0xffffffff;
const CL_PROGRAM_BUILD_LOG = 0x1183;
const CL_MEM_READ_WRITE = 1;

/** @param {number} code @param {string} what */
function must(code, what) {
  if (code !== 0) throw new Error(`${what}: OpenCL error ${code}`);
}

/** @param {(bytes: Uint8Array) => void} fill */
function text(fill) {
  const bytes = new Uint8Array(65536);
  fill(bytes);
  return Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString('utf8');
}

const list = new BigUint64Array(8);
const found = new Uint32Array(1);
must(platforms(8, list, found), 'clGetPlatformIDs');
const platform = [...list.subarray(0, found[0])].find((one) =>
  text((bytes) => must(platformInfo(one, CL_PLATFORM_NAME, bytes.length, bytes, null), 'clGetPlatformInfo')).includes(
    'Portable',
  ),
);
if (platform === undefined) throw new Error('there is no PoCL among the OpenCL platforms');
must(devices(platform, CL_DEVICE_TYPE_ALL, 8, list, found), 'clGetDeviceIDs');
const device = list[0];
const status = new Int32Array(1);
const context = createContext(null, 1, new BigUint64Array([device ?? 0n]), null, null, status);
must(status[0] ?? -1, 'clCreateContext');
const queue = createQueue(context, device, 0, status);
must(status[0] ?? -1, 'clCreateCommandQueue');

/** @type {Map<number, { handle: bigint | number, workgroup?: number }>} */
const held = new Map();
let next = 1;
/** @param {{ handle: bigint | number, workgroup?: number }} entry */
const hold = (entry) => {
  held.set(next, entry);
  return next++;
};
/** @param {number} id */
const handleOf = (id) => held.get(id)?.handle ?? 0n;

serve({
  info: () => text((bytes) => must(deviceInfo(device, CL_DEVICE_NAME, bytes.length, bytes, null), 'clGetDeviceInfo')),
  build({ text: source, entry, workgroup, options }) {
    const program = createProgram(context, 1, [source], null, status);
    must(status[0] ?? -1, 'clCreateProgramWithSource');
    const devicesOf = new BigUint64Array([device ?? 0n]);
    if (buildProgram(program, 1, devicesOf, options.join(' '), null, null) !== 0) {
      throw new Error(
        text((bytes) =>
          must(buildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes.length, bytes, null), 'clGetProgramBuildInfo'),
        ),
      );
    }
    const handle = createKernel(program, entry, status);
    must(status[0] ?? -1, 'clCreateKernel');
    return hold({ handle, workgroup });
  },
  alloc(bytes) {
    const handle = createBuffer(context, CL_MEM_READ_WRITE, Math.max(64, bytes), null, status);
    must(status[0] ?? -1, 'clCreateBuffer');
    return hold({ handle });
  },
  free(buffer) {
    release(handleOf(buffer));
    held.delete(buffer);
  },
  // SAFETY: blocking calls, the arrays live for their length.
  write(buffer, offset, data) {
    if (data.length > 0)
      must(enqueueWrite(queue, handleOf(buffer), 1, offset, data.length, data, 0, null, null), 'clEnqueueWriteBuffer');
  },
  read(buffer, offset, bytes) {
    const data = new Uint8Array(bytes);
    if (bytes > 0)
      must(enqueueRead(queue, handleOf(buffer), 1, offset, bytes, data, 0, null, null), 'clEnqueueReadBuffer');
    return data;
  },
  copy(from, fromOffset, to, toOffset, bytes) {
    must(
      enqueueCopy(queue, handleOf(from), handleOf(to), fromOffset, toOffset, bytes, 0, null, null),
      'clEnqueueCopyBuffer',
    );
  },
  run(program, groups, bindings) {
    const { handle, workgroup = 1 } = held.get(program) ?? { handle: 0n };
    bindings.forEach((id, i) => {
      const value = id === null ? null : new BigUint64Array([BigInt(handleOf(id))]);
      must(setArgument(handle, i, 8, value), `clSetKernelArg ${i}`);
    });
    must(
      enqueueKernel(queue, handle, 1, null, [groups * workgroup], [workgroup], 0, null, null),
      'clEnqueueNDRangeKernel',
    );
    must(finish(queue), 'clFinish');
  },
});
