import { atomic, cell, items, loop, rw, when, whileTrue } from '../../../kernel/index.js';
import type { Report } from '../../device.js';
import { openAnother } from '../../kinds.js';
import { type Case, check, expectError } from '../case.js';
import { expectEqual, pause, Rig } from '../rig.js';

const scale = items(
  'scale',
  { chunk: { by: 'u32', plus: 'u32' }, buffers: { x: rw('u32') } },
  ({ item, chunk, buffers }) => {
    buffers.x.set(item, buffers.x.at(item).mul(chunk.by).add(chunk.plus));
  },
);
const slow = items('slow', { job: { steps: 'u32' }, buffers: { x: rw('u32') } }, ({ job, item, buffers }) => {
  loop(job.steps, (i) => buffers.x.set(item.and(1), buffers.x.at(item.and(1)).add(i)));
});
const patient = items('patient', { job: { rounds: 'u32' }, buffers: { x: rw('u32') } }, ({ job, item, buffers }) => {
  const [done, sum] = [cell('u32', 0), cell('u32', 1)];
  const round = (): void => {
    for (let step = 0; step < 16; step++) sum.set(sum.mul(0x0019_660d).xor(done).add(step));
    done.set(done.add(1));
  };
  whileTrue(() => done.lt(job.rounds), round, { isLong: true });
  buffers.x.set(item, sum);
});
/** Writes to `began` before its long loops, and to everything else after the first of them. */
const abandoned = items(
  'abandoned',
  {
    job: { rounds: 'u32' },
    buffers: { began: rw('u32'), after: rw('u32'), tally: atomic() },
    hit: { done: 'u32' },
  },
  ({ job, item, buffers: { began, after, tally }, emit }) => {
    began.set(item, 1);
    const done = cell('u32', 0);
    loop(2, (pass) => {
      const isLast = pass.eq(1);
      when(isLast.or(item.lt(job.rounds)), () => {
        whileTrue(
          () => done.lt(job.rounds),
          () => done.set(done.add(1)),
          { isLong: true },
        );
        after.set(item, after.at(item).add(1));
      });
      done.set(done.mul(isLast.to('u32')));
    });
    tally.add(0, 1);
    emit({ done });
  },
);

const order: Case = {
  name: 'streams/commands run in order',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const program = await device.compile(scale);
      const x = await rig.alloc(400);
      const job = program.bind({});
      rig.stream.fill(x, 1);
      let expected = 1;
      for (let k = 0; k < 200; k++) {
        rig.stream.launch({ job, chunk: { by: 3, plus: k }, count: 100, buffers: { x } });
        expected = (Math.imul(expected, 3) + k) >>> 0;
      }
      expectEqual('200 launches', await rig.readBack(x, new Uint32Array(100)), new Uint32Array(100).fill(expected));
    }),
};

const transfers: Case = {
  name: 'streams/fill, copy, read and write at offsets and odd sizes',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const { stream } = rig;
      const a = await rig.alloc(64);
      const b = await rig.alloc(64);
      expectEqual('fresh memory', await rig.readBack(a, new Uint32Array(16)), new Uint32Array(16));
      stream.fill(a, 0xfedc_ba98);
      stream.fill(a, 7, 8, 12);
      stream.fill(a, -1, 60);
      stream.copy(a, b, 20, 4, 40);
      stream.copy(b, b, 8, 40, 0);
      const f = 0xfedc_ba98;
      expectEqual('fill', await rig.readBack(a, new Uint32Array(16)), [
        f,
        f,
        7,
        7,
        7,
        f,
        f,
        f,
        f,
        f,
        f,
        f,
        f,
        f,
        f,
        0xffff_ffff,
      ]);
      expectEqual('copy', await rig.readBack(b, new Uint32Array(16)), [f, 7, 0, 0, 0, 0, 0, 0, 0, 0, f, 7, 7, 7, f, 0]);
      for (const size of [0, 1, 2, 3, 5, 13, 31, 60]) {
        const data = Uint8Array.from({ length: size }, (_, i) => i + 1 + size);
        stream.fill(a, 0);
        stream.write(a, data, 4);
        const all = await rig.readBack(a, new Uint8Array(64));
        expectEqual(`write of ${size} bytes`, all, [0, 0, 0, 0, ...data, ...new Uint8Array(60 - size)]);
        const some = new Uint8Array(size + 2).fill(200);
        stream.read(a, some.subarray(1, size + 1), 4);
        await stream.mark().done;
        expectEqual(`read of ${size} bytes`, some, [200, ...data, 200]);
      }
      // A view inside a larger array, of another element type.
      const wide = new Float64Array(8).fill(0.5);
      stream.write(b, wide.subarray(2, 5), 8);
      const back = new Float64Array(8);
      stream.read(b, back.subarray(4, 7), 8);
      await stream.mark().done;
      expectEqual('views', back, [0, 0, 0, 0, 0.5, 0.5, 0.5, 0]);
    }),
};

const waits: Case = {
  name: 'streams/a stream waits for another on the device',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const program = await device.compile(scale);
      const busy = await device.compile(slow, { lanes: 1 });
      const x = await rig.alloc(64);
      const other = device.stream();
      try {
        for (let round = 0; round < 20; round++) {
          rig.stream.fill(x, 1);
          rig.stream.launch({ job: busy.bind({ steps: 50 }), count: 200, buffers: { x: await rig.alloc(64) } });
          rig.stream.launch({ job: program.bind({}), chunk: { by: 5, plus: 0 }, count: 16, buffers: { x } });
          const first = rig.stream.mark();
          other.wait(first);
          other.launch({ job: program.bind({}), chunk: { by: 1, plus: 2 }, count: 16, buffers: { x } });
          const second = other.mark();
          rig.stream.wait(second);
          expectEqual(`round ${round}`, await rig.readBack(x, new Uint32Array(16)), new Uint32Array(16).fill(7));
          const [one, two] = await Promise.all([first.done, second.done]);
          check(two.endedNs >= one.endedNs, 'the stream that waited ended before the mark that it waited for');
        }
      } finally {
        other.close();
      }
    }),
};

const times: Case = {
  name: 'streams/times of marks are in order',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const program = await device.compile(scale);
      const x = await rig.alloc(400);
      const marks: Promise<Report>[] = [];
      for (let k = 0; k < 30; k++) {
        if (k % 3 !== 2)
          rig.stream.launch({ job: program.bind({}), chunk: { by: 3, plus: k }, count: 100, buffers: { x } });
        marks.push(rig.stream.mark().done);
      }
      let last = 0n;
      for (const report of await Promise.all(marks)) {
        check(report.complete, 'a launch that ran to its end is reported as incomplete');
        check(
          report.startedNs >= last && report.endedNs >= report.startedNs,
          `from ${report.startedNs} to ${report.endedNs}, after ${last}`,
        );
        last = report.endedNs;
      }
    }),
};

const cancelled: Case = {
  name: 'streams/cancel says so, and what is queued afterwards runs',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const program = await device.compile(slow, { lanes: 1 });
      const x = await rig.alloc(64);
      for (let i = 0; i < 4; i++)
        rig.stream.launch({ job: program.bind({ steps: 1000 }), count: 2 ** 31, buffers: { x } });
      const stopped = rig.stream.mark();
      await pause(5);
      rig.stream.cancel();
      rig.stream.fill(x, 0);
      rig.stream.launch({ job: program.bind({ steps: 4 }), count: 1, buffers: { x } });
      const after = rig.stream.mark();
      check(!(await stopped.done).complete, 'a cancelled launch is reported as complete');
      check((await after.done).complete, 'a launch after cancel() is reported as incomplete');
      expectEqual('after cancel()', await rig.readBack(x, new Uint32Array(2)), [6, 0]);
    }),
};

const cancelledInside: Case = {
  name: 'streams/cancel ends an item in its long loop',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const program = await device.compile(patient);
      const x = await rig.alloc(8);
      const launch = (rounds: number) => {
        rig.stream.launch({ job: program.bind({ rounds }), count: 2, buffers: { x } });
        return rig.stream.mark();
      };
      let sum = 1;
      for (let done = 0; done < 100; done++)
        for (let step = 0; step < 16; step++) sum = ((Math.imul(sum, 0x0019_660d) ^ done) + step) >>> 0;
      check((await launch(100).done).complete, 'a launch that is not cancelled is reported as incomplete');
      expectEqual('a long loop', await rig.readBack(x, new Uint32Array(2)), [sum, sum]);
      // A WebGPU kernel cannot see the host's writes, and the interpreter runs in this thread.
      if (device.info.kind === 'webgpu' || device.info.kind === 'interpreter') return;
      const stopped = launch(2 ** 32 - 1); // a minute or more
      await pause(5);
      rig.stream.cancel();
      check(!(await stopped.done).complete, 'a launch that was cancelled in a loop is reported as complete');
      check((await launch(1).done).complete, 'a launch after cancel() is reported as incomplete');
    }),
};

const leavesItem: Case = {
  name: 'streams/cancel in a long loop leaves the item: nothing after the loop runs',
  run: (device) =>
    Rig.with(device, async (rig) => {
      // A WebGPU kernel cannot see the cancel, and the interpreter runs in this thread: both finish the items they began.
      const isSeen = device.info.kind !== 'webgpu' && device.info.kind !== 'interpreter';
      const program = await device.compile(abandoned);
      const count = isSeen ? 300 : 4096;
      const [began, after, tally] = [await rig.alloc(4 * count), await rig.alloc(4 * count), await rig.alloc(4)];
      const ring = await rig.alloc(4 * (program.ring.headerWords + count * program.ring.recordWords));
      const launch = async (rounds: number, cancelAfterMs?: number) => {
        for (const buffer of [began, after, tally, ring]) rig.stream.fill(buffer, 0);
        rig.stream.launch({ job: program.bind({ rounds }), count, buffers: { began, after, tally }, ring });
        const mark = rig.stream.mark();
        if (cancelAfterMs !== undefined) {
          await pause(cancelAfterMs);
          rig.stream.cancel();
        }
        const { complete } = await mark.done;
        const passes = await rig.readBack(after, new Uint32Array(count));
        const [tallied = 0] = await rig.readBack(tally, new Uint32Array(1));
        const [hits = 0] = await rig.readBack(ring, new Uint32Array(program.ring.headerWords));
        const started = (await rig.readBack(began, new Uint32Array(count))).reduce((sum, one) => sum + one, 0);
        return { complete, passes, tallied, hits, started };
      };
      const whole = await launch(4);
      check(whole.complete && whole.hits === count, 'a launch that was not cancelled is reported as incomplete');
      expectEqual(
        'without cancel()',
        whole.passes,
        Uint32Array.from({ length: count }, (_, i) => (i < 4 ? 2 : 1)),
      );

      // Repeats until the cancel arrives while items are in their loops: a busy machine may start them late.
      for (let ms = 5; ms < 5000; ms *= 2) {
        const { complete, passes, tallied, hits, started } = await launch(isSeen ? 2 ** 32 - 1 : 20, ms);
        const ended = passes.reduce((sum, one) => sum + (one > 0 ? 1 : 0), 0);
        check(tallied === hits && ended === hits, `${ended} items stored, ${tallied} counted, ${hits} emitted`);
        check(complete === (hits === count), `${hits} of ${count} items, but complete is ${complete}`);
        if (!isSeen) return;
        check(hits === 0, `${hits} items continued after the loop that cancel() ended`);
        if (started > 0) return;
      }
      check(false, 'no item began within 5 s');
    }),
};

const ranges: Case = {
  name: 'streams/transfers outside a buffer are refused',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const { stream } = rig;
      const x = await rig.alloc(32);
      const y = await rig.alloc(32);
      const freed = await device.alloc(32);
      freed.free();
      const attempts: Readonly<Record<string, () => void>> = {
        'a write past the end': () => stream.write(x, new Uint8Array(33)),
        'a write from a late offset': () => stream.write(x, new Uint8Array(9), 24),
        'a read past the end': () => stream.read(x, new Uint32Array(9)),
        'a negative offset': () => stream.read(x, new Uint32Array(1), -4),
        'an offset inside a word': () => stream.read(x, new Uint32Array(1), 2),
        'a copy past the source': () => stream.copy(x, y, 32, 4, 0),
        'a copy past the target': () => stream.copy(x, y, 32, 0, 4),
        'a copy over itself': () => stream.copy(x, x, 16, 0, 8),
        'a fill past the end': () => stream.fill(x, 0, 16, 20),
        'a fill of half a word': () => stream.fill(x, 0, 0, 6),
        'a freed buffer': () => stream.fill(freed, 0),
      };
      for (const [what, attempt] of Object.entries(attempts)) await expectError('buffer-range', what, attempt);
      await expectError('buffer-range', 'a buffer of -1 bytes', () => device.alloc(-1));
      await expectError('device-memory', 'a buffer past the limit', () =>
        device.alloc(device.info.limits.bufferBytes + 4),
      );
      check((await stream.mark().done).complete, 'a refused command had an effect');
    }),
};

const poison: Case = {
  name: 'streams/an error fails its own mark only',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const program = await device.compile(scale, { checked: true });
      const x = await rig.alloc(16);
      const job = program.bind({});
      const launch = (count: number) => rig.stream.launch({ job, chunk: { by: 1, plus: 1 }, count, buffers: { x } });
      launch(4);
      const before = rig.stream.mark();
      launch(5);
      launch(4); // behind a failed launch nothing runs until the mark
      const failed = rig.stream.mark();
      launch(4);
      const after = rig.stream.mark();
      check((await before.done).complete, 'the mark before the error is incomplete');
      await expectError('kernel-bounds', 'the mark of the error', () => failed.done);
      check((await after.done).complete, 'the mark after the error is incomplete');
      const other = device.stream();
      other.wait(failed);
      const resting = other.mark();
      await expectError('kernel-bounds', 'a mark that waits for the error', () => resting.done);
      other.close();
    }),
};

const closing: Case = {
  name: 'streams/close rejects what is in flight',
  run: async (device) => {
    const own = await openAnother(device);
    const program = await own.compile(slow, { lanes: 1 });
    const x = await own.alloc(64);
    const stream = own.stream();
    stream.launch({ job: program.bind({ steps: 1000 }), count: 2 ** 31, buffers: { x } });
    const mark = stream.mark();
    await expectError('launch-arguments', "waiting for another device's mark", () =>
      Rig.with(device, async (rig) => rig.stream.wait(mark)),
    );
    await expectError('launch-arguments', "another device's buffer", () =>
      Rig.with(device, async (rig) => rig.stream.fill(x, 0)),
    );
    await pause(2);
    const ended = expectError('device-closed', 'a mark in flight', () => mark.done);
    await own.close();
    await own.close();
    await ended;
    await expectError('device-closed', 'alloc() after close()', () => own.alloc(4));
    await expectError('device-closed', 'compile() after close()', () => own.compile(scale));
    await expectError('device-closed', 'mark() after close()', () => stream.mark());
    await expectError('device-closed', 'stream() after close()', () => own.stream());
  },
};

export const streams: readonly Case[] = [
  order,
  transfers,
  waits,
  times,
  cancelled,
  cancelledInside,
  leavesItem,
  ranges,
  poison,
  closing,
];
