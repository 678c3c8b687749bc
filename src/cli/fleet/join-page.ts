import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FleetHost, FleetHostOptions } from '../../fleet/coordinator/index.js';
import { fleetFolder } from '../../fleet/local.js';
import { MillraceError } from '../../kernel/error.js';
import type { WebServer } from '../../web/server/server.js';
import type { ServeOptions } from './serve.js';

type ServerPlace = FleetHostOptions['server'];

/** The page of `fleet serve --browsers`, which works for the fleet. */
export interface JoinPage {
  /** The server of the fleet, to which the page may connect. */
  readonly place: ServerPlace;
  /** Tells the page which fleet it belongs to. */
  serves(fleet: FleetHost): void;
  close(): Promise<void>;
}

/** Opens the page before the fleet's server, which has to know where pages come from. */
export async function openJoinPage(given: ServeOptions, place: ServerPlace): Promise<JoinPage> {
  const { browsers, about, advertise, tlsCert, tlsKey, dataDir } = given;
  if (browsers === undefined || place?.kind !== 'private')
    return { place, serves: () => undefined, close: async () => undefined };
  const { startJoinServer } = await import('../../web/join/server.js');
  let fleet: FleetHost | undefined;
  const page = await whereItWas(dataDir, browsers.port, (port) =>
    startJoinServer({
      address: { host: browsers.host, port },
      about,
      advertise: place.listen && advertise,
      tls: tlsCert === undefined || tlsKey === undefined ? undefined : { certificate: tlsCert, key: tlsKey },
      connect: () => (fleet?.browsers ? [fleet.browsers.url] : []),
    }),
  );
  const { listen = { host: browsers.host, port: 0 }, origins = [] } = place.websocket ?? {};
  return {
    place: {
      ...place,
      websocket: { listen, origins: [new URL(page.page).origin, ...origins], page: page.page },
    },
    serves: (host) => {
      fleet = host;
    },
    close: () => page.close(),
  };
}

/** Takes the port that the page had before, where links lead, unless another program has it now. */
async function whereItWas(
  dataDir: string,
  port: number,
  start: (port: number) => Promise<WebServer>,
): Promise<WebServer> {
  if (port > 0) return start(port);
  const folder = fleetFolder(dataDir);
  const file = join(folder, 'page-port');
  const before = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  const server = await start(before).catch((error: unknown) => {
    if (before === 0 || !(error instanceof MillraceError)) throw error;
    return start(0);
  });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(file, String(server.port), { mode: 0o600 });
  return server;
}
