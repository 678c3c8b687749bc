import type { Device, DeviceBuffer } from '../device/device.js';
import { programOf } from '../engine/flow/programs.js';
import type { Kernel } from '../kernel/index.js';
import { openScan } from './block/job/tune.js';
import { EASY_SCAN } from './block/kernel/genesis.js';
import { lengthOf } from './encode/kernel/encoding.js';
import { bindingOf, type EncodePlan, planFor } from './encode/kernel/plan.js';
import { fermatBase } from './gaps/bench/rate.js';
import { limbs } from './gaps/job/sieve-stage.js';
import { fermat, limbsOf } from './gaps/kernel/chain-kernel.js';
import { planFor as gapsPlanFor } from './gaps/kernel/plan.js';
import { proofs } from './uhash/job/flow.js';
import { DeviceRing } from './words/generator/device-ring.js';
import { Plan } from './words/kernel/plan.js';
import { parseMask } from './words/space/mask.js';

/** Runs the speed-critical kernel of each workload, with launches of a few milliseconds. */
export const kernelRuns: Readonly<Record<string, (device: Device) => Promise<void>>> = {
  block: async (device) => {
    const { scan, close } = await openScan(device, {}, EASY_SCAN.target);
    await scan({ base: 0, count: device.info.kind === 'wasm' ? 2 ** 14 : 2 ** 17 });
    close();
  },

  words: async (device) => {
    const plan = new Plan(parseMask('?l?l?l?l?l?l?l?l'), 'canonical', '');
    const ring = await DeviceRing.open(device, plan, 1);
    const stream = device.stream();
    const { buffer } = await ring.launch(stream, 0n, 2 ** 20, 'packed');
    stream.read(buffer, new Uint8Array(SAMPLE_BYTES));
    await stream.mark().done;
    await ring.close();
    stream.close();
  },

  uhash: async (device) => {
    const flow = await proofs({ header: new Uint8Array(32), difficulty: 256 }, { batch: 3 }).open(device);
    const stream = device.stream();
    const slot = await flow.slot(stream);
    await slot.submit({ start: 0n, count: 3 }).done;
    slot.close();
    flow.close();
    stream.close();
  },

  encode: async (device) => {
    const samples = 16;
    const shape = { encoding: 'amplitude', qubits: 12, length: lengthOf('amplitude', 12) } as const;
    const plan = planFor(device.info, shape, { precision: 'f64' });
    const stream = device.stream();
    const buffers: Record<string, DeviceBuffer> = {};
    for (const [name, bytes] of Object.entries(plan.bytes)) buffers[name] = await device.alloc(bytes * samples);
    const rows = Float64Array.from({ length: samples * shape.length }, (_, at) => 1 + (at % 7));
    stream.write(buffers.x as DeviceBuffer, rows);
    for (const { kernel, tilesPerSample } of plan.launches) {
      const program = await programOf(device, plan.kernels[kernel] as EncodePlan['kernels'][string]);
      const bound = program.bindings.map(
        ({ name }) => [name, buffers[bindingOf(plan, kernel, name)] as DeviceBuffer] as const,
      );
      stream.launch({ job: program.bind({}), count: tilesPerSample * samples, buffers: Object.fromEntries(bound) });
    }
    stream.read(buffers.states as DeviceBuffer, new Uint8Array(SAMPLE_BYTES));
    await stream.mark().done;
    for (const buffer of Object.values(buffers)) buffer.free();
    stream.close();
  },

  gaps: async (device) => {
    const count = device.info.kind === 'wasm' ? 32 : 128;
    const shape = { limb: gapsPlanFor(device).limb, bits: 320 };
    const program = await device.compile(fermat(shape) as unknown as Kernel);
    const stream = device.stream();
    const [candidate, prime] = [await device.alloc(count * 4), await device.alloc(count * 4)];
    stream.write(
      candidate,
      Uint32Array.from({ length: count }, (_, at) => at),
    );
    const base = limbs(fermatBase(shape.bits), shape.limb === 'u32' ? 32 : 64, limbsOf(shape));
    stream.launch({ job: program.bind({}), count, chunk: { base }, buffers: { candidate, prime } });
    stream.read(prime, new Uint8Array(count * 4));
    await stream.mark().done;
    for (const buffer of [candidate, prime]) buffer.free();
    stream.close();
  },
};

/** Bytes read back of large results. */
const SAMPLE_BYTES = 4096;
