import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, jwtAuthenticator } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { FleetClient, FleetSearch } from '../src/fleet/client/index.js';
import { packKernelJob, signingKey } from '../src/fleet/manifest/index.js';
import { Bus, type Invite, parseInvite } from '../src/fleet/nats/index.js';
import { encodeMessage } from '../src/fleet/protocol/index.js';
import { when } from '../src/kernel/language/control.js';
import { items } from '../src/kernel/language/items.js';
import type { Kernel } from '../src/kernel/language/signature.js';
import { u32 } from '../src/kernel/language/types.js';
import { whyNoFleet } from './fleet/fleet.js';
import { FleetHere } from './fleet/here.js';
import { greeted, RawClient, upgrade } from './fleet/raw-client.js';
import { isShort, patience } from './tier.js';

/**
 * Attacks on a fleet with TLS on a real server. Each is refused, told, and costs the others nothing: meanwhile a worker does a
 * job, which ends with the right hits.
 */
const absent = whyNoFleet();
const LOOPBACK = { host: '127.0.0.1', port: 0 };
const ORIGIN = 'https://fleet.example';

describe.skipIf(isShort || absent !== undefined)('attacks', { timeout: patience(120_000) }, () => {
  let fleet: FleetHere;
  let admin: FleetClient;
  let step = 100;
  const clients: { close(): unknown }[] = [];

  beforeAll(async () => {
    const websocket = { listen: LOOPBACK, origins: [ORIGIN] };
    fleet = await FleetHere.start({ kind: 'private', listen: LOOPBACK, websocket });
    admin = await fleet.client();
    await fleet.join('honest', 'wasm');
  }, patience(60_000));

  afterAll(async () => {
    for (const client of clients) await client.close();
    await fleet?.close();
  });

  const subject = (...tokens: string[]) => ['millrace', fleet.host.invite.fleet, ...tokens].join('.');
  const told = (pattern: RegExp) => expect.poll(() => fleet.notes.find((note) => pattern.test(note))).toBeDefined();

  /** Makes a user. */
  const invited = async (name: string, role = 'worker', seconds = 600): Promise<Invite> =>
    parseInvite((await admin.invite(role, seconds, name)).line);

  /** Connects as a user with NATS's own client, which does whatever it is asked to. */
  const connected = async ({ url, ca, jwt, seed }: Invite) => {
    const connection = await connect({
      servers: url,
      authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)),
      tls: { ca: `-----BEGIN CERTIFICATE-----\n${ca}\n-----END CERTIFICATE-----\n` },
      reconnect: false,
    });
    clients.push(connection);
    const refused: string[] = [];
    const watch = async () => {
      for await (const status of connection.status()) if (status.type === 'error') refused.push(String(status.error));
    };
    void watch();
    return { connection, refused };
  };

  const squares = items('squares', { job: { step: u32 }, hit: { square: u32 } }, ({ index, job, emit }) =>
    when(index.lo.rem(job.step).eq(0), () => emit({ square: index.lo.mul(index.lo) })),
  ) as unknown as Kernel;
  const SPACE = 20_000;

  /** Runs a job while `attack` happens. */
  const whileWorking = async (attack: () => Promise<unknown>): Promise<void> => {
    const mine = ++step;
    const space = between(0n, BigInt(SPACE));
    const packed = packKernelJob({ kernel: squares, job: { step: mine }, buffers: {} }, space, 'all');
    const run = new FleetSearch(admin, packed, signingKey(), new AbortController().signal);
    const collect = async () => {
      const hits = [];
      for await (const hit of run) hits.push(hit);
      return hits;
    };
    const [hits] = await Promise.all([collect(), attack()]);
    const length = Math.ceil(SPACE / mine);
    expect(hits).toEqual(Array.from({ length }, (_, at) => ({ index: BigInt(at * mine), square: (at * mine) ** 2 })));
  };

  test('publishing to what is not its own: other workers, the coordinator’s words, the stream, the system', async () => {
    const { connection, refused } = await connected(await invited('mallory'));
    const subjects = [
      ...[subject('from', 'admin'), subject('result', 'admin'), subject('to', 'admin', 'honest'), subject('all')],
      ...[subject('call', 'admin', 'mallory'), subject('call', 'worker', 'admin'), subject('commit')],
      ...[subject('inbox', 'admin', 'x'), '$JS.API.STREAM.DELETE.x', '$SYS.REQ.SERVER.PING', 'anything'],
    ];
    await whileWorking(async () => {
      for (const one of subjects) connection.publish(one, 'x');
      await connection.flush();
      await expect.poll(() => refused.length).toBe(subjects.length);
    });
    expect(refused).toEqual(
      subjects.map((one) => expect.stringContaining(`Permissions Violation for Publish to "${one}"`)),
    );
  });

  test('reading what is not its own: other inboxes, other workers, results, everything', async () => {
    const { connection, refused } = await connected(await invited('eve'));
    const heard: string[] = [];
    const callback = (error: Error | null, { subject: at }: { subject: string }) => void (error ?? heard.push(at));
    const subjects = [
      ...['>', subject('>'), subject('inbox', '*', '>'), subject('inbox', 'admin', '>'), subject('to', 'admin', '*')],
      ...[subject('from', '*'), subject('result', '*'), subject('call', '*', '*'), '$SYS.>', '$JS.API.>', '_INBOX.>'],
    ];
    await whileWorking(async () => {
      for (const one of subjects) connection.subscribe(one, { callback });
      await connection.flush();
      await expect.poll(() => refused.length).toBe(subjects.length);
    });
    expect(refused).toEqual(subjects.map((one) => expect.stringContaining(`Subscription to "${one}"`)));
    expect(heard).toEqual([]);
  });

  test('speaking for another worker, and asking for answers where others listen', async () => {
    const { connection } = await connected(await invited('trudy'));
    const heard: string[] = [];
    const listener = await fleet.connect('listener');
    listener.subscribe('all', (bytes) => void heard.push(new TextDecoder().decode(bytes)));
    await listener.flush();
    await whileWorking(async () => {
      const leave = encodeMessage({ kind: 'leave', worker: 'admin.honest', reason: 'x' });
      connection.publish(subject('from', 'trudy'), leave);
      // What answers a call, and what confirms a stored result, would be sent there by those who may.
      for (const reply of [subject('all'), '$JS.API.STREAM.PURGE.x', subject('inbox', 'admin', 'x')]) {
        connection.publish(subject('call', 'worker', 'trudy'), '{"version":1,"call":"fetch","fields":{}}', { reply });
        connection.publish(subject('result', 'trudy'), 'x', { reply });
      }
      await connection.flush();
      await told(/^trudy: a message as admin.honest, which is not its worker/);
      expect([...fleet.host.service.core.workers.keys()]).toContain('admin.honest');
    });
    await listener.flush();
    expect(heard.filter((text) => !/^\{"kind":"(job|announce)"/.test(text))).toEqual([]);
  });

  test('calls that a role does not have', async () => {
    const asked = async (role: string, call: (client: FleetClient) => Promise<unknown>) => {
      const bus = await Bus.connect(await invited(`a-${role}-${++step}`, role), role);
      clients.push(bus);
      return call(new FleetClient(bus));
    };
    await expect(asked('viewer', (client) => client.control('0'.repeat(64), 'ended'))).rejects.toThrow(
      /may not control/,
    );
    await expect(asked('worker', (client) => client.overview())).rejects.toThrow(/may not overview/);
    await expect(asked('submitter', (client) => client.invite('worker', 60))).rejects.toThrow(/may not invite/);
    await expect(asked('worker', (client) => client.revoke('mallory'))).rejects.toThrow(/may not revoke/);
    expect(await asked('viewer', (client) => client.overview())).toMatchObject({
      server: fleet.host.bus.serverVersion,
    });
    const { connection, refused } = await connected(await invited('sub', 'submitter'));
    connection.publish(subject('from', 'sub'), 'x');
    connection.publish(subject('result', 'sub'), 'x');
    await connection.flush();
    await expect.poll(() => refused.length).toBe(2);
  });

  /** Another process publishes as fast as it can until the server ends its connection. */
  const flood = async (invite: Invite, to: string, text: string): Promise<void> => {
    const child = spawn(process.execPath, [fileURLToPath(new URL('fleet/flood.mjs', import.meta.url))], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    clients.push({ close: () => child.kill('SIGKILL') });
    child.stdin.end(JSON.stringify({ ...invite, subject: to, text }));
    await new Promise((resolve) => child.once('close', resolve));
  };

  test.each([
    ['from', 'worker'],
    ['result', 'worker'],
    ['call', 'viewer'],
  ])('a flood of %s ends with the user', async (kind, role) => {
    const name = `flood-${kind}`;
    const to = kind === 'call' ? subject('call', role, name) : subject(kind, name);
    const leave = { kind: 'leave', worker: `${name}.x`, reason: 'x'.repeat(200) } as const;
    const invite = await invited(name, role);
    await whileWorking(() => flood(invite, to, new TextDecoder().decode(encodeMessage(leave))));
    await expect(Bus.connect(invite, name)).rejects.toThrow(/does not accept the invite/);
    await told(new RegExp(`^${name} floods the fleet, and is revoked`));
  });

  test('100 MB in a message', async () => {
    const client = await RawClient.connect(await invited('big'));
    clients.push(client);
    await whileWorking(async () => {
      client.send(`PUB ${subject('from', 'big')} ${100 << 20}\r\n`);
      expect(await client.reads(/-ERR/)).toMatch(/Maximum Payload Violation/);
      const piece = Buffer.alloc(1 << 20, 'x');
      for (let at = 0; at < 100; at++) client.send(piece);
      await client.ended;
    });
  });

  test('frames that are none', async () => {
    const frames = [
      'NONSENSE\r\n',
      `PUB ${'x'.repeat(100_000)} 1\r\nx\r\n`,
      'PUB a -1\r\n',
      'SUB\r\n',
      'CONNECT {"verbose":\r\n',
      Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 197) % 256)),
    ];
    await whileWorking(async () => {
      for (const [at, frame] of frames.entries()) {
        const client = await RawClient.connect(await invited(`frames-${at}`));
        clients.push(client);
        client.send(frame);
        await client.ended;
      }
      const bodies = [
        '',
        '{',
        'null',
        '{"version":9}',
        '\u0000\u0001',
        '['.repeat(50_000),
        `{"version":1,"kind":"want"}`,
      ];
      const { connection } = await connected(await invited('bodies'));
      for (const body of bodies)
        for (const kind of ['from', 'result']) connection.publish(subject(kind, 'bodies'), body);
      await connection.flush();
      await told(/^bodies: not a message of the fleet/);
    });
  });

  test('invites that have expired or were revoked, and no invite', async () => {
    const old = await invited('old', 'worker', 8); // enough to connect on a busy machine
    const bus = await Bus.connect(old, 'old');
    clients.push(bus);
    expect((await bus.ended).message).toMatch(/the invite of old has expired/);
    await expect(Bus.connect(old, 'old')).rejects.toThrow(/the invite of old has expired \(20/);
    // The server counts in whole seconds and accepts the last one too.
    await expect.poll(() => Date.now() / 1000, { timeout: patience(30_000) }).toBeGreaterThan(Number(old.expires) + 1);
    const { expires: _, ...pretended } = old;
    await expect(Bus.connect(pretended, 'old')).rejects.toThrow(/does not accept the invite/);
    const gone = await invited('gone');
    const cut = await Bus.connect(gone, 'gone');
    clients.push(cut);
    await whileWorking(async () => {
      expect(await admin.revoke('gone')).toBeDefined();
      expect((await cut.ended).message).toMatch(/gone was revoked/);
    });
    await expect(Bus.connect(gone, 'gone')).rejects.toThrow(/does not accept the invite/);
    const stolen = { ...(await invited('jwt-only')), seed: gone.seed };
    await expect(Bus.connect(stolen, 'stolen')).rejects.toThrow(/does not accept the invite/);
    const anonymous = await RawClient.connect(gone, true);
    expect(anonymous.text).toMatch(/Authorization Violation/);
  });

  test('results of a revoked user that are still in the stream are not counted', async () => {
    const name = 'late';
    const late = await Bus.connect(await invited(name), name);
    clients.push(late);
    await admin.revoke(name);
    await late.ended;
    // It was put there before the revocation took effect; the coordinator looks at the user.
    const result = { kind: 'result', worker: `${name}.x`, number: 1, token: 'x', ranges: [], hits: [] } as const;
    const claim = { job: '0'.repeat(64), id: 'x', range: between(0n, 1n) };
    const before = fleet.notes.length;
    const { connection } = await connected({ ...fleet.host.invite, ...(await fleet.host.authority.coordinator()) });
    connection.publish(subject('result', name), encodeMessage({ ...result, claim }));
    await connection.flush();
    await whileWorking(async () => undefined);
    expect(fleet.notes.slice(before).filter((note) => note.includes(name))).toEqual([]);
  });

  test('a page of a foreign origin', async () => {
    const { ca = '' } = fleet.host.invite;
    const url = fleet.host.server?.websocketUrl ?? '';
    expect(url).toMatch(/^wss:/);
    await whileWorking(async () => {
      expect(await upgrade(url, 'https://evil.example', ca)).toBe(403);
      expect(await upgrade(url, 'http://fleet.example', ca)).toBe(403);
      expect(await upgrade(url, ORIGIN, ca)).toBe(101);
    });
  });

  test('no TLS, a server without it in between, and another authority', async () => {
    const invite = await invited('plain');
    const { socket, info } = await greeted(invite.url);
    expect(info.tls_required).toBe(true);
    let answer = '';
    socket.on('data', (bytes: Buffer) => {
      answer += bytes.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.write('CONNECT {"verbose":false}\r\nPING\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
    expect(answer).not.toMatch('PONG');
    // Somebody in between says that there is no TLS, and reads what the client sends.
    const received: string[] = [];
    const sockets: Socket[] = [];
    const between = createServer((one) => {
      sockets.push(one);
      one.write(`INFO {"server_id":"x","version":"2.12.5","proto":1,"max_payload":1048576,"nonce":"abcdefghijk"}\r\n`);
      one.on('data', (bytes) => void received.push(bytes.toString('latin1')));
      one.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
    const { port } = between.address() as { port: number };
    await expect(Bus.connect({ ...invite, url: `tls://127.0.0.1:${port}` }, 'x')).rejects.toThrow(/'tls'/);
    expect(received).toEqual([]);
    for (const one of sockets) one.destroy();
    between.close();
    const other = await FleetHere.start({ kind: 'private', listen: LOOPBACK });
    const { ca = '' } = other.host.invite;
    await other.close();
    await expect(Bus.connect({ ...invite, ca }, 'x')).rejects.toThrow(/cannot be reached: .*certificate/);
  });

  test('secrets are in no note, no command line, and not in the server’s configuration', () => {
    const keys = JSON.parse(readFileSync(join(fleet.folder, 'fleet', 'keys.json'), 'utf8')) as Record<string, string>;
    const secrets = [...Object.values(keys), fleet.host.invite.seed];
    expect(secrets.every((one) => /^S[OAU][A-Z2-7]{56}$/.test(one))).toBe(true);
    const places = [
      fleet.notes.join('\n'),
      execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }),
      readFileSync(join(fleet.folder, 'fleet', 'nats', 'server.conf'), 'utf8'),
    ];
    for (const secret of secrets) for (const place of places) expect(place).not.toContain(secret);
  });
});
