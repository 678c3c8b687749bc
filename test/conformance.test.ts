import { afterAll, beforeAll, describe, test } from 'vitest';
import { conformanceCases, runCase } from '../src/device/conformance/index.js';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import { isLong, isShort, patience } from './tier.js';

/** All kinds of devices. One that is absent on this machine is skipped with its reason. */
const names = ['interpreter', 'native', 'wasm', 'cuda', 'opencl', 'webgpu'];

const { absent, devices } = await listDevices();

/** Two cases at a time, as in `runConformance`; one on a GPU. */
function turnsOn(name: string): <R>(work: () => Promise<R>) => Promise<R> {
  let free = devices.some(({ kind, processor }) => kind === name && processor === 'gpu') ? 1 : 2;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free === 0) await new Promise<void>((go) => waiting.push(go));
    else free--;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}

/**
 * Compilers take minutes for all forms of operations of all types. Cases left to the long run differ from those that stay
 * only by type, or on GPUs by the lanes of a CPU's gang. SHA-256 without native bodies runs in a gang on wasm, and on one
 * lane here. PoCL takes half a minute for it and SwiftShader nine seconds: test/block-devices.test.ts covers both.
 */
const compiled = ['native', 'opencl', 'webgpu'];
const leftOut = [
  /^operations\/(i32|u64|i64|f16|f32|bool)\/(from memory, one lane|.*multiply-adds, one lane|one operand|.*hoist off)/,
  /^operations\/(i32|bool)\/of the job and chunk/,
  /^operations\/(i32|f16|f32|bool)\/.*multiply-adds, a gang/,
  /^(memory|tables)\/(i32|f32): |^tables\/(i64|f16): /,
];
const leftOutOn: Readonly<Record<string, RegExp>> = {
  native: /^std\/sha256: .*generic, a gang/,
  opencl: /^operations.*one lane$|^std\/sha256: /,
  webgpu: /^operations.*one lane$|^std\/sha256: /,
};

/**
 * Cases of a short run on devices that compile slowly, and on the interpreter, which computes what others are compared
 * with: operations in a gang, all of streams, and from each other group the case with the most device-specific code.
 */
const kept = [
  /^operations\/.*from memory, a gang/,
  /^control\/(break: |items return)/,
  /^arrays\/a permutation/,
  /^cells\/integers/,
  /^memory\/bytes/,
  /^tables\/thousands/,
  /^atomics\/the value/,
  /^hits\/a ring/,
  /^ranges\/count/,
  /^bounds\/a load outside/,
  /^tiles\/scan/,
  /^streams\//,
];
/**
 * Types whose operations differ least from those of u32, or are made of other operations while tracing: a short run has them
 * only on wasm, where they compile fastest.
 */
const likeU32 = /^operations\/(i32|i64|f16|bool)/;
/**
 * Cases that a short run leaves to other devices. native has the operations of two types here, the interpreter and each
 * emulated GPU of one, those of a GPU also one cancellation and one transfer of host memory. test/fuzz.test.ts covers other
 * types and cells on all of them, and test/uhash.test.ts large tables.
 */
const onGpus = '^streams/(cancel says so|cancel in a long loop|memory of host\\(\\) at odd)|^cells/|^tables/';
const leftToOthers: Readonly<Record<string, RegExp>> = {
  interpreter: /^operations\/(u32|u64|f32)/,
  native: /^operations\/(u32|f32)/,
  opencl: new RegExp(`^operations/(u32|u64|f32)|${onGpus}`),
  webgpu: new RegExp(`^operations/(u32|f32|f64)|${onGpus}`),
};
/** wasm runs one form of each type. The kernels of all workloads have values that move to the host, and block has SHA-256. */
const leftOutOnWasm =
  /^operations\/(?!.*from memory, a gang)|generic, one lane|^(memory|tables)\/(i32|i64|f16|f32): |^cells\/i64|^arrays\/(?!a permutation|the same|in every|without)|^functions\/(?!several|cancel)|^std\/(?!md5)/;
const isKept = (device: string, name: string): boolean => {
  if ((device !== 'wasm' && likeU32.test(name)) || leftToOthers[device]?.test(name)) return false;
  return device === 'wasm' ? !leftOutOnWasm.test(name) : kept.some((pattern) => pattern.test(name));
};

describe.each(names)('%s', (name) => {
  const missing = absent.find(({ id }) => id === name);
  const inTurn = turnsOn(name);
  let device: Device | undefined;
  beforeAll(async () => {
    if (!missing) device = await openDevice(name);
  });
  afterAll(() => device?.close());

  describe.concurrent('conforms', () => {
    test.for(conformanceCases)('$name', { timeout: patience(300_000) }, async (one, { skip }) => {
      if (missing) return skip(missing.reason);
      const isLeftOut = [...leftOut, leftOutOn[name]].some((pattern) => pattern?.test(one.name));
      if (!isLong && compiled.includes(name) && isLeftOut)
        return skip('covered by other types or another test: npm run test:long');
      if (isShort && !isKept(name, one.name)) return skip('covered by others of its group: npm run test:all');
      // One of up to three variants of each kernel: one lane, a gang, checked.
      const only = isShort && compiled.includes(name) ? conformanceCases.indexOf(one) : undefined;
      const result = await inTurn(() => runCase(one, device!, only));
      if (result.status === 'skipped') skip(result.reason ?? '');
      if (result.status === 'failed') throw new Error(result.reason);
    });
  });
});
