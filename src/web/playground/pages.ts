import type { PageOptions } from '../server/files.js';

/** WebAssembly needs threads with shared memory, which a page has only with this header (docs/browser.md). */
const isolation = { 'cross-origin-embedder-policy': 'require-corp' };

/**
 * The pages of the playground by path; `path` is that of the page itself. With the path of a dashboard of the same server the
 * page has a link to it, and only the devices of the browser.
 */
export const playgroundPages = (path: string, dashboard?: string): Readonly<Record<string, PageOptions>> => ({
  [path]: {
    file: 'playground.html',
    ...(dashboard !== undefined && { replace: { 'data-server': `data-dashboard="${dashboard}"` } }),
    policy: { 'script-src': ["'wasm-unsafe-eval'"], 'worker-src': ["'self'"], 'frame-src': ["'self'"] },
    headers: isolation,
  },
  // The rest of its policy is in the file, so that it holds on any server.
  '/frame.html': {
    file: 'frame.html',
    headers: { ...isolation, 'content-security-policy': "sandbox allow-scripts; frame-ancestors 'self'" },
  },
});
