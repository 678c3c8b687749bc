import { isIP } from 'node:net';
import { expect, test } from 'vitest';
import {
  checkVersion,
  externalAddresses,
  hasKnownHoles,
  isLoopback,
  ownHost,
  parseListenAddress,
  urlHost,
} from './listening.js';

test('versions of the server with known holes are not for other machines', () => {
  for (const version of [
    '2.9.10',
    '2.10.29',
    '2.11.13',
    '2.12.0',
    '2.12.4',
    'v2.11.0',
    '1.4.1',
    '2.12.5-RC.1',
    '',
    'x',
  ])
    expect([version, hasKnownHoles(version)]).toEqual([version, true]);
  for (const version of ['2.11.14', '2.11.20', '2.12.5', '2.13.0', 'v2.12.11', '3.0.0'])
    expect([version, hasKnownHoles(version)]).toEqual([version, false]);
  expect(() => checkVersion('2.9.10', 'fleet.example')).toThrow(/2\.9\.10 has known security holes/);
  checkVersion('2.9.10', '127.0.0.1');
  checkVersion('2.11.14', 'fleet.example');
});

test('addresses', () => {
  expect(parseListenAddress('0.0.0.0:4222')).toEqual({ host: '0.0.0.0', port: 4222 });
  expect(parseListenAddress('[::]:4222')).toEqual({ host: '::', port: 4222 });
  expect(parseListenAddress('fleet.example')).toEqual({ host: 'fleet.example', port: 0 });
  for (const text of ['', ':4222', '::1', 'a:b', '1.2.3.4:70000', 'nats://x:1', 'a b'])
    expect(() => parseListenAddress(text)).toThrow(/is not an address/);
  for (const host of ['localhost', '127.0.0.1', '127.3.2.1', '::1', '[::1]']) expect(isLoopback(host)).toBe(true);
  for (const host of ['0.0.0.0', '::', '128.0.0.1', '127.0.0.1.example', 'localhost.example', '1127.0.0.1'])
    expect(isLoopback(host)).toBe(false);
  expect([ownHost('0.0.0.0'), ownHost('::'), urlHost('::1')]).toEqual(['127.0.0.1', '::1', '[::1]']);
});

test("this machine's addresses for others: none of loopback, those of version 4 first", () => {
  const all = externalAddresses();
  expect(all.filter(isLoopback)).toEqual([]);
  expect(all.map(isIP)).toEqual(all.map(isIP).sort());
});
