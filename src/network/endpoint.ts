import { MillraceError } from '../kernel/error.js';

/** A server's address, with its credentials. */
export interface Endpoint {
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** What follows the port; may be empty. */
  readonly path: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** For display: without credentials. */
  readonly name: string;
}

/** Accepted schemes: whether each is encrypted, and its default port. */
export type Schemes = Readonly<Record<string, { readonly isTls: boolean; readonly port?: number }>>;

export const LINE_SCHEMES: Schemes = {
  'stratum+tcp': { isTls: false, port: 3333 },
  'stratum+ssl': { isTls: true, port: 3334 },
  'stratum+tls': { isTls: true, port: 3334 },
};

export const HTTP_SCHEMES: Schemes = {
  http: { isTls: false, port: 80 },
  https: { isTls: true, port: 443 },
};

/**
 * Parses `stratum+tcp://name:password@host:port`; the default scheme is the first accepted one. Errors do not contain
 * credentials.
 */
export function parseEndpoint(text: string, schemes: Schemes): Endpoint {
  const known = Object.keys(schemes);
  const [defaultScheme = ''] = known;
  const trimmed = text.trim();
  const [, scheme = defaultScheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(trimmed) ?? [];
  const rest = trimmed.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '');
  const kind = Object.hasOwn(schemes, scheme.toLowerCase()) ? schemes[scheme.toLowerCase()] : undefined;
  if (kind === undefined) throw unknownScheme(scheme, known);
  // The standard parser, with a scheme that it knows to have a host.
  const url = URL.canParse(`http://${rest}`) ? new URL(`http://${rest}`) : undefined;
  const [, digits] = /^(?:[^@/]*@)?(?:\[[^\]]*\]|[^:/[\]]*)(?::(\d+))?(?:[/?#]|$)/.exec(rest) ?? [];
  const port = digits === undefined ? kind.port : Number(digits);
  if (!url || url.hostname === '' || port === undefined || port < 1 || port > 65_535) {
    throw new MillraceError({
      code: 'usage',
      message: 'not a server address: expected a host and a port from 1 to 65535',
      asked: `${scheme}://${withoutCredentials(rest)}`,
      advice: `write ${defaultScheme}://HOST:PORT`,
    });
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const path = `${url.pathname === '/' ? '' : url.pathname}${url.search}`;
  return {
    scheme: scheme.toLowerCase(),
    host,
    port,
    isTls: kind.isTls,
    path,
    user: decoded(url.username),
    password: decoded(url.password),
    name: `${scheme.toLowerCase()}://${host.includes(':') ? `[${host}]` : host}:${port}`,
  };
}

const withoutCredentials = (text: string): string => text.replace(/^[^/]*@/, '');

function decoded(text: string): string | undefined {
  if (text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % is a character of the password
  }
}

function unknownScheme(scheme: string, known: readonly string[]): MillraceError {
  // Binary frames over a Noise handshake: an entirely different protocol.
  const isSecond = /^(stratum2|sv2|stratumv2)\b/i.test(scheme);
  return new MillraceError({
    code: 'usage',
    message: isSecond ? 'Stratum V2 is not supported' : `unknown scheme ${scheme}://`,
    asked: `${scheme}://…`,
    advice: isSecond
      ? 'give the Stratum V1 address of the pool (stratum+tcp:// or stratum+ssl://), or run a translating proxy'
      : `begin the address with ${known.map((name) => `${name}://`).join(', ')}`,
  });
}
