import { type ChildProcess, execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { whyNoFleet } from '../../../test/fleet/fleet.js';
import { ownTls } from '../access/index.js';
import { hasKnownHoles } from './listening.js';
import { PrivateServer, type PrivateServerOptions } from './server.js';
import { configText } from './server-config.js';

const absent = whyNoFleet();
const folder = mkdtempSync(join(tmpdir(), 'millrace-server-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach((ctx) => {
  if (absent !== undefined) ctx.skip(absent);
});

const optionsOf = (name: string, accounts: readonly string[] = []): PrivateServerOptions => ({
  folder: join(folder, name),
  accounts: () => accounts,
  warn: () => undefined,
});

/** A server whose coordinator has been killed. */
async function leaveBehind(options: PrivateServerOptions): Promise<{ child: ChildProcess; port: number }> {
  const ports = join(options.folder, 'ports');
  const config = join(options.folder, 'server.conf');
  mkdirSync(ports, { recursive: true });
  writeFileSync(config, configText(options, -1));
  const child = execFile('nats-server', ['-c', config], { env: { PATH: `${process.env.PATH}:/usr/sbin` } });
  const file = join(ports, `nats-server_${child.pid}.ports`);
  await expect.poll(() => (existsSync(file) ? readFileSync(file, 'utf8') : '')).toMatch(/\}/);
  const { nats } = JSON.parse(readFileSync(file, 'utf8')) as { nats: string[] };
  return { child, port: Number(new URL(nats[0]!).port) };
}

const endOf = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => child.once('exit', resolve));

describe('a server that a killed coordinator has left behind', () => {
  test('is taken over, with the port that workers know, and stopped', async () => {
    const options = optionsOf('kept');
    const { child, port } = await leaveBehind(options);
    const ended = endOf(child);
    const server = await PrivateServer.start(options);
    expect(server.url).toBe(`nats://127.0.0.1:${port}`);
    await server.stop();
    await ended;
  });

  test('is replaced if it was started with other settings', async () => {
    const options = optionsOf('replaced');
    const { child } = await leaveBehind(options);
    const ended = endOf(child);
    const server = await PrivateServer.start({ ...options, accounts: () => ['max_connections: 50'] });
    await ended;
    const [name] = readdirSync(join(options.folder, 'ports'));
    expect(name).not.toBe(`nats-server_${child.pid}.ports`);
    await server.stop();
  });
});

test('a server whose port is taken reports what nats-server said', async () => {
  const other = await new Promise<Server>((resolve) => {
    const listening = createServer().listen(0, '127.0.0.1', () => resolve(listening));
  });
  try {
    const { port } = other.address() as { port: number };
    const started = PrivateServer.start({ ...optionsOf('taken'), listen: { host: '127.0.0.1', port } });
    await expect(started).rejects.toMatchObject({
      code: 'io',
      message: expect.stringMatching(/nats-server could not be started: it ended with status 1: .*in use/s),
    });
  } finally {
    other.close();
  }
});

describe('a server that other machines could reach', () => {
  // An address of documentation: nothing listens there if the check should fail to refuse it.
  const listen = { host: '192.0.2.1', port: 0 };

  test('needs TLS', async () => {
    await expect(PrivateServer.start({ ...optionsOf('plain'), listen })).rejects.toThrow(/192\.0\.2\.1 without TLS/);
  });

  test('is of a version without known holes', async () => {
    const { stdout } = spawnSync('nats-server', ['--version'], { env: { PATH: `${process.env.PATH}:/usr/sbin` } });
    const version = /v([\d.]+)/.exec(String(stdout))?.[1] ?? '';
    const tls = ownTls(join(folder, 'tls'), 'f', [listen.host]);
    const started = PrivateServer.start({ ...optionsOf('remote'), listen, tls });
    await expect(started).rejects.toThrow(
      hasKnownHoles(version) ? `nats-server ${version} has known security holes` : /nats-server/,
    );
  });
});
