import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fleetFolder, inviteFor, removeInvite, saveInvite } from './local.js';

test('the invite of the fleet on this machine is stored for this user alone, until the fleet ends', () => {
  const data = mkdtempSync(join(tmpdir(), 'millrace-local-'));
  const invite = { url: 'nats://127.0.0.1:4222', fleet: 'f', user: 'u', role: 'worker', jwt: 'j', seed: 's' } as const;
  const nothing = expect.objectContaining({ code: 'usage', message: expect.stringMatching(/no fleet is served/) });
  try {
    mkdirSync(fleetFolder(data));
    expect(() => inviteFor(undefined, data)).toThrow(nothing);
    saveInvite(data, invite);
    expect(statSync(join(fleetFolder(data), 'invite')).mode & 0o777).toBe(0o600);
    expect(inviteFor(true, data)).toMatchObject(invite);
    removeInvite(data);
    expect(() => inviteFor(true, data)).toThrow(nothing);
    removeInvite(data);
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
});
