/** Additions to the Content-Security-Policy of a page: sources by directive, as in `{ 'script-src': ["'wasm-unsafe-eval'"] }`. */
export type PolicyAdditions = Readonly<Record<string, readonly string[]>>;

/**
 * Returns the Content-Security-Policy of a page: nothing from other hosts, no inline script, and inline styles only with
 * the nonce.
 */
export function contentPolicy(nonce: string, additions: PolicyAdditions = {}): string {
  const base: Readonly<Record<string, readonly string[]>> = {
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'self'", `'nonce-${nonce}'`],
    'img-src': ["'self'", 'data:'],
    'connect-src': ["'self'"],
    'base-uri': ["'none'"],
    'form-action': ["'none'"],
    'frame-ancestors': ["'none'"],
  };
  const names = [...new Set([...Object.keys(base), ...Object.keys(additions)])];
  return names.map((name) => [name, ...(base[name] ?? []), ...(additions[name] ?? [])].join(' ')).join('; ');
}

/** Headers of every response. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};
