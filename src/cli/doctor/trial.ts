import { duration } from '../../console/output/format.js';
import type { Device, DeviceInfo } from '../../device/device.js';
import { type Diagnostic, openDevice } from '../../device/registry.js';
import { withTimeout } from '../../device/timeout.js';
import { firstLine, MillraceError } from '../../kernel/error.js';
import { items, rw, u32 } from '../../kernel/index.js';

const COUNT = 10_000;
const FACTOR = 0x9e37_79b9;
const MAX_TRIAL_MS = 60_000;

const kernel = items('doctor', { job: { factor: u32 }, buffers: { out: rw(u32) } }, ({ item, job, buffers }) =>
  buffers.out.set(item, item.mul(job.factor).rotl(7).xor(item)),
);

/**
 * Opens a device, compiles a small kernel, runs it and checks every result: that a device is listed does not mean that it
 * works.
 */
export async function tryDevice(info: DeviceInfo): Promise<Diagnostic> {
  const what = info.id;
  try {
    const late = (): never => {
      throw new Error(`no result within ${MAX_TRIAL_MS / 1000} s`);
    };
    const { openMs, compileMs, wrong } = await withTimeout(runTrial(info.id), MAX_TRIAL_MS, late);
    const times = `opened in ${duration(openMs / 1000)}, compiled in ${duration(compileMs / 1000)}`;
    if (wrong === 0) return { what, state: 'ok', found: `${info.name}: works; ${times}` };
    const advice = `do not rely on this device; run millrace selftest --device ${info.id}`;
    return { what, state: 'warning', found: `${info.name}: ${wrong} of ${COUNT} results are wrong`, advice };
  } catch (error) {
    const advice = error instanceof MillraceError ? error.advice : undefined;
    return {
      what,
      state: 'warning',
      found: `${info.name}: does not work: ${firstLine(error)}`,
      ...(advice && { advice }),
    };
  }
}

async function runTrial(id: string): Promise<{ openMs: number; compileMs: number; wrong: number }> {
  const start = performance.now();
  const device = await openDevice(id);
  const openMs = performance.now() - start;
  try {
    const { compileMs, out } = await run(device);
    return { openMs, compileMs, wrong: out.filter((word, item) => word !== expectedWord(item)).length };
  } finally {
    await device.close();
  }
}

async function run(device: Device): Promise<{ compileMs: number; out: Uint32Array }> {
  const program = await device.compile(kernel);
  const buffer = await device.alloc(COUNT * 4);
  const stream = device.stream();
  const out = new Uint32Array(COUNT);
  stream.launch({ job: program.bind({ factor: FACTOR }), count: COUNT, buffers: { out: buffer } });
  stream.read(buffer, out);
  await stream.mark().done;
  return { compileMs: program.compile.milliseconds, out };
}

function expectedWord(item: number): number {
  const product = Math.imul(item, FACTOR);
  return (((product << 7) | (product >>> 25)) ^ item) >>> 0;
}
