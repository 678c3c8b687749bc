import { availableParallelism } from 'node:os';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { MillraceError } from '../kernel/error.js';
import { items } from '../kernel/index.js';
import { deferred } from './deferred.js';
import type { Device, DeviceInfo } from './device.js';
import { type DeviceKind, DeviceKinds, type DeviceModule, openAnother, type ProbeResult } from './kinds.js';

type Kind = DeviceInfo['kind'];

const info = (kind: Kind, number: number, processor: DeviceInfo['processor'] = 'gpu'): DeviceInfo => ({
  id: `${kind}:${number}`,
  kind,
  processor,
  name: `${kind} ${number}`,
  memoryBytes: 1,
  units: 1,
  capabilities: [],
  limits: { bufferBytes: 1, lanes: 1 },
  versions: {},
});

/** Device kinds that record the calls they get. */
function world(modules: Partial<Record<Kind, Partial<DeviceModule> | ProbeResult>>) {
  const asked: string[] = [];
  const kinds = Object.entries(modules).map(([id, given]): DeviceKind => {
    const probed = 'infos' in given || 'reason' in given ? given : undefined;
    const own = probed ? {} : (given as Partial<DeviceModule>);
    return {
      id: id as Kind,
      aliases: id === 'native' ? ['cpu'] : [],
      load: async () => ({
        probe: async (options) => {
          asked.push(`probe ${id}`);
          return probed ?? own.probe?.(options) ?? { reason: 'none' };
        },
        open: async (name) => {
          asked.push(`open ${name}`);
          const close = async () => void asked.push(`close ${name}`);
          return { info: { ...info(id as Kind, 0), id: name }, close } as Device;
        },
        ...(own.open && { open: own.open }),
        ...(own.prepare && { prepare: own.prepare }),
        ...(own.sensors && { sensors: own.sensors }),
        ...(own.diagnose && { diagnose: own.diagnose }),
      }),
    };
  });
  const order = [
    { kind: 'cuda', processor: 'gpu' },
    { kind: 'opencl', processor: 'gpu' },
    { kind: 'native' },
    { kind: 'opencl' },
    { kind: 'interpreter' },
  ] as const;
  return { asked, kinds: new DeviceKinds(kinds, order) };
}

const native: ProbeResult = { infos: [{ ...info('native', 0, 'cpu'), id: 'native' }] };
const gpu: ProbeResult = { infos: [info('opencl', 0), info('opencl', 1, 'cpu')] };
const software: ProbeResult = { infos: [info('opencl', 0, 'cpu')] };

afterEach(() => vi.useRealTimers());

describe('auto', () => {
  test.each<[string, Partial<Record<Kind, ProbeResult>>, string[]]>([
    [
      'stops at the first kind that has a device',
      { cuda: { infos: [info('cuda', 0)] }, opencl: gpu, native },
      ['probe cuda', 'open cuda:0'],
    ],
    [
      'takes another GPU before the CPU',
      { cuda: { reason: 'no driver' }, opencl: gpu, native },
      ['probe cuda', 'probe opencl', 'open opencl:0'],
    ],
    [
      'takes the CPU before a software GPU',
      { cuda: { reason: 'no driver' }, opencl: software, native },
      ['probe cuda', 'probe opencl', 'probe native', 'open native'],
    ],
    [
      'takes a software GPU before the last kind, and probes each kind once',
      { cuda: { reason: 'no driver' }, opencl: software, native: { reason: 'no compiler' }, interpreter: native },
      ['probe cuda', 'probe opencl', 'probe native', 'open opencl:0'],
    ],
  ])('%s', async (_, modules, wanted) => {
    const { asked, kinds } = world(modules);
    await kinds.open('auto');
    expect(asked).toEqual(wanted);
  });

  test('on a given processor, does not probe kinds that are on another', async () => {
    const { asked, kinds } = world({
      cuda: { infos: [info('cuda', 0)] },
      opencl: gpu,
      native: { reason: 'no compiler' },
    });
    const device = await kinds.open('auto', { processor: 'cpu' });
    expect([...asked, device.info.id]).toEqual(['probe native', 'probe opencl', 'open opencl:1', 'opencl:1']);
  });

  test('reports every reason if there is no device', async () => {
    const { kinds } = world({ cuda: { reason: 'no driver' }, native: { reason: 'no compiler' } });
    await expect(kinds.open('auto')).rejects.toMatchObject({
      code: 'device-absent',
      advice: 'cuda: no driver; native: no compiler',
    });
  });
});

describe('names', () => {
  test.each([
    ['cuda', 'open cuda'],
    ['cuda:1', 'open cuda:1'],
    [' CPU ', 'open native'],
    ['cpu:0', 'open native:0'],
  ])('%s', async (name, wanted) => {
    const { asked, kinds } = world({ cuda: { infos: [info('cuda', 0)] }, native });
    const device = await kinds.open(name);
    expect(asked).toEqual([wanted]);
    await openAnother(device);
    expect(asked).toEqual([wanted, wanted]);
  });
});

describe('the list', () => {
  test('is in the order of auto, whatever the order of kinds', async () => {
    const { kinds } = world({ native, opencl: gpu, cuda: { infos: [info('cuda', 0), info('cuda', 1)] } });
    const { devices } = await kinds.list();
    expect(devices.map(({ id }) => id)).toEqual(['cuda:0', 'cuda:1', 'opencl:0', 'native', 'opencl:1']);
  });

  test('has a reason for each kind that fails, cannot be loaded or never answers, and keeps the others', async () => {
    vi.useFakeTimers();
    const { kinds } = world({
      cuda: { probe: () => new Promise(() => {}) },
      opencl: {
        probe: () =>
          Promise.reject(new MillraceError({ code: 'device-failed', message: 'clGetPlatformIDs: -6', advice: 'none' })),
      },
      webgpu: { probe: () => Promise.reject(new Error('not a Mach-O file\nstack')) },
      native,
    });
    const list = kinds.list();
    await vi.advanceTimersByTimeAsync(9_999);
    let done = false;
    void list.then(() => {
      done = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(done).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    const { devices, absent } = await list;
    expect(devices.map(({ id }) => id)).toEqual(['native']);
    expect(absent).toEqual([
      { id: 'cuda', reason: 'no answer within 10 s' },
      { id: 'opencl', reason: 'clGetPlatformIDs: -6' },
      { id: 'webgpu', reason: 'cannot be loaded: not a Mach-O file' },
    ]);
  });

  test('throws a mistake in the options instead of listing it as a reason', async () => {
    const usage = new MillraceError({ code: 'usage', message: 'not a number of threads' });
    await expect(world({ native: { probe: () => Promise.reject(usage) } }).kinds.list()).rejects.toBe(usage);
  });
});

describe('a list', () => {
  const opened = async (names: string): Promise<[ids: string[], asked: string[]]> => {
    const { asked, kinds } = world({
      cuda: {
        probe: async () => ({ infos: [info('cuda', 0)] }),
        open: async (name) => {
          asked.push(`open ${name}`);
          const close = async () => void asked.push(`close ${name}`);
          return { info: info('cuda', name === 'cuda:1' ? 1 : 0), close } as Device;
        },
      },
      native,
    });
    const devices = await kinds.openAll(names);
    return [devices.map(({ info: { id } }) => id), asked];
  };

  test.each([
    ['native,native', ['native']],
    ['native, CPU ,cuda:1,native', ['native', 'cuda:1']],
    ['cuda:1,cuda:0,native', ['cuda:1', 'cuda:0', 'native']],
  ])('%s opens each device once, in the order of first mention', async (names, wanted) => {
    expect(await opened(names)).toEqual([wanted, wanted.map((id) => `open ${id}`)]);
  });

  test.each([
    ['cuda,cuda:0', ['cuda:0']],
    ['auto,cuda:1,cuda', ['cuda:0', 'cuda:1']],
  ])('%s names a device by two names: the second is closed', async (names, wanted) => {
    const [ids, asked] = await opened(names);
    expect(ids).toEqual(wanted);
    const count = (step: string): number => asked.filter((one) => one.startsWith(step)).length;
    expect(count('open') - count('close')).toBe(wanted.length);
  });
});

test('an abort does not wait for a device that is being opened; the device is closed when it comes', async () => {
  const abort = new AbortController();
  const { promise, resolve } = deferred<ProbeResult>();
  const { asked, kinds } = world({ cuda: { probe: () => promise } });
  const opening = kinds.openAll('auto', { signal: abort.signal });
  abort.abort(new Error('stopped'));
  await expect(opening).rejects.toThrow('stopped');
  expect(asked).toEqual(['probe cuda']);
  resolve({ infos: [info('cuda', 0)] });
  await expect.poll(() => asked).toEqual(['probe cuda', 'open cuda:0', 'close cuda:0']);
});

test.each(['cuda', 'auto'])('opening %s prepares the expected kernels', async (name) => {
  const { asked, kinds } = world({
    cuda: {
      probe: async () => ({ infos: [info('cuda', 0)] }),
      prepare: (kernel, options) => {
        asked.push(`prepare ${kernel.name} ${JSON.stringify(options)}`);
        throw new Error('reported when it is compiled');
      },
    },
    native,
  });
  const kernel = items('later', {}, () => undefined);
  const options = { expect: [{ kernel, compile: { lanes: 64 } }] };
  await kinds.open(name, options);
  await kinds.open('native', options);
  const steps = ['open cuda', 'prepare later {"lanes":64}', 'open native'];
  expect(asked).toEqual(name === 'auto' ? ['probe cuda', 'open cuda:0', ...steps.slice(1)] : steps);
});

test('sensors and findings come from kinds that have them; a failure gives none, or a warning', async () => {
  const { kinds } = world({
    cuda: {
      sensors: async (id) => ({ temperatureC: id === 'cuda:1' ? 41 : 40 }),
      diagnose: async () => [{ what: 'driver', state: 'ok', found: '580' }],
    },
    opencl: { sensors: () => Promise.reject(new Error('gone')), diagnose: () => Promise.reject(new Error('gone\nx')) },
    native,
  });
  expect(await kinds.sensors('cuda:1')).toEqual({ temperatureC: 41 });
  expect(await kinds.sensors('opencl:0')).toBeUndefined();
  expect(await kinds.sensors('native')).toBeUndefined();
  expect(await kinds.diagnose()).toEqual([
    { kind: 'cuda', findings: [{ what: 'driver', state: 'ok', found: '580' }] },
    { kind: 'opencl', findings: [{ what: 'opencl', state: 'warning', found: 'gone' }] },
    { kind: 'native', findings: [] },
  ]);
});

test('kinds that use all cores share them in one list: the best has all but one for each of the others', async () => {
  const opened: string[] = [];
  const kind = (id: Kind, usesAllCores: boolean): DeviceKind => ({
    id,
    aliases: [],
    usesAllCores,
    load: async () => ({
      probe: async () => native,
      open: async (name, { threads } = {}) => {
        opened.push(`${name} ${threads}`);
        return { info: { ...info(id, 0), id: name } } as Device;
      },
    }),
  });
  const kinds = new DeviceKinds([kind('cuda', false), kind('native', true), kind('wasm', true)]);
  const all = availableParallelism();
  await kinds.openAll('wasm,cuda, Native');
  await kinds.openAll('native,cuda');
  await kinds.openAll('native,wasm', { threads: 3 });
  expect(opened).toEqual([
    ...['wasm 1', 'cuda undefined', `native ${Math.max(1, all - 1)}`],
    ...['native undefined', 'cuda undefined', 'native 3', 'wasm 3'],
  ]);
});
