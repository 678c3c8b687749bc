import { describe, expect, test } from 'vitest';
import { CL } from './api.js';
import { buildOptions, refusalOf } from './compile.js';

describe('options', () => {
  const options = ['-cl-std=CL1.2', '-cl-fp32-correctly-rounded-divide-sqrt'];

  test('ask for exact division only if the device supports it', () => {
    expect(buildOptions(options, { single: CL.FP_CORRECTLY_ROUNDED_DIVIDE_SQRT })).toBe(options.join(' '));
    expect(buildOptions(options, { single: CL.FP_DENORM })).toBe('-cl-std=CL1.2');
  });
});

describe('the log of a compiler', () => {
  test.each([
    // PoCL 3.1, NVIDIA 535, Intel NEO
    ['error: /cache/pocl/kcache/tempfile_gcDM6o.cl:12:10: use of undeclared identifier', 12],
    ['<kernel>:3:1: error: unknown type name', 3],
    ['1:41:9: error: expected expression\nint x = ;\n        ^', 41],
  ])('%s', (log, line) => {
    const refusal = refusalOf('a compiler', log);
    expect(refusal.line).toBe(line);
    expect(refusal.message).not.toMatch(/error:/);
  });

  test('without a line gives the text from the word error on', () => {
    const refusal = refusalOf(
      'a compiler',
      'warning: /a.cl:1:2: x\n\nError(s) while linking:\nCannot find symbol f\nmore',
    );
    expect(refusal.line).toBeUndefined();
    expect(refusal.message).toBe('Error(s) while linking: Cannot find symbol f');
  });
});
