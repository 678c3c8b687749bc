import { describe, expect, it } from 'vitest';
import { HTTP_SCHEMES, LINE_SCHEMES, parseEndpoint } from './endpoint.js';

const pool = (text: string) => parseEndpoint(text, LINE_SCHEMES);

describe('addresses of servers', () => {
  it.each([
    ['stratum+tcp://pool.example:3333', { host: 'pool.example', port: 3333, isTls: false }],
    ['pool.example:80', { host: 'pool.example', port: 80, isTls: false }],
    ['pool.example', { host: 'pool.example', port: 3333 }],
    ['stratum+ssl://pool.example', { port: 3334, isTls: true }],
    ['STRATUM+TLS://[::1]:443', { host: '::1', port: 443, isTls: true, name: 'stratum+tls://[::1]:443' }],
    ['stratum+tcp://bc1q.rig:p%40ss@h:1', { user: 'bc1q.rig', password: 'p@ss', name: 'stratum+tcp://h:1' }],
    ['stratum+tcp://me:100%@h:1', { password: '100%' }],
    ['stratum+tcp://h:1#frag', { host: 'h', port: 1 }],
  ])('%s', (text, wanted) => {
    expect(pool(text)).toMatchObject(wanted);
  });

  it('of nodes have paths', () => {
    expect(parseEndpoint('http://u:p@127.0.0.1:8332/wallet/a?b', HTTP_SCHEMES)).toMatchObject({
      path: '/wallet/a?b',
      name: 'http://127.0.0.1:8332',
    });
  });

  it.each(['stratum2+tcp://pool:1', 'sv2://pool:1', 'stratumv2://pool:1'])('%s is refused as Stratum V2', (text) => {
    expect(() => pool(text)).toThrow(/Stratum V2 is not supported[\s\S]*stratum\+tcp/);
  });

  it.each(['', 'stratum+tcp://', 'h:0', 'h:65536', 'h:1x', 'http://h:1', 'file:///etc/passwd', 'a b:1', '[::1'])(
    '%j is refused',
    (text) => {
      expect(() => pool(text)).toThrow(/not a server address|unknown scheme/);
    },
  );

  it('are reported without credentials, even if invalid', () => {
    let words = '';
    try {
      pool('stratum+tcp://anna:apple-pass@h:99999');
    } catch (error) {
      words = String(error);
    }
    expect(words).toContain('h:99999');
    expect(words).not.toMatch(/anna|apple/);
  });
});
