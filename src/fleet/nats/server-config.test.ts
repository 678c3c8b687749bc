import { expect, test } from 'vitest';
import { configText, type ServerSettings, settingsOf } from './server-config.js';

const settings = (claim: string, more: Partial<ServerSettings> = {}): ServerSettings => ({
  folder: '/data',
  accounts: () => [`operator: ${claim}`, `resolver_preload: { A: ${claim} }`, 'system_account: A'],
  ...more,
});
const kept = (...given: Parameters<typeof configText>): string => settingsOf(configText(...given));

test('a running server is kept if only its port and its signed claims differ', () => {
  expect(configText(settings('first'), 4222)).not.toBe(configText(settings('second'), 0));
  expect(kept(settings('first'), 4222)).toBe(kept(settings('second'), 0));
});

test('a running server is not kept if its address, certificate or accounts differ', () => {
  const now = kept(settings('first'), 4222);
  const others: Partial<ServerSettings>[] = [
    { listen: { host: '0.0.0.0', port: 4222 } },
    { tls: { certificate: '/cert.pem', key: '/key.pem' } },
    { accounts: () => ['system_account: B'] },
    { folder: '/other' },
  ];
  for (const other of others) expect(kept(settings('first', other), 4222)).not.toBe(now);
});
