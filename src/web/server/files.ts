import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { MillraceError } from '../../kernel/error.js';
import { COMMON_HEADERS, contentPolicy, type PolicyAdditions } from './headers.js';

/** A page of the app: a file of the folder, and what it needs beyond the common rules. */
export interface PageOptions {
  /** `dashboard.html`; `NONCE` in its text becomes the nonce for styles. */
  readonly file: string;
  /** Texts of the file to replace. */
  readonly replace?: Readonly<Record<string, string>>;
  readonly policy?: PolicyAdditions;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The built files of the app: pages, scripts and styles. They hold no data of the user, so they need no token. */
export class Files {
  readonly #folder: string;
  readonly #names: ReadonlySet<string>;
  readonly #cache = new Map<string, BuiltFile>();
  readonly #connect: () => readonly string[];

  /** `connect` are addresses besides the server's own that pages and their threads may connect to. */
  constructor(folder: string, connect: () => readonly string[] = () => []) {
    this.#connect = connect;
    if (!existsSync(folder)) throw missingError(folder);
    this.#folder = folder;
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    this.#names = new Set(entries.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)));
  }

  /** Answers with a page. */
  page({ file, replace = {}, policy, headers }: PageOptions, response: ServerResponse): void {
    const nonce = randomBytes(16).toString('base64url');
    const text = this.#read(file).body.toString('utf8');
    const body = Object.entries({ ...replace, NONCE: nonce }).reduce(
      (all, [from, to]) => all.replaceAll(from, to),
      text,
    );
    response
      .writeHead(200, {
        ...COMMON_HEADERS,
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy': contentPolicy(nonce, { 'connect-src': this.#connect(), ...policy }),
        ...headers,
      })
      .end(body);
  }

  /** Answers with a script or a style; returns false if there is no such file. Pages are not served by their file's name. */
  file(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    const name = path.slice(1);
    const type = TYPES[extname(name)];
    if (type === undefined || !this.#names.has(name)) return false;
    const { body, zipped, tag } = this.#read(name);
    const isKnown = request.headers['if-none-match'] === tag;
    const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
    response.writeHead(isKnown ? 304 : 200, {
      ...COMMON_HEADERS,
      // A worker has the policy of its own response.
      'content-security-policy': [THREAD_POLICY, ...this.#connect()].join(' '),
      'cross-origin-embedder-policy': 'require-corp',
      'content-type': type,
      'cache-control': 'no-cache',
      etag: tag,
      vary: 'accept-encoding',
      ...(isZipped && !isKnown && { 'content-encoding': 'gzip' }),
    });
    response.end(isKnown || request.method === 'HEAD' ? undefined : isZipped ? zipped : body);
    return true;
  }

  #read(name: string): BuiltFile {
    const known = this.#cache.get(name);
    if (known) return known;
    const body = readFileSync(join(this.#folder, name));
    const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    const file = { body, zipped: gzipSync(body), tag };
    this.#cache.set(name, file);
    return file;
  }
}

interface BuiltFile {
  readonly body: Buffer;
  readonly zipped: Buffer;
  readonly tag: string;
}

const THREAD_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

const missingError = (folder: string): MillraceError =>
  new MillraceError({
    code: 'io',
    message: `the files of the page are missing: ${folder}`,
    asked: 'a page',
    advice: 'build them: npm run build',
  });
