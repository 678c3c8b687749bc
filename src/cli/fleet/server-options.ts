import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { valueOption } from '../../console/options/options.js';
import { type Address, parseAddress } from '../../console/telemetry/options.js';
import { givenTls, readCa } from '../../fleet/access/index.js';
import type { FleetHostOptions } from '../../fleet/coordinator/index.js';
import { isLoopback, parseListenAddress } from '../../fleet/nats/index.js';
import { MillraceError } from '../../kernel/error.js';

/** Options of `fleet serve` that say which server it uses. */
export interface ServerOptions {
  readonly nats?: string;
  readonly tokenFile?: string;
  readonly replicas?: number;
  readonly listen?: string;
  readonly advertise?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsCa?: string;
  readonly websocket?: string;
  readonly origins?: string;
  /** Where the page for browsers is served. */
  readonly browsers?: Address;
  readonly about?: string;
}

export const withServerOptions = (command: Command): Command =>
  command
    .addOption(valueOption('--nats <url>', 'NATS server with JetStream (default: a private nats-server is started)'))
    .addOption(valueOption('--token-file <file>', 'file with the token of the server given by --nats'))
    .addOption(
      valueOption('--replicas <n>', "copies of the fleet's streams in a cluster given by --nats (1, 3, 5)").argParser(
        parseReplicas,
      ),
    )
    .addOption(valueOption('--listen <host:port>', 'where the private server listens, with TLS (default: 127.0.0.1)'))
    .addOption(valueOption('--advertise <host>', 'name or address by which other machines reach the private server'))
    .addOption(valueOption('--tls-cert <file>', "certificate of the private server (default: the fleet's own)"))
    .addOption(valueOption('--tls-key <file>', 'key of --tls-cert'))
    .addOption(valueOption('--tls-ca <file>', 'certificate of the authority that has signed that of the server'))
    .addOption(
      valueOption(
        '--browsers [host:port]',
        'serve a page with which browsers work for the fleet (default: 127.0.0.1, any port)',
      )
        .preset('0')
        .argParser(parseAddress),
    )
    .addOption(valueOption('--about <text>', 'what that page says: for whom and for what people work'))
    .addOption(valueOption('--websocket <host:port>', 'where browsers connect to the private server'))
    .addOption(valueOption('--origins <list>', 'origins of pages that may connect, as in https://fleet.example'));

/** Returns the server that the options ask for. Throws `usage` if they do not go together. */
export function serverOf(given: ServerOptions): FleetHostOptions['server'] {
  const { nats, tokenFile, replicas, listen, advertise, tlsCert, tlsKey, tlsCa, websocket, origins, browsers, about } =
    given;
  const pageAddress = browsers && `${browsers.host}:${browsers.port}`;
  if (browsers === undefined) refuse({ about }, 'needs --browsers');
  if (nats !== undefined) {
    refuse(
      { listen, advertise, 'tls-cert': tlsCert, 'tls-key': tlsKey, websocket, origins, browsers: pageAddress },
      'is for a private server',
    );
    const token = tokenFile === undefined ? undefined : readFileSync(tokenFile, 'utf8').trim();
    const ca = tlsCa === undefined ? undefined : readCa(tlsCa);
    return { kind: 'given', url: urlOf(nats), token, ca, replicas };
  }
  refuse({ 'token-file': tokenFile, replicas: replicas?.toString() }, 'needs --nats');
  if (listen === undefined) {
    refuse(
      { advertise, 'tls-cert': tlsCert, 'tls-key': tlsKey, 'tls-ca': tlsCa, websocket, origins },
      'needs --listen',
    );
    if (browsers === undefined) return undefined;
    if (!isLoopback(browsers.host))
      throw wrong(`--browsers ${pageAddress}, which other machines can reach, needs --listen and --tls-cert`);
    return { kind: 'private' };
  }
  // Browsers know no authority of the fleet's own.
  if (browsers !== undefined && tlsCert === undefined) throw wrong('--browsers with --listen needs --tls-cert');
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw wrong('--tls-cert and --tls-key need each other');
  if (tlsCert === undefined) refuse({ 'tls-ca': tlsCa }, 'needs --tls-cert');
  return {
    kind: 'private',
    listen: parseListenAddress(listen),
    advertise,
    tls: tlsCert === undefined || tlsKey === undefined ? undefined : givenTls(tlsCert, tlsKey, tlsCa),
    websocket:
      websocket === undefined
        ? undefined
        : { listen: parseListenAddress(websocket), origins: origins?.split(',').map((one) => one.trim()) ?? [] },
  };
}

/** Streams have an odd number of copies: more than half of them have to agree. */
function parseReplicas(text: string): number {
  if (['1', '3', '5'].includes(text)) return Number(text);
  throw new InvalidArgumentError('Expected 1, 3 or 5.');
}

function urlOf(text: string): string {
  if (/^(nats|tls):$/.test(URL.canParse(text) ? new URL(text).protocol : '')) return text;
  throw wrong(
    `${JSON.stringify(text)} is not the address of a NATS server: expected nats://HOST:PORT or tls://HOST:PORT`,
  );
}

function refuse(options: Readonly<Record<string, string | undefined>>, why: string): void {
  for (const [name, value] of Object.entries(options)) if (value !== undefined) throw wrong(`--${name} ${why}`);
}

const wrong = (message: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message,
    asked: '`millrace fleet serve`',
    advice: 'see `millrace fleet serve --help`',
  });
