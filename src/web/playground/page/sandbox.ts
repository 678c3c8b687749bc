import type { CodeFault, Evaluation } from '../messages.js';
import { erase } from './erase.js';
import { LateError, withWatchdog } from './watchdog.js';

/**
 * Runs the user's code in a frame of its own: sandboxed, of an opaque origin, with a policy that permits no request. In the
 * frame each text gets a new worker, so that a loop without an end blocks neither the page nor the frame, and nothing that
 * one text did is left for the next.
 */
export class Sandbox {
  readonly #frame: HTMLIFrameElement;
  readonly #loaded: Promise<string>;
  #next: Promise<Thread> | undefined;

  /** `files` is the address of the folder of the app's files. */
  constructor(files: URL, parent: HTMLElement) {
    this.#frame = document.createElement('iframe');
    this.#frame.setAttribute('sandbox', 'allow-scripts');
    this.#frame.setAttribute('aria-hidden', 'true');
    this.#frame.title = 'the code runs here';
    this.#frame.hidden = true;
    const ready = new Promise<void>((resolve) => this.#frame.addEventListener('load', () => resolve(), { once: true }));
    this.#frame.src = new URL('frame.html', files).href;
    parent.append(this.#frame);
    this.#loaded = Promise.all([textOf(new URL('sandbox.js', files)), ready]).then(([text]) => text);
    // A failure is reported by the first evaluation.
    this.#loaded.catch(() => undefined);
  }

  /** Evaluates TypeScript. The thread ends with its answer, or when the limit has passed. */
  async evaluate(source: string, limitMs = LIMIT_MS): Promise<Evaluation> {
    const thread = await (this.#next ?? this.#start());
    this.#next = undefined;
    const erased = erase(source, { resolve: (name) => (MODULES.has(name) ? thread.url : undefined) });
    try {
      if ('error' in erased) return { fault: faultAt(source, erased.error), log: [] };
      return await withWatchdog(thread.evaluate(erased.code), limitMs, 'the code', () => thread.end());
    } catch (error) {
      if (!(error instanceof LateError)) throw error;
      return { fault: { message: `${error.message}: does it have a loop without an end?` }, log: [] };
    } finally {
      thread.end();
      // The next thread starts before it is needed.
      this.#next = this.#start();
      this.#next.catch(() => {
        this.#next = undefined;
      });
    }
  }

  async #start(): Promise<Thread> {
    const text = await this.#loaded;
    const { port1: port, port2: other } = new MessageChannel();
    const window = this.#frame.contentWindow;
    if (!window) throw new Error('the frame of the code has been removed');
    const id = crypto.randomUUID();
    const end = (): void => {
      port.close();
      window.postMessage({ end: id }, '*');
    };
    // The frame's origin is opaque, so no origin can be named; the message holds nothing but our own code.
    window.postMessage({ start: id, text }, '*', [other]);
    const { url } = await withWatchdog(received<{ url: string }>(port), START_MS, 'starting the thread', end);
    return {
      url: String(url),
      end,
      evaluate: async (code) => {
        const answer = received<{ evaluation: unknown }>(port);
        port.postMessage(code);
        return checked((await answer).evaluation);
      },
    };
  }
}

interface Thread {
  readonly url: string;
  evaluate(code: string): Promise<Evaluation>;
  end(): void;
}

const LIMIT_MS = 5000;
const START_MS = 20_000;
const MODULES = new Set(['millrace', 'millrace/kernel']);

function received<T>(port: MessagePort): Promise<T> {
  return new Promise((resolve) => {
    port.onmessage = ({ data }: MessageEvent<T>) => resolve(data);
  });
}

async function textOf(url: URL): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname} cannot be loaded (${response.status})`);
  return response.text();
}

/** The user's code may have answered in the place of ours. The form is checked here, the content where it is used. */
function checked(value: unknown): Evaluation {
  const { task, fault, log } = Object(value) as { task?: unknown; fault?: unknown; log?: unknown };
  const lines = Array.isArray(log) ? log.map(String).slice(0, 200) : [];
  if (fault !== undefined) return { fault: checkedFault(fault), log: lines };
  const { kernel, job, chunk, buffers, start, length } = Object(task) as Record<string, unknown>;
  const isTask = kernel instanceof Uint8Array && typeof start === 'bigint' && typeof length === 'bigint';
  if (!isTask) return { fault: { message: 'the code gave no kernel' }, log: lines };
  const record = (fields: unknown): never => ({ ...Object(fields) }) as never;
  return {
    task: { kernel, job: record(job), chunk: record(chunk), buffers: record(buffers), start, length },
    log: lines,
  };
}

function checkedFault(value: unknown): CodeFault {
  const { message, row, column } = Object(value) as Record<string, unknown>;
  const isPlace = Number.isInteger(row) && Number.isInteger(column);
  return { message: String(message), ...(isPlace && { row: Number(row), column: Number(column) }) };
}

function faultAt(source: string, { message, at }: { readonly message: string; readonly at: number }): CodeFault {
  const before = source.slice(0, at).split('\n');
  return { message, row: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
