import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { InterpreterDevice } from '../src/device/interpreter/device.js';
import { Engine } from '../src/engine/engine.js';
import { between } from '../src/engine/work/space.js';
import { FleetClient, FleetSearch } from '../src/fleet/client/index.js';
import { FleetHost } from '../src/fleet/coordinator/index.js';
import { packKernelJob, signingKey } from '../src/fleet/manifest/index.js';
import { Bus, formatInvite, hasKnownHoles, type Invite, parseInvite } from '../src/fleet/nats/index.js';
import { WorkerService } from '../src/fleet/worker/index.js';
import { when } from '../src/kernel/language/control.js';
import { items } from '../src/kernel/language/items.js';
import type { Kernel } from '../src/kernel/language/signature.js';
import { u32 } from '../src/kernel/language/types.js';
import { openStore } from '../src/store/index.js';
import { millrace } from './command-line.js';
import { expectedHits, ownServer, saying, TestFleet, whyNoFleet } from './fleet/fleet.js';
import { byTier, isShort, patience } from './tier.js';

/** Fleets over a real nats-server. The protocol itself is tested by test/fleet-simulation.test.ts. */
const absent = whyNoFleet();

describe('in one process', () => {
  /** Hits at multiples of `step`, with the square. */
  const squares = items('squares', { job: { step: u32 }, hit: { square: u32 } }, ({ index, job, emit }) =>
    when(index.lo.rem(job.step).eq(0), () => emit({ square: index.lo.mul(index.lo) })),
  ) as unknown as Kernel;
  const SPACE = 3000;
  const right = (step: number) =>
    Array.from({ length: Math.ceil(SPACE / step) }, (_, at) => ({
      index: BigInt(at * step),
      square: (at * step) ** 2,
    }));

  test('a call that is sent again because its answer was lost is carried out once', async (ctx) => {
    if (absent) return ctx.skip(absent);
    const folder = mkdtempSync(join(tmpdir(), 'millrace-fleet-'));
    const store = await openStore(folder);
    const say = (): void => undefined;
    const fleet = await FleetHost.start({ folder: join(folder, 'fleet'), store, say, warn: say });
    const admin = await Bus.connect(fleet.invite, 'admin');
    let losing = 1;
    const call = async (bytes: Uint8Array): Promise<Uint8Array> => {
      const answer = await admin.call(bytes);
      if (losing-- > 0) throw new Error('the answer is lost');
      return answer;
    };
    const client = new FleetClient({ call });
    try {
      const { user, line } = await client.invite('viewer', 60, 'ann');
      expect([user, parseInvite(line).user]).toEqual(['ann', 'ann']);
      losing = 1;
      const { user: unnamed } = await client.invite('viewer', 60);
      const users: { name: string }[] = JSON.parse(readFileSync(join(folder, 'fleet', 'users.json'), 'utf8'));
      expect(users.map(({ name }) => name)).toEqual(['ann', unnamed]);
      await expect(client.invite('viewer', 60, 'ann')).rejects.toThrow(
        '"ann" cannot be invited: it is invited already',
      );
      expect(await client.revoke('ann')).toEqual({ reopened: [], rested: [] });
    } finally {
      await admin.close();
      await fleet.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('two workers find every hit in order; results that are played again change nothing', async (ctx) => {
    if (absent) return ctx.skip(absent);
    const folder = mkdtempSync(join(tmpdir(), 'millrace-fleet-'));
    const notes: string[] = [];
    const say = (text: string) => void notes.push(text);
    const store = await openStore(folder);
    const fleet = await FleetHost.start({ folder: join(folder, 'fleet'), store, say, warn: say });
    const admin = await Bus.connect(fleet.invite, 'admin');
    const invited = async (role: string, name: string) =>
      Bus.connect(parseInvite((await new FleetClient(admin).invite(role, 60, name, true)).line), name);
    const [first, second] = [await invited('worker', 'attic'), await invited('worker', 'barn')];
    const submitter = await invited('submitter', 'ann');
    const played: [string, Uint8Array][] = [];
    fleet.bus.subscribe('result', (bytes, user) => void played.push([user, bytes]));
    const engines = [new Engine([new InterpreterDevice()]), new Engine([new InterpreterDevice()])];
    const workers = [first, second].map(
      (bus, at) => new WorkerService({ bus, engine: engines[at]!, id: `w${at}`, say, warn: say }),
    );
    try {
      const client = new FleetClient(submitter);
      const packed = packKernelJob(
        { kernel: squares, job: { step: 7 }, buffers: {} },
        between(0n, BigInt(SPACE)),
        'all',
      );
      const run = new FleetSearch(client, packed, signingKey(), new AbortController().signal);
      const hits = [];
      for await (const hit of run) hits.push(hit);
      expect(hits).toEqual(right(7));
      expect(new Set(played.map(([user]) => user))).toEqual(new Set(['attic', 'barn']));
      // Whatever was sent is sent again, in another order; what the other worker sent is refused.
      for (const [, bytes] of [...played].reverse()) first.publish('result', bytes);
      await first.flush();
      const again = new FleetSearch(client, packed, signingKey(), new AbortController().signal);
      const found = [];
      for await (const hit of again) found.push(hit);
      expect(found).toEqual(right(7));
      // The submitter may hear that the job is complete a moment before the ledger has it.
      await expect
        .poll(async () => (await store.jobs())[0])
        .toMatchObject({ job: { state: 'complete' }, hits: right(7).length });
      await expect.poll(() => notes.some((note) => note.startsWith('attic: a message as barn.w1'))).toBe(true);
      expect(notes.filter((note) => /wrong|cannot/.test(note))).toEqual([]);
      await expect(client.drain('attic')).rejects.toThrow(/ann is a submitter of this fleet, which may not drain/);

      // A user that is revoked is cut off, and is not asked for its name again.
      // On a busy machine the other one may have been faster with all of its ranges: then nothing rests on its word.
      const { workers: did } = await new FleetClient(admin).provenance(run.job!);
      const isCounted = did.some(({ user }) => user === 'attic');
      expect(await new FleetClient(admin).revoke('attic')).toMatchObject({
        reopened: [],
        rested: isCounted ? [{ name: 'squares' }] : [],
      });
      expect(await first.ended).toMatchObject({ message: expect.stringMatching(/attic was revoked/) });
      expect(fleet.service.core.workers.get('attic.w0')?.barred).toMatch(/revoked/);
      expect(await new FleetClient(admin).revoke('nobody')).toBeUndefined();
      await expect(new FleetClient(admin).invite('worker', 60, 'attic')).rejects.toThrow(/it was revoked/);

      // After the last worker is drained nobody works for a new job, which its submitter pauses and leaves.
      await expect.poll(() => new FleetClient(admin).drain('barn')).toEqual(['barn.w1']);
      expect(await new FleetClient(admin).drain('nobody')).toEqual([]);
      const waiting = packKernelJob(
        { kernel: squares, job: { step: 11 }, buffers: {} },
        between(0n, BigInt(SPACE)),
        'all',
      );
      const left = new AbortController();
      const paused: FleetSearch = new FleetSearch(client, waiting, signingKey(), left.signal, {
        onStart: () => paused.pause(true),
      });
      const next = paused[Symbol.asyncIterator]().next();
      const stateOf = async () =>
        (await new FleetClient(admin).overview()).jobs.find(({ id }) => id === paused.job)?.state;
      await expect.poll(stateOf).toBe('paused');
      left.abort();
      expect(await next).toMatchObject({ done: true });

      for (const file of ['keys.json', 'users.json', 'fleet.json'])
        expect(statSync(join(folder, 'fleet', file)).mode & 0o777).toBe(0o600);
    } finally {
      for (const worker of workers) await worker.close();
      for (const engine of engines) await engine.close();
      for (const bus of [admin, first, second, submitter]) await bus.close();
      await fleet.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('an invite is one line, and anything else is refused', () => {
    const invite: Invite = {
      url: 'nats://127.0.0.1:4222',
      fleet: 'f1',
      user: 'attic',
      role: 'worker',
      jwt: 'a.b.c',
      seed: 'SUA',
      expires: 2_000_000_000,
    };
    expect(formatInvite(invite)).toMatch(/^millrace-fleet-2-[\w-]+$/);
    expect(parseInvite(` ${formatInvite(invite)}\n`)).toEqual(invite);
    const wrong = [
      { ...invite, fleet: 'a.*' },
      { ...invite, user: 'a.>' },
      { ...invite, role: 'owner' as 'admin' },
    ];
    for (const text of ['', 'nats://x', formatInvite(invite).slice(0, -9), ...wrong.map(formatInvite)])
      expect(() => parseInvite(text)).toThrow(expect.objectContaining({ name: 'MillraceError' }));
  });
});

describe.skipIf(isShort)('with processes', () => {
  let fleet: TestFleet | undefined;
  afterEach(async () => {
    await fleet?.close();
    fleet = undefined;
  });
  const SPACE = 4_000_000;
  const LIMIT = 20_000;
  const lines = expectedHits(SPACE, LIMIT).map(({ index, last }) => `${index} ${last}`);
  const shown = (stdout: string) =>
    stdout
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).join(' '));
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, patience(ms)));

  /** Starts a fleet of two workers and a job on it. */
  const begin = async () => {
    fleet = new TestFleet();
    const served = await fleet.serve();
    const workers = [await fleet.join('attic'), await fleet.join('b')];
    const run = fleet.run(SPACE, LIMIT);
    await saying(workers[0]!, /: rounds/);
    return { fleet, served, workers, run };
  };

  /** Each fault happens at a moment of its own while the job runs. */
  type Begun = Awaited<ReturnType<typeof begin>>;
  const faults: [string, (begun: Begun) => Promise<unknown>][] = [
    ['a worker is killed', async ({ workers }) => workers[0]!.child.kill('SIGKILL')],
    [
      'a worker is stopped for longer than its leases last, and goes on',
      async ({ workers }) => {
        workers[0]!.child.kill('SIGSTOP');
        await pause(12_000);
        workers[0]!.child.kill('SIGCONT');
      },
    ],
    [
      'the coordinator is killed and started again',
      async ({ fleet: its, served }) => {
        served.child.kill('SIGKILL');
        await served.ended;
        await its.serve();
      },
    ],
    [
      'the server is killed',
      async ({ fleet: its }) => {
        process.kill(its.serverPid, 'SIGKILL');
      },
    ],
    [
      'the server is killed and its files are lost',
      async ({ fleet: its, served }) => {
        served.child.kill('SIGKILL');
        process.kill(its.serverPid, 'SIGKILL');
        await served.ended;
        rmSync(its.storeFolder, { recursive: true, force: true });
        await its.serve();
      },
    ],
  ];
  const seeds = byTier(1, 1, 40);
  test.for(
    Array.from({ length: seeds }, (_, seed) => faults.map((fault) => [fault[0], seed, fault[1]] as const)).flat(),
  )(
    'every hit is found once, in order, although %s (%i)',
    { timeout: patience(300_000) },
    async ([, seed, fail], ctx) => {
      if (absent) return ctx.skip(absent);
      const begun = await begin();
      await pause(300 + ((seed * 7919) % 2000));
      await fail(begun);
      // Another worker comes, so that what is left does not take long.
      await begun.fleet.join('c');
      const { status, stdout, stderr } = await begun.run.ended;
      expect(stderr).toContain('hits;');
      expect(shown(stdout)).toEqual(lines);
      expect(status).toBe(0);
    },
  );

  test('Ctrl-C pauses a job, the same command resumes it, drain and status work', {
    timeout: patience(300_000),
  }, async (ctx) => {
    if (absent) return ctx.skip(absent);
    const { fleet: its, run } = await begin();
    await saying(run, /^ *\d+ /m);
    run.child.kill('SIGINT');
    const stopped = await run.ended;
    const env = { MILLRACE_HOME: join(its.folder, 'data') };
    const second = await millrace(['fleet', 'serve'], { env });
    expect(second).toMatchObject({ status: 74, stderr: expect.stringMatching(/served already/) });
    expect(stopped.status).toBe(2);
    expect(stopped.stderr).toMatch(/stopped at .*the same command resumes/);
    const paused = await millrace(['fleet', 'jobs', '--json'], { cwd: its.folder, env });
    expect(paused.events.at(-1)).toMatchObject({ jobs: [{ name: 'rounds', state: 'paused' }] });
    const line = (await millrace(['fleet', 'invite', '--role', 'submitter', '--expires', '1d'], { env })).stdout.trim();
    const resumed = await its.start(
      'run',
      'kernel.mjs',
      '--space',
      `${SPACE}`,
      '--param',
      `limit=${LIMIT}`,
      '--fleet',
      line,
    ).ended;
    expect(resumed.status).toBe(0);
    expect(shown(resumed.stdout)).toEqual(lines);
    const file = join(its.folder, 'attic.invite');
    const invited = await millrace(['fleet', 'invite', '--name', 'barn', '--out', file], { env });
    expect(invited).toMatchObject({ status: 0, stdout: '', stderr: expect.stringMatching(/barn is a worker until 2/) });
    const joined = its.start('fleet', 'join', file, '--device', 'wasm', '--threads', '1', '--name', 'd');
    await saying(joined, /works for the fleet/);
    const first = its.run(SPACE, LIMIT, '--mode', 'first');
    expect(shown((await first.ended).stdout)).toEqual(lines.slice(0, 1));
    const workers = await millrace(['fleet', 'workers'], { env });
    expect(workers.stdout).toMatch(/^attic-[0-9a-f]{12} +admin +(working|idle)/m);
    expect(workers.stdout).toMatch(/^d-[0-9a-f]{12} +barn +(working|idle)/m);
    expect((await millrace(['fleet', 'drain', 'attic'], { env })).stdout).toMatch(/^admin\.attic-[0-9a-f]+ finishes/);
    expect((await millrace(['fleet', 'drain', 'nobody'], { env })).status).toBe(1);
    await expect
      .poll(async () => (await millrace(['fleet', 'status'], { env })).stdout, {
        timeout: patience(20_000),
        interval: 500,
      })
      .not.toMatch(/^attic-/m);
    expect((await millrace(['fleet', 'status'], { env })).stdout).toMatch(/2 workers/);
    expect((await millrace(['fleet', 'revoke', 'barn'], { env })).stdout).toMatch(/^barn is revoked\n/);
    expect(await joined.ended).toMatchObject({ status: 64, stderr: expect.stringMatching(/barn was revoked/) });
    const refused = await its.start('fleet', 'join', file, '--device', 'wasm').ended;
    expect(refused).toMatchObject({ status: 64, stderr: expect.stringMatching(/does not accept the invite/) });
  });

  test('other machines: TLS, invites in files, no secret on a command line', {
    timeout: patience(120_000),
  }, async (ctx) => {
    if (absent) return ctx.skip(absent);
    fleet = new TestFleet();
    const env = { MILLRACE_HOME: join(fleet.folder, 'data') };
    const served = fleet.start('fleet', 'serve', '--listen', '127.0.0.1:0', '--advertise', 'localhost');
    await saying(served, /^fleet \w+ at tls:\/\/localhost:\d+/m);
    const files = ['worker', 'submitter'].map((role) => join(fleet!.folder, `${role}.invite`));
    // A worker that is not trusted would wait for another one to do its work again.
    const trusted = await millrace(['fleet', 'invite', '--trusted', '--out', files[0]!], { env });
    const submits = await millrace(['fleet', 'invite', '--role', 'submitter', '--out', files[1]!], { env });
    expect([trusted.status, submits.status]).toEqual([0, 0]);
    const elsewhere = { MILLRACE_HOME: join(fleet.folder, 'elsewhere') };
    const device = ['--device', 'wasm', '--threads', '1'];
    const joined = fleet.startWith(elsewhere, 'fleet', 'join', files[0]!, ...device);
    await saying(joined, /works for the fleet/);
    const [space, limit] = [40_000, 40_000_000];
    const job = ['run', 'kernel.mjs', '--space', `${space}`, '--param', `limit=${limit}`, '--json'];
    const ran = await fleet.startWith({ ...elsewhere, MILLRACE_FLEET: files[1]! }, ...job).ended;
    expect(ran.status).toBe(0);
    expect(ran.stdout.match(/"event":"hit"/g)).toHaveLength(expectedHits(space, limit).length);
    const secrets = files.map((file) => {
      const line = readFileSync(file, 'utf8').trim();
      expect(statSync(file).mode & 0o777).toBe(0o600);
      return [line, parseInvite(line).seed, parseInvite(line).jwt];
    });
    const { stdout: processes } = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    const output = ran.stdout + ran.stderr;
    for (const secret of secrets.flat()) for (const text of [processes, output]) expect(text).not.toContain(secret);
    // An invite on a command line is taken, is told about, and is not in events.
    const typed = await fleet.startWith(elsewhere, 'fleet', 'status', '--json', '--fleet', secrets[1]![0]!).ended;
    expect(typed.status).toBe(0);
    expect(typed.stdout + typed.stderr).not.toContain(secrets[1]![0]);
  });

  test('a server of your own checks the users of the fleet', { timeout: patience(120_000) }, async (ctx) => {
    if (absent) return ctx.skip(absent);
    fleet = new TestFleet();
    const env = { MILLRACE_HOME: join(fleet.folder, 'data') };
    const config = await millrace(['fleet', 'config'], { env });
    expect(config.stdout).toMatch(/^operator: "ey/);
    const own = await ownServer(fleet.folder, config.stdout);
    try {
      const served = fleet.start('fleet', 'serve', '--nats', own.url);
      await saying(served, /^fleet /m);
      const file = join(fleet.folder, 'attic.invite');
      expect((await millrace(['fleet', 'invite', '--name', 'attic', '--out', file], { env })).status).toBe(0);
      const joined = fleet.start('fleet', 'join', file, '--device', 'wasm', '--threads', '1');
      await saying(joined, /works for the fleet/);
      expect((await millrace(['fleet', 'revoke', 'attic'], { env })).status).toBe(0);
      expect(await joined.ended).toMatchObject({ status: 64, stderr: expect.stringMatching(/attic was revoked/) });
    } finally {
      own.child.kill('SIGKILL');
    }
    // Without the lines it lets everybody in, which is told.
    const open = await ownServer(fleet.folder, '');
    try {
      const elsewhere = { MILLRACE_HOME: join(fleet.folder, 'elsewhere') };
      const served = fleet.startWith(elsewhere, 'fleet', 'serve', '--nats', open.url);
      await saying(served, /does not check users: everyone who can connect to it can do everything/);
    } finally {
      open.child.kill('SIGKILL');
    }
  });

  test('gaps are those of one machine', { timeout: patience(120_000) }, async (ctx) => {
    if (absent) return ctx.skip(absent);
    fleet = new TestFleet();
    await fleet.serve();
    await fleet.join('a');
    const job = ['gaps', 'search', '--start', '2^100', '--length', '2^17', '--min-merit', '4'];
    const alone = await millrace([...job, '--device', 'wasm', '--threads', '1', '--no-ledger']);
    const ran = await fleet.start(...job, '--fleet').ended;
    expect(ran).toMatchObject({ status: 0, stdout: alone.stdout });
    expect(alone.stdout.split('\n').length).toBeGreaterThan(10);
  });
});

describe('a fleet that is not there', () => {
  test('is named in the error, with what to do', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-fleet-'));
    const env = { MILLRACE_HOME: folder };
    const none = await millrace(['fleet', 'status'], { env });
    expect(none).toMatchObject({ status: 64, stderr: expect.stringMatching(/no fleet is served from this machine/) });
    const user = { user: 'ann', role: 'viewer', jwt: 'x', seed: 'x' } as const;
    const gone = formatInvite({ url: 'nats://127.0.0.1:9', fleet: 'f', ...user });
    const lost = await millrace(['fleet', 'status', '--fleet', gone], { env });
    expect(lost).toMatchObject({ status: 74, stderr: expect.stringMatching(/cannot be reached/) });
    const serve = (...args: string[]) => millrace(['fleet', 'serve', ...args], { env });
    const refused = (message: RegExp) => ({ status: 64, stderr: expect.stringMatching(message) });
    expect(await serve('--nats', 'nats://192.0.2.1:4222')).toMatchObject(refused(/without TLS/));
    expect(await serve('--nats', '192.0.2.1')).toMatchObject(refused(/not the address of a NATS server/));
    expect(await serve('--tls-cert', 'x')).toMatchObject(refused(/--tls-cert needs --listen/));
    expect(await serve('--listen', '127.0.0.1', '--tls-cert', 'x')).toMatchObject(refused(/need each other/));
    const { stdout } = spawnSync('nats-server', ['--version'], { env: { PATH: `${process.env.PATH}:/usr/sbin` } });
    const version = /v([\d.]+)/.exec(String(stdout))?.[1];
    if (version !== undefined && hasKnownHoles(version))
      expect(await serve('--listen', '0.0.0.0:0')).toMatchObject(refused(/has known security holes/));
    rmSync(folder, { recursive: true, force: true });
  });
});
