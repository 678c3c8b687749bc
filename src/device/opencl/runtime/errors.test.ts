import { describe, expect, test } from 'vitest';
import { MillraceError } from '../../../kernel/error.js';
import { FatalError } from '../../gpu/worker/driver.js';
import { OpenClErrors } from './errors.js';

const errors = new OpenClErrors('opencl:3 (A Card)');

describe('codes become errors', () => {
  test('with the function, the name and number, the device and the purpose', () => {
    const error = errors.errorFor('clEnqueueWriteBuffer', -38, 'a write of 8 bytes') as MillraceError;
    expect(error).toBeInstanceOf(MillraceError);
    expect(error.code).toBe('device-failed');
    expect(error.message).toMatch(
      /opencl:3 \(A Card\): clEnqueueWriteBuffer failed with CL_INVALID_MEM_OBJECT \(-38\)/,
    );
    expect(error.asked).toBe('a write of 8 bytes (clEnqueueWriteBuffer)');
    expect(errors.describe('clFlush', -12345).message).toMatch(/with unknown code \(-12345\)/);
  });

  test('except 0', () => {
    expect(() => errors.check('clFlush', 0)).not.toThrow();
    expect(() => errors.check('clFlush', -36)).toThrow(FatalError);
  });

  test.each([
    // A launch or buffer that needs too many resources fails alone; in other calls this loses the device.
    ['clEnqueueNDRangeKernel', -5, false],
    ['clCreateBuffer', -5, false],
    ['clEnqueueReadBuffer', -5, true],
    ['clFlush', -36, true],
    ['clGetEventInfo', -9999, true],
    ['clEnqueueNDRangeKernel', -2, true],
    ['clEnqueueNDRangeKernel', -54, false],
  ] as const)('%s with %i is fatal: %s', (call, code, fatal) => {
    expect(errors.errorFor(call, code) instanceof FatalError).toBe(fatal);
  });

  test('for a command that ended with an error', () => {
    const bad = errors.executionError(-5, 'kernel block on stream 2');
    expect(bad).toBeInstanceOf(FatalError);
    expect((bad as FatalError).error.message).toMatch(/kernel block on stream 2 ended with CL_OUT_OF_RESOURCES/);
    expect((bad as FatalError).error.advice).toMatch(/checked/);
    expect(errors.executionError(-14, 'transfers')).toBeInstanceOf(MillraceError);
  });
});
