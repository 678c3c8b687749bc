import { whyNotInstalled } from '../packages.js';
import { api } from './api.js';

/** Returns the features of this engine; or why the device is unavailable. wabt assembles the kernels. */
export function engineFeatures(): { readonly simd: boolean } | { readonly reason: string } {
  if (api === undefined) return { reason: 'WebAssembly is not available' };
  if (typeof SharedArrayBuffer === 'undefined') {
    return {
      reason:
        'SharedArrayBuffer is not available: a page needs the headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp',
    };
  }
  if (!api.validate(testModule(0xfe, 0x10, 2, 0, 0x1a)))
    return { reason: 'this engine does not support WebAssembly threads' };
  const reason = whyNotInstalled('wabt');
  return reason === undefined ? { simd: api.validate(testModule(0xfd, 0x0f, 0x1a)) } : { reason };
}

/**
 * The smallest module whose one function does `(drop (INSTRUCTION (i32.const 0)))`, over a shared memory: an atomic
 * load (fe 10) requires threads, a splat (fd 0f) SIMD.
 */
function testModule(...instruction: readonly number[]): Uint8Array<ArrayBuffer> {
  const body = [0, 0x41, 0, ...instruction, 0x0b];
  return Uint8Array.of(
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0], // "\0asm", version 1
    ...[1, 4, 1, 0x60, 0, 0], // a type: () -> ()
    ...[3, 2, 1, 0], // a function of that type
    ...[5, 4, 1, 3, 1, 1], // a shared memory of one page
    ...[10, body.length + 2, 1, body.length, ...body],
  );
}
