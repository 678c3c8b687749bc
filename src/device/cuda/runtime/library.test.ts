import { expect, test } from 'vitest';
import { findLibrary, nvrtcNames } from './library.js';

test('the NVRTC of the driver’s version is tried first, newer ones last', () => {
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

test('a named library that cannot be loaded is reported, and no other is tried', () => {
  const found = findLibrary('cuda', undefined, { MILLRACE_LIBCUDA: '/nowhere/libcuda.so' });
  expect(found).toMatchObject({ reason: expect.stringMatching(/MILLRACE_LIBCUDA.*\/nowhere\/libcuda\.so/) });
});
