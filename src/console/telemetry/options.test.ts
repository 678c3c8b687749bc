import { Command } from 'commander';
import { afterEach, expect, test, vi } from 'vitest';
import { parseAddress, type TelemetryOptions, withTelemetryOptions, withUpstreamVariables } from './options.js';

afterEach(() => vi.unstubAllEnvs());

test.each([
  ['9464', '127.0.0.1', 9464],
  [':9464', '127.0.0.1', 9464],
  ['localhost:0', 'localhost', 0],
  ['0.0.0.0:65535', '0.0.0.0', 65_535],
  ['[::1]:9464', '::1', 9464],
])('%s is %s, port %d', (text, host, port) => expect(parseAddress(text)).toEqual({ host, port }));

test.each(['', 'localhost', '65536', '1:2:3', 'a b:1', 'http://x:1'])('%j is not an address', (text) =>
  expect(() => parseAddress(text)).toThrow('Expected a port or an address'),
);

const parsed = (...args: string[]): TelemetryOptions => {
  const command = withTelemetryOptions(new Command('x').exitOverride());
  command.parse(args, { from: 'user' });
  return command.opts();
};

test('views are off by default; flags, our variables and upstream variables turn them on', () => {
  expect(withUpstreamVariables(parsed(), {})).toEqual({ poolMetrics: false, overlap: false });
  expect(withUpstreamVariables(parsed('--pool-metrics', '--overlap'), {})).toEqual({
    poolMetrics: true,
    overlap: true,
  });
  const upstream = { QDP_ENABLE_POOL_METRICS: 'TRUE', QDP_ENABLE_OVERLAP_TRACKING: '1' };
  expect(withUpstreamVariables(parsed(), upstream)).toEqual({ poolMetrics: true, overlap: true });
  const off = { QDP_ENABLE_POOL_METRICS: 'yes', QDP_ENABLE_OVERLAP_TRACKING: '0' };
  expect(withUpstreamVariables(parsed(), off)).toEqual({ poolMetrics: false, overlap: false });
  vi.stubEnv('MILLRACE_POOL_METRICS', '1');
  vi.stubEnv('MILLRACE_OVERLAP', 'true');
  expect(parsed()).toEqual({ poolMetrics: true, overlap: true });
  vi.stubEnv('MILLRACE_POOL_METRICS', '0');
  expect(parsed()).toEqual({ overlap: true });
});

test('files and an address are parsed', () => {
  const given = parsed('--metrics', 'm.csv', '--trace', 't.json', '--prometheus', '9464');
  expect(given).toEqual({ metrics: 'm.csv', trace: 't.json', prometheus: { host: '127.0.0.1', port: 9464 } });
});
