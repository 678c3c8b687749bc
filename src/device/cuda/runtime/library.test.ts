import { expect, test } from 'vitest';
import { findLibrary, nvrtcNames } from './library.js';

test('the compiler of the driver’s own version is tried first, newer ones last', () => {
  expect(nvrtcNames(12)).toEqual([
    'libnvrtc.so.12',
    'libnvrtc.so',
    'libnvrtc.so.11.2',
    'libnvrtc.so.11.1',
    'libnvrtc.so.11.0',
    'libnvrtc.so.13',
    'libnvrtc.so.14',
  ]);
  expect(nvrtcNames().slice(0, 3)).toEqual(['libnvrtc.so', 'libnvrtc.so.14', 'libnvrtc.so.13']);
});

test('a library that is named and cannot be loaded is said so, and nothing else is tried', () => {
  const found = findLibrary('cuda', undefined, { MILLRACE_LIBCUDA: '/nowhere/libcuda.so' });
  expect(found).toMatchObject({ reason: expect.stringMatching(/MILLRACE_LIBCUDA.*\/nowhere\/libcuda\.so/) });
});
