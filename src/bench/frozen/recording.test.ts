import { expect, it } from 'vitest';
import { openDevice } from '../../device/registry.js';
import { recorder } from './recording.js';

it('records the commands that kernels need, and refuses the others', async () => {
  const device = await openDevice('wasm', { threads: 1 });
  const recorded = recorder(device);
  try {
    const [buffer, other] = [await recorded.device.alloc(16), await recorded.device.alloc(16)];
    const stream = recorded.device.stream();
    stream.fill(buffer, 7, 4);
    const words = new Uint32Array(4);
    stream.read(buffer, words);
    const mark = stream.mark();
    await mark.done;
    expect([...words]).toEqual([0, 7, 7, 7]);
    expect(recorded.recording()).toMatchObject({
      buffers: [16],
      commands: [
        { do: 'fill', buffer: 0, word: 7, offset: 4, bytes: 12 },
        { do: 'read', buffer: 0, offset: 0, bytes: 16 },
      ],
    });
    expect(() => stream.copy(buffer, other, 16)).toThrow('copy');
    expect(() => stream.wait(mark)).toThrow('wait');
    stream.cancel();
    stream.close();
  } finally {
    await recorded.device.close();
  }
  expect(() => device.stream()).toThrow(/closed/);
});
