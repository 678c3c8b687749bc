import { evaluate } from './evaluate.js';

export * from '../../../kernel/index.js';
export { roundConstants } from '../../../kernel/std/hash/sha256.js';
/**
 * The thread of the user's code: a worker inside a frame of an opaque origin, whose policy permits no request. It is the
 * module `millrace` for that code, evaluates one text, and is ended by the page.
 */
export { compressBytes } from '../../../kernel/std/hash/sha256-bytes.js';

interface Port {
  onmessage: ((event: { data: unknown }) => void) | null;
  postMessage(message: unknown): void;
}

interface ThreadScope {
  onmessage: unknown;
  readonly console: Record<string, (...values: unknown[]) => void>;
  readonly URL: { createObjectURL(blob: object): string };
  readonly Blob: new (parts: string[], options: object) => object;
}

const scope = globalThis as unknown as ThreadScope;

/** Waits for the user's code on a port. The first message on it is this module's own URL. */
export function begin(port: Port): void {
  scope.onmessage = null;
  const log = collectLog();
  port.onmessage = async ({ data }) => {
    port.onmessage = null;
    const url = scope.URL.createObjectURL(new scope.Blob([String(data)], { type: 'text/javascript' }));
    const evaluation = await evaluate(url, () => import(url), log);
    try {
      port.postMessage({ evaluation });
    } catch (error) {
      // A value that cannot be copied: a function among the job's values, for example.
      port.postMessage({ evaluation: { fault: { message: String(error) }, log } });
    }
  };
  // The code imports this module, of which only one copy may exist.
  port.postMessage({ url: import.meta.url });
}

/** Keeps what the code prints to the console. */
function collectLog(): string[] {
  const lines: string[] = [];
  for (const name of ['log', 'info', 'warn', 'error', 'debug'])
    scope.console[name] = (...values) => {
      if (lines.length < MAX_LINES) lines.push(values.map(String).join(' ').slice(0, MAX_LINE));
    };
  return lines;
}

const MAX_LINES = 200;
const MAX_LINE = 1000;
