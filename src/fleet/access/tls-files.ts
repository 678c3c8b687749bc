import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeSafely } from '../safe-file.js';
import {
  certificatePem,
  type KeyedCertificate,
  makeCertificateAuthority,
  makeServerCertificate,
} from './certificate.js';

/** The files of a server's TLS. */
export interface ServerTls {
  readonly certificate: string;
  readonly key: string;
  /** The certificate that clients need, in DER as base64. Missing if they know it. */
  readonly ca?: string | undefined;
}

/** Makes a certificate for the server of a fleet, signed by the fleet's own authority, which is made once. */
export function ownTls(folder: string, fleet: string, hosts: readonly string[]): ServerTls {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const authority = openAuthority(folder, `Millrace fleet ${fleet}`);
  const server = makeServerCertificate(authority, hosts);
  // Another name for other hosts: a server that runs with other settings is then started again.
  const name = createHash('sha256').update(hosts.join()).digest('hex').slice(0, 8);
  const files = { certificate: join(folder, `server-${name}.pem`), key: join(folder, `server-${name}-key.pem`) };
  save(server, files.certificate, files.key);
  return { ...files, ca: Buffer.from(authority.der).toString('base64') };
}

/** The user's own files. `ca` is one too; without it clients use the authorities that their system knows. */
export function givenTls(certificate: string, key: string, ca: string | undefined): ServerTls {
  return { certificate, key, ...(ca !== undefined && { ca: readCa(ca) }) };
}

/** Reads the certificate of an authority, as invites have it. */
export const readCa = (file: string): string => new X509Certificate(readFileSync(file)).raw.toString('base64');

function openAuthority(folder: string, name: string): KeyedCertificate {
  const [certificate, key] = [join(folder, 'ca.pem'), join(folder, 'ca-key.pem')];
  if (existsSync(certificate) && existsSync(key)) {
    const { raw } = new X509Certificate(readFileSync(certificate));
    return { name, der: raw, key: createPrivateKey(readFileSync(key)) };
  }
  const authority = makeCertificateAuthority(name);
  save(authority, certificate, key);
  return authority;
}

function save({ der, key }: KeyedCertificate, certificateFile: string, keyFile: string): void {
  writeSafely(keyFile, key.export({ format: 'pem', type: 'pkcs8' }));
  writeSafely(certificateFile, certificatePem(der));
}
