// The requests that filled the caches in test/fixtures. The names belong to no real compiler or GPU.

export const BINARY = 'machine code of no machine';

export const compiler = {
  path: 'millrace-fixture-cc',
  arguments: [],
  version: 'cc 1.0',
  identity: 'cc 1.0',
  machineFlags: ['-march=none'],
};
export const cpu = { arch: /** @type {const} */ ('other'), features: new Set(['one', 'two']) };

/** @param {string} name */
const sourceOf = (name) => ({
  name,
  text: `text of ${name}\n`,
  lanes: 4,
  lineOrigins: [],
  shape: { compilerOptions: [] },
});

export const native = sourceOf('native-kernel');

export const gpu = [
  { source: sourceOf('cuda-kernel'), options: { key: 'c'.repeat(64), binary: 'cubin', text: 'cu' } },
  { source: sourceOf('opencl-kernel'), options: { key: 'd'.repeat(64), binary: 'bin', text: 'cl' } },
];
