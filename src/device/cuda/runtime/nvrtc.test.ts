import { describe, expect, test } from 'vitest';
import { firstError, targetFor } from './nvrtc.js';

describe('the first error in an NVRTC log', () => {
  test.for([
    ['kernel.cu(12): error: identifier "x" is undefined\n\n1 error detected', 12, 'identifier "x" is undefined'],
    ['kernel.cu(3): warning #177-D: unused\n\nkernel.cu(40): error: expected a ";"\n', 40, 'expected a ";"'],
    ['kernel.cu(7): error #20-D: name followed by "::" must be a class', 7, 'name followed by "::" must be a class'],
    ['kernel.cu(9): catastrophic error: out of memory', 9, 'out of memory'],
    [
      'nvrtc: error: invalid value for --gpu-architecture (-arch)\n',
      undefined,
      'nvrtc: error: invalid value for --gpu-architecture (-arch)',
    ],
    ['', undefined, ''],
  ] as const)('%s', ([log, line, message]) => {
    expect(firstError(log)).toEqual({ line, message });
  });
});

describe('the compile target', () => {
  test.for([
    [90, [75, 80, 90, 100], 'sm_90', 'cubin'], // an H200
    [89, [75, 80, 86, 90], 'sm_86', 'cubin'], // machine code of the same generation
    [120, [75, 80, 90, 100], 'compute_100', 'ptx'], // a GPU that NVRTC does not know yet
    [103, [75, 90, 100], 'sm_100', 'cubin'],
  ] as const)('for GPU %i with %j', ([gpu, known, option, form]) => {
    expect(targetFor(gpu, known)).toEqual({ option, form });
  });

  test('is undefined for a GPU older than all of them', () => {
    expect(targetFor(61, [75, 80, 90])).toBeUndefined();
  });
});
