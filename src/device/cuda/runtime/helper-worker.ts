import '../../gpu/native/stack.js'; // first
import type { DeviceInfo, Sensors } from '../../device.js';
import type { CompileResult } from '../../gpu/build/build.js';
import type { Reply } from '../../gpu/build/helper-pool.js';
import { CompileRefusal } from '../../gpu/worker/driver.js';
import { runInThread } from '../../pool/threads/threads.js';
import { type CudaApi, cudaApi } from './api.js';
import { describeGpu, type Gpu, listGpus, startDriver } from './info.js';
import { findLibrary } from './library.js';
import { type CompileTarget, Nvrtc } from './nvrtc.js';
import { Nvml } from './sensors.js';

/**
 * A thread for calls that take long or may stall but need no context: starting the driver (0.3 s), reading sensors,
 * compiling. One question at a time, one answer each.
 */
export type Question =
  | { readonly kind: 'survey' }
  | { readonly kind: 'sensors'; readonly ordinal: number }
  | {
      readonly kind: 'compile';
      readonly major: number;
      readonly text: string;
      readonly options: readonly string[];
      readonly target: CompileTarget;
    };

/** The GPUs and libraries of this machine, determined without a context. */
export interface Survey {
  readonly libcuda: string;
  readonly cuda: number;
  readonly driver: string | undefined;
  readonly nvml: boolean;
  readonly nvrtc:
    | { readonly path: string; readonly version: string; readonly architectures: readonly number[] }
    | { readonly reason: string };
  readonly gpus: readonly { readonly gpu: Gpu; readonly info: DeviceInfo }[];
}

export type Answers = {
  survey: Survey | { readonly reason: string };
  sensors: Sensors | undefined;
  compile: CompileResult;
};

interface StartedDriver {
  readonly api: CudaApi;
  readonly libcuda: string;
  readonly cuda: number;
}
let started: StartedDriver | { readonly reason: string } | undefined;
let nvml: Nvml | undefined | 'unknown' = 'unknown';
const compilers = new Map<number, ReturnType<typeof Nvrtc.open>>();

function startedDriver(): StartedDriver | { readonly reason: string } {
  if (started) return started;
  const found = findLibrary('cuda');
  if ('reason' in found) return found;
  const api = cudaApi(found.path);
  if ('reason' in api) return api;
  const answer = startDriver(api);
  started = 'reason' in answer ? answer : { api, libcuda: found.path, cuda: answer.version };
  return started;
}

function openNvml(): Nvml | undefined {
  if (nvml === 'unknown') nvml = Nvml.open();
  return nvml;
}

function nvrtcFor(major: number): ReturnType<typeof Nvrtc.open> {
  const known = compilers.get(major) ?? Nvrtc.open(major);
  compilers.set(major, known);
  return known;
}

function survey(): Answers['survey'] {
  const own = startedDriver();
  if ('reason' in own) return own;
  const gpus = listGpus(own.api);
  if (gpus.length === 0) return { reason: 'the NVIDIA driver is installed but finds no usable GPU' };
  const sensors = openNvml();
  const version = sensors?.driverVersion();
  const nvrtc = nvrtcFor(Math.floor(own.cuda / 1000));
  return {
    libcuda: own.libcuda,
    cuda: own.cuda,
    driver: version,
    nvml: sensors !== undefined,
    nvrtc: 'reason' in nvrtc ? nvrtc : { path: nvrtc.path, version: nvrtc.version, architectures: nvrtc.architectures },
    gpus: gpus.map((gpu) => {
      const device = sensors?.device(gpu.busId);
      const link = device === undefined ? undefined : sensors?.link(device);
      const environment = {
        cuda: own.cuda,
        driver: version,
        nvrtc: 'reason' in nvrtc ? undefined : nvrtc.version,
        link,
      };
      return { gpu, info: describeGpu(gpu, environment) };
    }),
  };
}

function sensors(ordinal: number): Answers['sensors'] {
  const own = startedDriver();
  const library = openNvml();
  if ('reason' in own || !library) return undefined;
  const gpu = listGpus(own.api)[ordinal];
  const device = gpu && library.device(gpu.busId);
  return device === undefined ? undefined : library.read(device);
}

function compile({ major, text, options, target }: Extract<Question, { kind: 'compile' }>): Answers['compile'] {
  const nvrtc = nvrtcFor(major);
  if ('reason' in nvrtc) return { compiler: 'NVRTC', line: undefined, message: nvrtc.reason };
  try {
    return { binary: nvrtc.compile(text, options, target) };
  } catch (error) {
    if (!(error instanceof CompileRefusal)) throw error;
    return { compiler: error.compiler, line: error.line, message: error.message };
  }
}

function answer(question: Question): Answers[Question['kind']] {
  switch (question.kind) {
    case 'survey':
      return survey();
    case 'sensors':
      return sensors(question.ordinal);
    case 'compile':
      return compile(question);
  }
}

function reply(question: Question): Reply {
  try {
    return { answer: answer(question) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

runInThread<undefined>((_, ready, port) => {
  port.listen((question) => port.post(reply(question as Question)));
  ready();
});
