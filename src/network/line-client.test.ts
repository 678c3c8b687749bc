import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { LINE_SCHEMES, parseEndpoint } from './endpoint.js';
import { connectLines } from './line-client.js';

test('a server that sends endlessly leaves this thread most of its time', async () => {
  const line = `${'x'.repeat(30_000)}\n`;
  const flood = (socket: Socket): void => {
    while (!socket.destroyed && socket.write(line));
    if (!socket.destroyed) socket.once('drain', () => flood(socket));
  };
  const server = createServer((socket) => flood(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  let busyMs = 0;
  let lines = 0;
  const enough = new AbortController();
  // Each line takes five milliseconds, as one of a megabyte does.
  const onLine = (): void => {
    const from = performance.now();
    while (performance.now() - from < 5);
    busyMs += performance.now() - from;
    lines += 1;
    if (lines >= 40) enough.abort();
  };
  const from = performance.now();
  const client = await connectLines(parseEndpoint(`stratum+tcp://127.0.0.1:${port}`, LINE_SCHEMES), {
    onLine,
    signal: enough.signal,
  });
  expect(await client.closed).toBe('stopped');
  expect(busyMs / (performance.now() - from)).toBeLessThan(0.5);
});
