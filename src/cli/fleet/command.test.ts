import { expect, test } from 'vitest';
import { millrace } from '../../../test/command-line.js';

test('fleet join --only takes workloads and run, and names them', async () => {
  const { status, stderr } = await millrace(['fleet', 'join', '--only', 'block,chess']);
  expect(status).toBe(64);
  expect(stderr).toMatch(/Expected a list of .*\bblock\b.*\brun\b/);
});

test('fleet invite puts no secret into events: --json needs a file', async () => {
  const { status, events } = await millrace(['fleet', 'invite', '--role', 'viewer', '--json']);
  expect(status).toBe(64);
  expect(events[0]).toMatchObject({ event: 'error', code: 'usage', message: expect.stringContaining('is a secret') });
});
