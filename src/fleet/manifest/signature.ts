import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { MillraceError } from '../../kernel/error.js';

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
/** Precedes the manifest under a signature, so that it is not valid for anything else that the key signs. */
const PURPOSE = Buffer.from('millrace manifest 1\n');
/** DER of a PKCS #8 private key up to its seed, and of an SPKI public key up to its point (RFC 8410). */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Returns the key of a 32-byte seed. Without a seed the key is new. */
export function signingKey(seed: Uint8Array = randomBytes(KEY_BYTES)): SigningKey {
  if (seed.length !== KEY_BYTES) throw new RangeError(`a seed has ${KEY_BYTES} bytes, not ${seed.length}`);
  const key = createPrivateKey({ key: Buffer.concat([PRIVATE_PREFIX, seed]), format: 'der', type: 'pkcs8' });
  const point = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(PUBLIC_PREFIX.length);
  return { signer: point.toString('base64url'), sign: (manifest) => sign(null, signedBytes(manifest), key) };
}

/** Returns a manifest with its signature: the signer's key, the signature, the manifest. */
export function signManifest(manifest: Uint8Array, key: SigningKey): Uint8Array {
  return Buffer.concat([Buffer.from(key.signer, 'base64url'), key.sign(manifest), manifest]);
}

/** Checks the signature of bytes that may come from anywhere. The caller decides whether it trusts the signer. */
export function openSignedManifest(bytes: Uint8Array): SignedManifest {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const point = all.subarray(0, KEY_BYTES);
  const signature = all.subarray(KEY_BYTES, KEY_BYTES + SIGNATURE_BYTES);
  const manifest = all.subarray(KEY_BYTES + SIGNATURE_BYTES);
  if (manifest.length === 0 || !isValid(point, signature, manifest)) {
    throw new MillraceError({
      code: 'input-format',
      message: 'the signature of the job is not valid',
      asked: 'to run a job of the fleet',
      advice: 'submit the job again: it was changed on its way',
    });
  }
  return { manifest: new Uint8Array(manifest), signer: point.toString('base64url') };
}

function isValid(point: Buffer, signature: Buffer, manifest: Uint8Array): boolean {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, point]), format: 'der', type: 'spki' });
  } catch {
    return false; // not a point of the curve
  }
  return verify(null, signedBytes(manifest), key, signature);
}

const signedBytes = (manifest: Uint8Array): Buffer => Buffer.concat([PURPOSE, manifest]);
