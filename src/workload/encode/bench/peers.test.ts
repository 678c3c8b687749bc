import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Device } from '../../../device/device.js';
import { openDevice } from '../../../device/registry.js';
import { openPeer, type PeerWork } from './peers.js';

let device: Device;
beforeAll(async () => {
  device = await openDevice('interpreter');
});
afterAll(() => device.close());

const work: PeerWork = { qubits: 4, batch: 3, batches: 2, runs: 5, place: 'cpu', from: 'there' };

for (const library of ['NumPy', 'PyTorch'] as const) {
  it(`${library} computes the states of the reference, the same in every run`, async (ctx) => {
    const peer = await openPeer(library, device, work);
    if (!peer) return ctx.skip(`no ${library} for python3`);
    try {
      expect(peer.name).toMatch(`${library} `);
      const [first, second] = [await peer.run(), await peer.run()];
      expect(first).toMatchObject({ work: 6, digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
      expect(second.digest).toBe(first.digest);
    } finally {
      peer.close();
    }
  });
}

it('openPeer returns undefined without Python or its requirements', async () => {
  expect(await openPeer('NumPy', device, { ...work, place: 'cuda' })).toBeUndefined();
  vi.stubEnv('PATH', '/nowhere');
  expect(await openPeer('NumPy', device, work)).toBeUndefined();
  vi.unstubAllEnvs();
});
