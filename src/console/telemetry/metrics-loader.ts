import type { Output } from '../output/output.js';
import type { MetricsServer } from './metrics-server.js';
import type { Address } from './options.js';

export type { MetricsServer };

/** Starts the server of `--prometheus` and tells the user its address. Undefined if the option was not given. */
export async function openMetricsServer(
  address: Address | undefined,
  output: Output,
  text: () => string | Promise<string>,
): Promise<MetricsServer | undefined> {
  if (address === undefined) return undefined;
  const { startMetricsServer } = await import('./metrics-server.js'); // node:http takes 20 ms
  const server = await startMetricsServer(address, text);
  output.say(`metrics for Prometheus: ${server.url}`);
  output.event('listening', { url: server.url });
  return server;
}
