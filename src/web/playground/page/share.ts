/**
 * Code in the fragment of an address, which browsers do not send to the server: `#code=1.` and the compressed text in
 * base64 for URLs. The number is the version of the form.
 */
const PREFIX = 'code=1.';
/** Characters of code; a short fragment can stand for a very long text. */
export const MAX_CODE = 100_000;

export async function encodeShare(code: string): Promise<string> {
  const packed = await collect(new Blob([code]).stream().pipeThrough(new CompressionStream('deflate-raw')));
  const text = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(''));
  return PREFIX + text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Returns the code of a fragment, with or without `#`; undefined if it has none. Throws if it is damaged or too long. */
export async function decodeShare(fragment: string): Promise<string | undefined> {
  const text = fragment.replace(/^#/, '');
  if (!text.startsWith(PREFIX)) return undefined;
  const packed = unpack(text.slice(PREFIX.length));
  try {
    const code = await collect(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw')));
    return new TextDecoder('utf-8', { fatal: true }).decode(code);
  } catch (cause) {
    if (cause instanceof RangeError) throw cause;
    throw damaged(cause);
  }
}

function unpack(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[\w-]*$/.test(text)) throw damaged();
  try {
    const bytes = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0));
  } catch (cause) {
    throw damaged(cause);
  }
}

const damaged = (cause?: unknown): Error =>
  new Error('the code in the address is damaged: copy the whole link', { cause });

async function collect(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MAX_CODE) {
      await reader.cancel();
      throw new RangeError(`the code has more than ${MAX_CODE} characters`);
    }
    parts.push(value);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
