import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';

/**
 * Decides which requests are answered. A page proves that its user has the address that the program printed: the token is
 * in the address's fragment, which browsers do not send, and is exchanged for a cookie that scripts cannot read.
 */
export class Guard {
  readonly token: string;
  readonly #digest: Buffer;
  readonly #names: ReadonlySet<string>;
  readonly #scheme: string;

  /** `names` are those of the host on which the server listens, as the user wrote them. */
  constructor(names: string | readonly string[], token: string = newToken(), scheme: 'http' | 'https' = 'http') {
    this.#scheme = scheme;
    this.token = token;
    this.#digest = digest(token);
    this.#names = new Set(['localhost', hostname(), ...[names].flat()].map((name) => name.toLowerCase()));
  }

  isToken(given: string): boolean {
    return timingSafeEqual(digest(given), this.#digest);
  }

  /** `Set-Cookie` for a page that has the token. Cookies are shared by all ports of a host, so the name has the port. */
  cookie(port: number): string {
    return `${cookieName(port)}=${this.token}; HttpOnly; SameSite=Strict; Path=/`;
  }

  hasCookie({ cookie = '' }: IncomingHttpHeaders, port: number): boolean {
    const prefix = `${cookieName(port)}=`;
    const values = cookie.split(';').map((part) => part.trim());
    return values.some((part) => part.startsWith(prefix) && this.isToken(part.slice(prefix.length)));
  }

  /**
   * Returns the fault of a request's addresses, undefined if there is none.
   *
   * - A site may point its own name at this machine (DNS rebinding) and would then share the origin of its page with this
   *   server. Its name is in `Host`: only addresses, this machine's name and the name that the user asked for are answered.
   * - A foreign page may send requests, and its `Origin` is foreign. A request that changes something must have one.
   */
  refuse(method: string, headers: IncomingHttpHeaders, port: number): Refusal | undefined {
    const host = headers.host ?? '';
    const { name, port: named } = splitHost(host, this.#scheme === 'http' ? 80 : 443);
    const isKnown = isIP(name) !== 0 || this.#names.has(name.toLowerCase());
    if (!isKnown || named !== port) return { status: 421, message: 'this server does not answer to that host name' };
    const { origin, 'sec-fetch-site': site } = headers;
    const isForeign = origin === undefined ? !isRead(method) : origin !== `${this.#scheme}://${host}`;
    // A user may follow a link to the page or type its address; other pages may not load its parts.
    const isCrossSite = site !== undefined && site !== 'same-origin' && site !== 'none';
    const isNavigation = headers['sec-fetch-mode'] === 'navigate' && isRead(method);
    if (isForeign || (isCrossSite && !isNavigation)) return { status: 403, message: 'request of another site' };
    return undefined;
  }
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
}

/** 256 random bits. */
export const newToken = (): string => randomBytes(32).toString('base64url');

const cookieName = (port: number): string => `millrace-${port}`;
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** Splits `127.0.0.1:80`, `[::1]:80`, `name`; a port that is missing is the scheme's own. */
function splitHost(host: string, own: number): { readonly name: string; readonly port: number } {
  const [, bracketed, plain = '', digits = own] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(host) ?? [];
  return { name: bracketed ?? plain, port: Number(digits) };
}
