import type { KeyObject } from 'node:crypto';
import { MillraceError } from '../../kernel/error.js';
import { fromHex } from '../digest.js';

/** Signatures of manifests: Ed25519 (RFC 8032). Keys are the 32 bytes that NATS's nkeys are made of. */
export interface SigningKey {
  /** Names the signer: the public key as base64url. */
  readonly signer: string;
  sign(manifest: Uint8Array): Uint8Array;
}

export interface SignedManifest {
  readonly manifest: Uint8Array;
  readonly signer: string;
}

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** Returns the key of a 32-byte seed. Without a seed the key is new. */
export function signingKey(seed: Uint8Array = nodeCrypto().randomBytes(KEY_BYTES)): SigningKey {
  if (seed.length !== KEY_BYTES) throw new RangeError(`a seed has ${KEY_BYTES} bytes, not ${seed.length}`);
  const { createPrivateKey, createPublicKey, sign } = nodeCrypto();
  const key = createPrivateKey({ key: Buffer.concat([privatePrefix(), seed]), format: 'der', type: 'pkcs8' });
  const point = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(publicPrefix().length);
  return { signer: point.toString('base64url'), sign: (manifest) => sign(null, signedBytes(manifest), key) };
}

/** Returns a manifest with its signature: the signer's key, the signature, the manifest. */
export function signManifest(manifest: Uint8Array, key: SigningKey): Uint8Array {
  return Buffer.concat([Buffer.from(key.signer, 'base64url'), key.sign(manifest), manifest]);
}

/** Checks the signature of bytes that may come from anywhere. The caller decides whether it trusts the signer. */
export function openSignedManifest(bytes: Uint8Array): SignedManifest {
  const parts = partsOf(bytes);
  return opened(parts, isValid(parts));
}

/** The same in Node and in pages, which check signatures only asynchronously. */
export async function openSignedManifestAnywhere(bytes: Uint8Array): Promise<SignedManifest> {
  const { process } = globalThis as { process?: Partial<NodeJS.Process> };
  if (process?.getBuiltinModule) return openSignedManifest(bytes);
  const parts = partsOf(bytes);
  return opened(parts, await isValidInPage(parts));
}

interface SignedParts {
  readonly point: Uint8Array;
  readonly signature: Uint8Array;
  readonly manifest: Uint8Array;
}

const partsOf = (bytes: Uint8Array): SignedParts => ({
  point: bytes.slice(0, KEY_BYTES),
  signature: bytes.slice(KEY_BYTES, KEY_BYTES + SIGNATURE_BYTES),
  manifest: bytes.slice(KEY_BYTES + SIGNATURE_BYTES),
});

function opened({ point, manifest }: SignedParts, valid: boolean): SignedManifest {
  if (manifest.length > 0 && valid) return { manifest: new Uint8Array(manifest), signer: base64Url(point) };
  throw new MillraceError({
    code: 'input-format',
    message: 'the signature of the job is not valid',
    asked: 'to run a job of the fleet',
    advice: 'submit the job again: it was changed on its way',
  });
}

function isValid({ point, signature, manifest }: SignedParts): boolean {
  const { createPublicKey, verify } = nodeCrypto();
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.concat([publicPrefix(), point]), format: 'der', type: 'spki' });
  } catch {
    return false; // not a point of the curve
  }
  return verify(null, signedBytes(manifest), key, signature);
}

async function isValidInPage({ point, signature, manifest }: SignedParts): Promise<boolean> {
  const { subtle } = crypto;
  try {
    const key = await subtle.importKey('raw', point, 'Ed25519', false, ['verify']);
    return await subtle.verify('Ed25519', key, signature, signedBytes(manifest));
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'DataError') return false; // not a point of the curve
    throw cause;
  }
}

/** Loaded by name, so that this file also works in a page. */
const nodeCrypto = (): typeof import('node:crypto') => process.getBuiltinModule('node:crypto');

/** What is signed: its purpose comes first, so that the signature is not valid for anything else that the key signs. */
function signedBytes(manifest: Uint8Array): Uint8Array<ArrayBuffer> {
  const purpose = new TextEncoder().encode('millrace manifest 1\n');
  const all = new Uint8Array(purpose.length + manifest.length);
  all.set(purpose);
  all.set(manifest, purpose.length);
  return all;
}

/** DER of a PKCS #8 private key up to its seed, and of an SPKI public key up to its point (RFC 8410). */
const privatePrefix = (): Uint8Array => fromHex('302e020100300506032b657004220420');
const publicPrefix = (): Uint8Array => fromHex('302a300506032b6570032100');

const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
