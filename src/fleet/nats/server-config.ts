import { join } from 'node:path';
import type { ListenAddress } from './listening.js';

/** What a private server is started with. */
export interface ServerSettings {
  readonly folder: string;
  /** Lines of its configuration that say who may connect, at each start. */
  readonly accounts: () => readonly string[];
  /** Default: a free port of 127.0.0.1. */
  readonly listen?: ListenAddress | undefined;
  /** The files of its certificate and key. Other machines cannot connect without TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
  /** Where browsers connect, and the origins of pages that may. Without origins: pages of the same host and port. */
  readonly websocket?: { readonly listen: ListenAddress; readonly origins: readonly string[] } | undefined;
}

export const LOOPBACK: ListenAddress = { host: '127.0.0.1', port: 0 };

/** The configuration of a private server. */
export function configText(options: ServerSettings, port: number, websocketPort = 0): string {
  const { folder, accounts, listen = LOOPBACK, tls } = options;
  return [
    `host: ${JSON.stringify(listen.host)}`,
    `port: ${port}`,
    ...tlsLines(tls),
    ...websocketLines(options, websocketPort),
    `ports_file_dir: ${JSON.stringify(join(folder, 'ports'))}`,
    // Seconds: a client on a busy machine may take longer than the 2 s that are the default.
    'authorization { timeout: 10 }',
    ...accounts(),
    `jetstream { store_dir: ${JSON.stringify(join(folder, 'store'))} }`,
    'max_payload: 1MB',
    // What waits for a connection that does not read. The server then ends it.
    'max_pending: 32MB',
    '',
  ].join('\n');
}

const tlsLines = (tls: ServerSettings['tls']): string[] =>
  tls === undefined
    ? []
    : [`tls { cert_file: ${JSON.stringify(tls.certificate)}, key_file: ${JSON.stringify(tls.key)}, timeout: 10 }`];

/** A page of another origin has no key, but it could use up connections. */
function websocketLines({ websocket, tls }: ServerSettings, port: number): string[] {
  if (websocket === undefined) return [];
  const { listen, origins } = websocket;
  const allowed = origins.length > 0 ? `allowed_origins: ${JSON.stringify(origins)}` : 'same_origin: true';
  return [
    'websocket {',
    `host: ${JSON.stringify(listen.host)}`,
    `port: ${listen.port || port || -1}`,
    allowed,
    ...(tls ? tlsLines(tls) : ['no_tls: true']),
    '}',
  ];
}

/** A configuration without its port, and without claims, which are signed again at each start. */
export const settingsOf = (config: string): string => config.replace(/^(port|resolver_preload|operator): .*$/gm, '');
