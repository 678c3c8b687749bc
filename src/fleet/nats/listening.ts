import { networkInterfaces } from 'node:os';
import { MillraceError } from '../../kernel/error.js';

/** An address to listen on. Port 0 is any that is free. */
export interface ListenAddress {
  /** Without the brackets of IPv6. */
  readonly host: string;
  readonly port: number;
}

/** Reads `HOST:PORT`, `[::]:PORT` or `HOST`. Throws `usage` if it is none. */
export function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain, port = '0'] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host !== undefined && Number(port) < 2 ** 16) return { host, port: Number(port) };
  throw new MillraceError({
    code: 'usage',
    message: `${JSON.stringify(text)} is not an address: expected HOST:PORT, as in 0.0.0.0:4222`,
    asked: `to listen on ${text}`,
  });
}

/** True if only programs of this machine can connect. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);

export const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** A host as it stands in a URL. */
export const urlHost = (host: string): string => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host);

/** The host by which this machine reaches a server of its own. */
export const ownHost = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** The addresses of this machine that others can reach; those of version 4 first. */
export const externalAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ internal, scopeid }) => !internal && !scopeid)
    .sort((a, b) => a.family.localeCompare(b.family))
    .map(({ address }) => address);

/**
 * Throws `usage` if a server of this version must not be reached from other machines: versions before 2.11.14, and of 2.12
 * before 2.12.5, have published holes, some of them open to everyone who can connect.
 */
export function checkVersion(version: string, host: string): void {
  if (isLoopback(host) || !hasKnownHoles(version)) return;
  throw new MillraceError({
    code: 'usage',
    message: `nats-server ${version} has known security holes, and other machines could connect to it`,
    asked: `a fleet at ${host}`,
    advice:
      'install version 2.11.14, 2.12.5 or later (https://nats.io/download), or listen on 127.0.0.1 behind a tunnel',
  });
}

/** A version that cannot be read, or is not a release, counts as one with holes. */
export function hasKnownHoles(version: string): boolean {
  const [, major, minor, patch] = (/^v?(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? []).map(Number);
  if (major === undefined || minor === undefined || patch === undefined) return true;
  if (major !== 2) return major < 2;
  return minor < 11 || (minor === 11 && patch < 14) || (minor === 12 && patch < 5);
}
