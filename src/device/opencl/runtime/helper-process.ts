import '../../gpu/native/stack.js'; // first
import { MillraceError } from '../../../kernel/error.js';
import type { DeviceInfo } from '../../device.js';
import type { CompileResult } from '../../gpu/build/build.js';
import type { Reply } from '../../gpu/build/helper-pool.js';
import { CompileRefusal, FatalError } from '../../gpu/worker/driver.js';
import { koffi } from '../../native/koffi.js';
import { binaryOf, fromText } from './compile.js';
import { type Context, findDevices, openContext } from './context.js';
import { describeDevice } from './info.js';

/**
 * A process for calls that take long or may crash: starting platforms, compiling. One question at a time, one answer
 * each.
 */
export type Question =
  | { readonly kind: 'survey' }
  | { readonly kind: 'compile'; readonly number: number; readonly text: string; readonly options: readonly string[] };

export interface Survey {
  /** The loader's path. */
  readonly path: string;
  readonly devices: readonly SurveyedDevice[];
}
export interface SurveyedDevice {
  readonly info: DeviceInfo;
  readonly nearBytes: number;
}

export type Answers = {
  survey: Survey | { readonly reason: string };
  /** Unavailable if, for example, the device cannot be opened twice. */
  compile: CompileResult;
};

/** Kept open: opening one takes NVIDIA some 0.3 s. */
const contexts = new Map<number, Context>();

function survey(): Answers['survey'] {
  const found = findDevices();
  if ('reason' in found) return found;
  const devices = found.devices.map((device) => ({ info: describeDevice(device), nearBytes: device.nearBytes }));
  return { path: found.path, devices };
}

function compile({ number, text, options }: Extract<Question, { kind: 'compile' }>): Answers['compile'] {
  try {
    const context = contexts.get(number) ?? openContext(number);
    contexts.set(number, context);
    const program = fromText(context, text, options);
    const binary = binaryOf(context, program);
    context.api.clReleaseProgram(program);
    return { binary };
  } catch (error) {
    if (error instanceof CompileRefusal) return { compiler: error.compiler, line: error.line, message: error.message };
    if (error instanceof MillraceError) return { unavailable: error.message };
    if (error instanceof FatalError) return { unavailable: error.error.message };
    throw error;
  }
}

/** Linux: ends this process if its parent is killed, even in the middle of a compilation. */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;
if (process.platform === 'linux') {
  koffi().load(null).func('int prctl(int what, uint64_t, uint64_t, uint64_t, uint64_t)')(
    PR_SET_PDEATHSIG,
    SIGKILL,
    0,
    0,
    0,
  );
}

function reply(question: Question): Reply {
  try {
    return { answer: question.kind === 'survey' ? survey() : compile(question) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

process.on('message', (question: Question) => process.send?.(reply(question)));
process.on('disconnect', () => process.exit());
