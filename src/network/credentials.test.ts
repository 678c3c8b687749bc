import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { credentialsFor, readPassword, rpcCredentials } from './credentials.js';
import { HTTP_SCHEMES, parseEndpoint } from './endpoint.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-credentials-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(text: string): string {
  const path = join(folder, `file-${Math.random()}`);
  writeFileSync(path, text);
  return path;
}
const node = (text: string) => parseEndpoint(text, HTTP_SCHEMES);

describe('credentials', () => {
  it('of an address take precedence as a pair: its user never gets the password of another server', () => {
    const given = { user: 'all', password: 'secret of all' };
    expect(credentialsFor(node('http://own:pw@h'), given)).toEqual({ user: 'own', password: 'pw' });
    expect(credentialsFor(node('http://own@h'), given)).toEqual({ user: 'own', password: undefined });
    expect(credentialsFor(node('http://h'), given)).toEqual({ user: 'all', password: 'secret of all' });
  });

  it('come from the first line of a file', () => {
    expect(readPassword({ password: 'a', passwordFile: file('b c \r\nmore') })).toBe('b c ');
    for (const bad of [file(''), file('\nx'), folder, join(folder, 'nowhere'), '/dev/zero']) {
      expect(() => readPassword({ passwordFile: bad })).toThrow(/cannot read a password from \S+ \(.+\)\n/);
    }
  });

  it('of a cookie are read again each time, and registered as secrets', () => {
    const path = file('__cookie__:first:part');
    const secrets: string[] = [];
    const credentials = rpcCredentials(node('http://h'), { cookie: path }, (secret) => secrets.push(secret));
    expect(credentials()).toEqual({ user: '__cookie__', password: 'first:part' });
    writeFileSync(path, '__cookie__:second');
    expect(credentials()).toEqual({ user: '__cookie__', password: 'second' });
    expect(secrets).toEqual(['first:part', 'second']);
    writeFileSync(path, 'no colon');
    expect(credentials).toThrow(/expected name:password/);
    rmSync(path);
    expect(credentials).toThrow(/ENOENT/);
  });

  it('are undefined if none are given', () => {
    expect(rpcCredentials(node('http://h'), {}, () => undefined)()).toBeUndefined();
  });
});
