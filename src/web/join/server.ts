import type { Address } from '../../console/telemetry/options.js';
import { startWebServer, type WebServer, type WebServerOptions } from '../server/server.js';

export interface JoinServerOptions extends Pick<WebServerOptions, 'tls' | 'advertise'> {
  readonly address: Address;
  /** For whom and for what people work, in the words of the person who runs the coordinator. */
  readonly about?: string | undefined;
  /** Where pages connect: `ws://127.0.0.1:40214`. */
  readonly connect: () => readonly string[];
}

/** Serves the page that works for a fleet. It holds no data: what it needs is in the fragment of a link. */
export function startJoinServer({ about = '', ...options }: JoinServerOptions): Promise<WebServer> {
  return startWebServer({
    ...options,
    pages: {
      '/': {
        file: 'join.html',
        replace: { ABOUT: escaped(about) },
        policy: { 'script-src': ["'wasm-unsafe-eval'"], 'worker-src': ["'self'"] },
        // WebAssembly needs threads with shared memory, which a page has only with this header (docs/browser.md).
        headers: { 'cross-origin-embedder-policy': 'require-corp' },
      },
    },
    routes: [],
    asked: '--browsers',
  });
}

/** Text as the value of an attribute. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
