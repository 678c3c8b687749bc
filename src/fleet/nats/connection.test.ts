import { expect, test } from 'vitest';
import { checkRemoteServer } from './connection.js';

test('a server on another machine is not used without TLS', async () => {
  for (const url of ['nats://192.0.2.1:4222', 'nats://fleet.example:4222', 'ws://[2001:db8::1]:443'])
    await expect(checkRemoteServer({ url })).rejects.toThrow(
      `the server at ${url} is not safe: it is on another machine`,
    );
  for (const url of ['nats://127.0.0.1:4222', 'nats://localhost:4222', 'nats://[::1]:4222'])
    await checkRemoteServer({ url });
});
