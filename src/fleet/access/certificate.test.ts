import { execFileSync, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { afterAll, describe, expect, test } from 'vitest';
import { certificatePem, makeCertificateAuthority, makeServerCertificate } from './certificate.js';
import { oid, time } from './der.js';
import { ownTls, readCa } from './tls-files.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-tls-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const HOSTS = ['fleet.example', '127.0.0.1', '::1', '2001:db8::8:800:200c:417a'];

describe('DER', () => {
  test('is that of the standards', () => {
    // The identifier of RSA Data Security; RFC 5280, 4.1.2.5.
    expect(Buffer.from(oid('1.2.840.113549')).toString('hex')).toBe('06062a864886f70d');
    expect(Buffer.from(time(new Date('2049-12-31T23:59:59Z'))).toString('latin1')).toBe('\x17\x0d491231235959Z');
    expect(Buffer.from(time(new Date('2050-01-01T00:00:00Z'))).toString('latin1')).toBe('\x18\x0f20500101000000Z');
  });
});

describe('certificates', () => {
  const authority = makeCertificateAuthority('Fleet f');
  const server = makeServerCertificate(authority, HOSTS);

  test('are those that Node reads', () => {
    const [ca, leaf] = [new X509Certificate(authority.der), new X509Certificate(server.der)];
    expect(ca).toMatchObject({ ca: true, subject: 'CN=Fleet f' });
    expect(leaf).toMatchObject({ ca: false, issuer: 'CN=Fleet f' });
    expect([leaf.verify(ca.publicKey), leaf.checkIssued(ca), leaf.checkPrivateKey(server.key)]).toEqual([
      true,
      true,
      true,
    ]);
    expect(leaf.checkHost('fleet.example')).toBe('fleet.example');
    expect(leaf.checkHost('other.example')).toBeUndefined();
    for (const ip of HOSTS.slice(1)) expect(leaf.checkIP(ip)).toBeDefined();
    expect(leaf.checkIP('127.0.0.2')).toBeUndefined();
  });

  test('are verified by openssl, and not after they have expired', (ctx) => {
    if (spawnSync('openssl', ['version']).status !== 0) return ctx.skip('openssl is not installed');
    const [ca, leaf] = [join(folder, 'a.pem'), join(folder, 'b.pem')];
    writeFileSync(ca, certificatePem(authority.der));
    writeFileSync(leaf, certificatePem(server.der));
    const verify = (...more: string[]) =>
      spawnSync('openssl', ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', ca, ...more, leaf], {
        encoding: 'utf8',
      });
    expect(verify('-verify_ip', '::1')).toMatchObject({ status: 0, stdout: `${leaf}: OK\n` });
    expect(verify('-verify_hostname', 'fleet.example').status).toBe(0);
    expect(verify('-verify_hostname', 'other.example').status).not.toBe(0);
    expect(verify('-attime', String(Math.floor(Date.now() / 1000) + 826 * 86_400)).stderr).toMatch(/expired/);
    const text = execFileSync('openssl', ['x509', '-in', leaf, '-noout', '-ext', 'subjectAltName'], {
      encoding: 'utf8',
    });
    expect(text).toMatch('DNS:fleet.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:2001:DB8:');
  });

  test('protect a connection; another authority is refused', async () => {
    const files = ownTls(join(folder, 'tls'), 'f', HOSTS);
    const again = ownTls(join(folder, 'tls'), 'f', HOSTS);
    expect(again.ca).toBe(files.ca);
    expect(readCa(join(folder, 'tls', 'ca.pem'))).toBe(files.ca);
    for (const file of [files.key, join(folder, 'tls', 'ca-key.pem')]) expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = server.key.export({ format: 'pem', type: 'pkcs8' });
    const listening = createServer({ key, cert: certificatePem(server.der) }, (socket) => socket.end('hello'));
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
    const { port } = listening.address() as { port: number };
    const read = (ca: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port, ca, servername: 'fleet.example' });
        socket.on('data', (bytes) => resolve(bytes.toString()));
        socket.on('error', reject);
      });
    try {
      expect(await read(certificatePem(authority.der))).toBe('hello');
      await expect(read(certificatePem(makeCertificateAuthority('Fleet f').der))).rejects.toThrow();
    } finally {
      listening.close();
    }
  });
});
