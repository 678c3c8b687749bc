import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP, isIPv6 } from 'node:net';
import {
  bits,
  boolean,
  type Der,
  explicit,
  implicit,
  integer,
  octets,
  oid,
  sequence,
  setOf,
  time,
  utf8,
} from './der.js';

/** A certificate (X.509, RFC 5280) and its private key. Node can read certificates, but not make them. */
export interface KeyedCertificate {
  readonly name: string;
  readonly der: Uint8Array;
  readonly key: KeyObject;
}

/** Makes an authority that signs certificates of servers. */
export function makeCertificateAuthority(name: string, now = Date.now()): KeyedCertificate {
  const { privateKey, publicKey } = newKey();
  const extensions = [
    extension(BASIC_CONSTRAINTS, true, sequence(boolean(true), integer(Buffer.from([0])))),
    // keyCertSign and cRLSign
    extension(KEY_USAGE, true, bits(Buffer.from([0x06]), 1)),
    extension(SUBJECT_KEY_ID, false, octets(keyId(publicKey))),
  ];
  const names = { issuer: name, subject: name };
  return { name, der: signed({ ...names, publicKey, extensions, days: 3650, now }, privateKey), key: privateKey };
}

/** Makes the certificate of a server that is reached by these names and addresses. */
export function makeServerCertificate(
  authority: KeyedCertificate,
  hosts: readonly string[],
  now = Date.now(),
): KeyedCertificate {
  const { privateKey, publicKey } = newKey();
  const issuerKey = createPublicKey(authority.key);
  const extensions = [
    extension(BASIC_CONSTRAINTS, true, sequence()),
    // digitalSignature
    extension(KEY_USAGE, true, bits(Buffer.from([0x80]), 7)),
    extension(EXTENDED_KEY_USAGE, false, sequence(oid(SERVER_AUTH))),
    extension(SUBJECT_KEY_ID, false, octets(keyId(publicKey))),
    extension(AUTHORITY_KEY_ID, false, sequence(implicit(0, keyId(issuerKey)))),
    extension(SUBJECT_ALT_NAME, false, sequence(...hosts.map(alternativeName))),
  ];
  const names = { issuer: authority.name, subject: 'Millrace fleet server' };
  const der = signed({ ...names, publicKey, extensions, days: 825, now }, authority.key);
  return { name: names.subject, der, key: privateKey };
}

export const certificatePem = (der: Uint8Array): string =>
  [
    '-----BEGIN CERTIFICATE-----',
    ...(Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []),
    '-----END CERTIFICATE-----',
    '',
  ].join('\n');

/** P-256: browsers and all TLS libraries take it. */
const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

interface CertificateFields {
  readonly issuer: string;
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Der[];
  readonly days: number;
  readonly now: number;
}

function signed({ issuer, subject, publicKey, extensions, days, now }: CertificateFields, key: KeyObject): Der {
  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40; // positive, and of one length
  const content = sequence(
    explicit(0, integer(Buffer.from([2]))), // version 3
    integer(serial),
    algorithm,
    nameOf(issuer),
    // Clocks of machines differ.
    sequence(time(new Date(now - DAY_MS)), time(new Date(now + days * DAY_MS))),
    nameOf(subject),
    publicKey.export({ format: 'der', type: 'spki' }),
    explicit(3, sequence(...extensions)),
  );
  return sequence(content, algorithm, bits(sign('sha256', content, key)));
}

const nameOf = (name: string): Der => sequence(setOf(sequence(oid(COMMON_NAME), utf8(name))));

const extension = (id: string, isCritical: boolean, content: Der): Der =>
  sequence(oid(id), ...(isCritical ? [boolean(true)] : []), octets(content));

/** SHA-1 of the public key, as RFC 5280 proposes: it identifies, and protects nothing. */
const keyId = (publicKey: KeyObject): Uint8Array =>
  createHash('sha1')
    .update(publicKey.export({ format: 'der', type: 'spki' }))
    .digest();

function alternativeName(host: string): Der {
  if (isIP(host) === 0) return implicit(2, Buffer.from(host));
  return implicit(7, Buffer.from(isIPv6(host) ? ipv6Bytes(host) : host.split('.').map(Number)));
}

function ipv6Bytes(address: string): number[] {
  // A URL has the address without a zone, and with its last part in hex.
  const [plain = ''] = address.split('%');
  const canonical = new URL(`http://[${plain}]`).hostname.slice(1, -1);
  const [before = '', after] = canonical.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const groups = after ? [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after] : before;
  return [...groups].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
}

const DAY_MS = 86_400_000;
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const COMMON_NAME = '2.5.4.3';
const BASIC_CONSTRAINTS = '2.5.29.19';
const KEY_USAGE = '2.5.29.15';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const SUBJECT_KEY_ID = '2.5.29.14';
const AUTHORITY_KEY_ID = '2.5.29.35';
const SUBJECT_ALT_NAME = '2.5.29.17';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
