import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { interrupted } from './command-line.js';
import { eventsIn, eventsOf } from './events.js';
import {
  hitsIn,
  millrace,
  planted,
  reading,
  resume,
  runHere,
  type SearchEnded,
  SPACE,
  startRun,
  stateOf,
  writePlanted,
} from './store/planted.js';
import { byTier, isShort } from './tier.js';

/** Jobs as users handle them: run again, listed, paused, cancelled, resumed, exported and imported. */
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-jobs-'));
  writePlanted(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const jobs = (...args: string[]) => millrace(folder, 'jobs', ...args);
const listed = async () => (await jobs('list', '--json')).events.filter(({ event }) => event === 'job');
const ofNow = async (id: string) => (await listed()).find((job) => job.id === id);
/** The job id of a run. */
const idOf = async (run: ReturnType<typeof startRun>): Promise<string> =>
  String((await run.until(({ event }) => event === 'job')).id);
const idIn = ({ events }: SearchEnded): string => String(events.find(({ event }) => event === 'job')?.id);
/** Interrupts a run within this process when its output matches. */
const stopAt = (when: RegExp): ((text: string) => void) => {
  let isDone = false;
  return (text) => {
    if (isDone || !when.test(text)) return;
    isDone = true;
    process.kill(process.pid, 'SIGINT');
  };
};
/** Stops a run after its third hit. */
const part = { device: 'interpreter', args: ['--limit', '3'] } as const;

describe('a search that is run again', () => {
  const small = { space: 1_000_000, every: 50_021 };
  const once = (...args: string[]) => runHere({ ...small, folder, args });

  it('is answered from the ledger without a device if it is complete, in every mode', async () => {
    const first = await once();
    expect(first.events.filter(({ event }) => event === 'device')).toHaveLength(1);
    expect(first.events.at(-1)).toMatchObject({ exit: 0, hits: first.hits.length, tried: 1_000_000 });
    expect(first.hits).toEqual(planted(small.every, small.space));
    const again = await once();
    expect(again.hits).toEqual(first.hits);
    expect(again.events.some(({ event }) => event === 'device')).toBe(false);
    expect(again.events.at(-1)).toMatchObject({ exit: 0, tried: 0 });
    for (const mode of byTier(['any'], ['first', 'any'])) {
      expect((await once('--mode', mode)).hits).toEqual(first.hits.slice(0, 1));
    }
    const limited = await once('--limit', '2');
    expect(limited).toMatchObject({ exit: 4, hits: first.hits.slice(0, 2) });
  });

  it('starts again with --fresh', async () => {
    const fresh = await once('--fresh');
    expect(fresh.events.at(-1)).toMatchObject({ exit: 0, tried: 1_000_000 });
    expect(fresh.hits).toEqual(planted(small.every, small.space));
  });

  it('is a new job if the values, the space or the kernel differ', async () => {
    const before = new Set((await listed()).map(({ id }) => id));
    await runHere({ ...small, every: 50_023, folder });
    if (!isShort) await runHere({ ...small, space: 900_000, folder });
    const place = join(folder, 'other');
    mkdirSync(place);
    writePlanted(place);
    const text = readFileSync(join(folder, 'planted.mjs'), 'utf8');
    writeFileSync(join(place, 'planted.mjs'), text.replace('rest.eq(7)', 'rest.eq(8)'));
    const other = await runHere({ ...small, folder: place, args: ['--data-dir', join(folder, 'data')] });
    expect(other.events.at(-1)).toMatchObject({ tried: 1_000_000 });
    expect((await listed()).filter(({ id }) => !before.has(id))).toHaveLength(byTier(2, 3));
  });

  it('stops at the first hit with --mode first, and continues from there without it', async () => {
    const run = (...args: string[]) => runHere({ every: 50_017, folder, args });
    const first = await run('--mode', 'first');
    expect(first).toMatchObject({ exit: 0, hits: ['7 7'] });
    expect((await stateOf(folder, 50_017)).state).toBe('answered');
    const again = await run('--mode', 'first');
    expect(again.hits).toEqual(['7 7']);
    expect(again.events.at(-1)).toMatchObject({ tried: 0 });
    const all = await run();
    expect(all.hits).toEqual(planted(50_017));
    expect(await stateOf(folder, 50_017)).toMatchObject({
      faults: [],
      done: [between(0n, BigInt(SPACE))],
      state: 'complete',
    });
  });
});

describe('a job', () => {
  it('is not in the ledger if the device that was named is missing', async () => {
    const before = await listed();
    expect(await runHere({ every: 20_017, folder, args: ['--device', 'cuda:97'] })).toMatchObject({
      exit: 69,
      hits: [],
    });
    expect((await listed()).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });

  it('that was stopped or killed is shown, and resumed by its own command, highest priority first', async () => {
    const [stopped, killed] = [20_011, 20_013];
    const run = startRun({ every: killed, folder, device: 'interpreter' });
    const important = await idOf(run);
    await run.until(({ event }) => event === 'hit');
    run.child.kill('SIGKILL');
    expect((await run.ended).signal).toBe('SIGKILL');
    const here = await runHere({ every: stopped, folder, device: 'interpreter', heard: stopAt(/"event":"hit"/) });
    expect(here.exit).toBe(2);
    const id = idIn(here);
    const shown = (await jobs('show', id.slice(0, 6), '--ranges')).stdout;
    expect(shown).toContain('run planted.mjs');
    expect(shown).toMatch(/^params +every=20011$/m);
    expect(shown).toMatch(/state +open: stopped/);
    expect(shown).toMatch(/^ {2}7 {2}n=7$/m);
    expect((await jobs('list')).stdout).toMatch(new RegExp(`^${id} .* run planted\\.mjs {2}\\w+ {2}every=20011$`, 'm'));
    expect(await ofNow(important)).toMatchObject({ state: 'interrupted' });
    expect((await jobs('priority', important, '5')).status).toBe(0);
    expect((await listed()).slice(0, 1)).toMatchObject([{ id: important, priority: 5 }]);
    const { status, stdout, stderr } = resume(folder, '--all');
    expect(status).toBe(0);
    expect([...stderr.matchAll(/^job (\w+): millrace run/gm)].map((match) => match[1])).toEqual([important, id]);
    // The jobs' own commands have `--json`, and report the hits of the stopped runs too.
    expect(hitsIn(eventsIn(stdout))).toEqual([...planted(killed), ...planted(stopped)]);
    for (const every of [stopped, killed]) {
      expect(await stateOf(folder, every)).toMatchObject({ faults: [], hits: planted(every), state: 'complete' });
    }
  });

  it.skipIf(isShort)('that was stopped is resumed alone, by its id', async () => {
    const stopped = async (every: number, space?: number): Promise<string> => {
      const run = startRun({ every, folder, device: 'interpreter', ...(space !== undefined && { space }) });
      await run.until(({ event }) => event === 'hit');
      run.child.kill('SIGINT');
      const ended = await run.ended;
      expect(ended.exit).toBe(2);
      return idIn(ended);
    };
    const MANY = 4_000_000_000; // more than any device does in the time
    const [id, other] = [await stopped(20_015), await stopped(20_021, MANY)];
    // Limits are for one run, and are not stored.
    expect(resume(folder, other, '--runtime', '0.3s', '--max-cpu', '1').status).toBe(4);
    expect((await jobs('show', other)).stdout).not.toMatch(/--runtime|--max-cpu/);
    const { status, stdout, stderr } = resume(folder, id);
    expect(status).toBe(0);
    expect([...stderr.matchAll(/^job (\w+): millrace run/gm)].map((match) => match[1])).toEqual([id]);
    expect(hitsIn(eventsOf(stdout))).toEqual(planted(20_015));
    expect(await stateOf(folder, 20_015)).toMatchObject({ faults: [], hits: planted(20_015), state: 'complete' });
    expect((await stateOf(folder, 20_021, MANY)).state).toBe('open');
  });

  /** Runs longer than the tests, with little load on the machine. */
  const long = { space: 4_000_000_000, device: 'interpreter', args: ['--max-cpu', '20'] } as const;

  // These two wait for other processes, so they run concurrently.
  it.concurrent('is paused, resumed and cancelled from another process', async () => {
    const run = startRun({ ...long, every: 1_000_000_007, folder });
    const id = await idOf(run);
    await run.until(({ event }) => event === 'hit');
    expect(await jobs('pause', id)).toMatchObject({ status: 0, stderr: `job ${id}: paused\n` });
    await run.until(({ event, reason }) => event === 'paused' && reason === 'asked');
    expect((await ofNow(id))?.state).toBe('paused');
    expect(await jobs('resume', id)).toMatchObject({ status: 0, stderr: `job ${id}: resumed\n` });
    expect((await ofNow(id))?.state).toBe('running');
    expect(await jobs('cancel', id)).toMatchObject({ status: 0, stderr: `job ${id}: cancelled\n` });
    expect((await run.ended).exit).toBe(2);
    expect((await ofNow(id))?.state).toBe('cancelled');
    expect(await jobs('pause', id)).toMatchObject({ status: 1, stderr: `job ${id}: no process runs it\n` });
    expect((await jobs('remove', id)).status).toBe(0);
    expect(await ofNow(id)).toBeUndefined();
    expect(await jobs('show', id)).toMatchObject({ status: 64 });
  });

  it.skipIf(isShort)('whose process does not listen is asked by the ledger', async () => {
    const place = join(folder, 'deaf');
    mkdirSync(place);
    writePlanted(place);
    const run = startRun({ ...long, every: 1_000_000_033, folder: place });
    const id = await idOf(run);
    const socket = join(place, 'data', 'live', `${run.child.pid}.sock`);
    await expect.poll(() => existsSync(socket)).toBe(true);
    rmSync(socket);
    const ask = (request: string) => millrace(place, 'jobs', request, id);
    await ask('pause');
    await run.until(({ event, reason }) => event === 'paused' && reason === 'asked');
    await ask('resume');
    await run.until(({ event, reason }) => event === 'resumed' && reason === 'asked');
    await ask('cancel');
    expect((await run.ended).exit).toBe(2);
    expect((await stateOf(place, 1_000_000_033, long.space)).state).toBe('cancelled');
  });

  it.concurrent('pauses while a job of higher priority uses its device', async () => {
    const place = join(folder, 'outranked');
    mkdirSync(place);
    writePlanted(place);
    const run = startRun({ ...long, every: 1_000_000_009, folder: place });
    await run.until(({ event }) => event === 'hit');
    const args = [...long.args, '--priority', '3'];
    const other = runHere({ ...long, every: 1_000_000_021, folder: place, args });
    await run.until(({ event, reason }) => event === 'paused' && reason === 'outranked');
    process.kill(process.pid, 'SIGINT'); // stops the other run, which is in this process
    await run.until(({ event, reason }) => event === 'resumed' && reason === 'outranked');
    run.child.kill('SIGINT');
    expect((await run.ended).exit).toBe(2);
    expect((await other).exit).toBe(2);
  });

  it('that has changed is not resumed under its old id', async () => {
    const [place, changed] = ['changing', 'changed'].map((name) => join(folder, name)) as [string, string];
    for (const one of [place, changed]) {
      mkdirSync(one);
      writePlanted(one);
    }
    const id = idIn(await runHere({ every: 20_017, folder: place, ...part }));
    const text = readFileSync(join(place, 'planted.mjs'), 'utf8');
    for (const one of [place, changed])
      writeFileSync(join(one, 'planted.mjs'), text.replace('rest.eq(7)', 'rest.eq(8)'));
    const message = 'describes another job now';
    // `jobs resume` starts the job's command with this variable. This process imports a file once, hence a second file.
    const [env, args] = [{ MILLRACE_RESUMED_JOB: id }, ['--data-dir', join(place, 'data')]];
    const ran = await runHere({ every: 20_017, folder: changed, env, args });
    expect(ran.exit).toBe(64);
    expect(ran.events.at(-2)?.message).toContain(message);
    if (isShort) return;
    const { status, stdout } = resume(place, id);
    expect(status).toBe(64);
    expect(stdout).toContain(message);
  });

  it('is exported to another ledger, and the work done there is imported back', async () => {
    const [here, there] = ['here', 'there'].map((name) => join(folder, name)) as [string, string];
    for (const place of [here, there]) {
      mkdirSync(place);
      writePlanted(place);
    }
    const id = idIn(await runHere({ every: 20_019, folder: here, ...part }));
    expect((await millrace(here, 'jobs', 'export', id, '-o', 'job.json')).status).toBe(0);
    expect((await millrace(there, 'jobs', 'import', join(here, 'job.json'))).status).toBe(0);
    const done = await runHere({ every: 20_019, folder: there });
    expect(done).toMatchObject({ exit: 0, hits: planted(20_019) });
    expect(Number(done.events.at(-1)?.tried)).toBeLessThan(SPACE);
    writeFileSync(join(there, 'back.json'), (await millrace(there, 'jobs', 'export', id)).stdout);
    expect((await millrace(here, 'jobs', 'import', join(there, 'back.json'))).stderr).toMatch(
      /: added [\d,]+ indices and \d+ hits/,
    );
    const known = await runHere({ every: 20_019, folder: here });
    expect(known).toMatchObject({ exit: 0, hits: planted(20_019) });
    expect(known.events.at(-1)).toMatchObject({ tried: 0 });
    writeFileSync(join(here, 'broken.json'), '{"format":');
    expect((await millrace(here, 'jobs', 'import', 'broken.json')).status).toBe(74);
  });

  it.skipIf(isShort)('that cannot be resumed reports why; one that no process runs is cancelled at once', async () => {
    const [here, there] = ['gone', 'kept'].map((name) => join(folder, name)) as [string, string];
    for (const place of [here, there]) {
      mkdirSync(place);
      writePlanted(place);
    }
    const data = ['--data-dir', join(there, 'data')];
    const id = idIn(
      await runHere({ every: 20_023, folder: here, device: 'interpreter', args: ['--limit', '3', ...data] }),
    );
    const own = (...args: string[]) => millrace(there, 'jobs', ...args, '--json');
    expect(await own('resume')).toMatchObject({ status: 64 });
    rmSync(here, { recursive: true });
    const lost = await own('resume', id);
    expect(lost.status).toBe(74);
    expect(lost.events.at(-2)).toMatchObject({ event: 'error', code: 'io', message: expect.stringContaining(here) });
    // A program's job, which has no command line.
    const spec = {
      command: 'own',
      params: {},
      kernel: 'own',
      space: between(0n, 9n),
      name: 'own',
      call: { args: [], folder: '' },
    };
    const job = await reading(join(there, 'data'), [], async (store) => {
      const begun = await store.open(spec);
      await begun.finish('open');
      return begun.id;
    });
    const without = await own('resume', job);
    expect(without.status).toBe(64);
    expect(without.events.at(-2)).toMatchObject({ code: 'usage', message: expect.stringContaining(job) });
    expect((await own('cancel', id)).status).toBe(0);
    expect((await own('list')).events).toContainEqual(expect.objectContaining({ id, state: 'cancelled' }));
  });

  it.skipIf(isShort)('that is resumed stops with the command that resumed it', async () => {
    const place = join(folder, 'ended');
    mkdirSync(place);
    writePlanted(place);
    const device = 'interpreter';
    const every = 20_025;
    expect((await runHere({ every, folder: place, device, heard: stopAt(/"event":"hit"/) })).exit).toBe(2);
    const env = { XDG_CONFIG_HOME: join(place, device), MILLRACE_DATA_DIR: join(place, 'data') };
    const isHit = /"event":"hit"/;
    const { status, stdout } = await interrupted(['jobs', 'resume', 'last'], {
      cwd: place,
      env,
      when: isHit,
      act: (pid) => process.kill(pid, 'SIGTERM'),
    });
    expect(status).toBe(2);
    expect(eventsIn(stdout).at(-1)).toMatchObject({ event: 'done', exit: 2 });
    expect((await stateOf(place, every)).state).toBe('open');
  });
});

describe('a data directory', () => {
  const noJob = { status: 64, stderr: expect.stringContaining('there is no job last') as unknown };
  it.each([
    [['list'], { status: 0, stderr: expect.stringMatching(/^no jobs in .*misspelt\n$/) as unknown }],
    [['show', 'last'], noJob],
    [['export', 'last'], noJob],
    [['cancel', 'last'], noJob],
    [['resume', '--all'], { status: 0, stderr: '' }],
  ])('that does not exist, or is empty, stays so: %j', async (args, wanted) => {
    const missing = join(folder, 'misspelt');
    const directory = ['--data-dir', missing];
    expect(await millrace(folder, 'jobs', ...args, ...directory)).toMatchObject({ ...wanted, stdout: '' });
    expect(existsSync(missing)).toBe(false);
    mkdirSync(missing);
    expect(await millrace(folder, 'jobs', ...args, ...directory)).toMatchObject(wanted);
    expect(readdirSync(missing)).toEqual([]);
    rmSync(missing, { recursive: true });
  });

  it('that is a file is an error', async () => {
    const file = join(folder, 'planted.mjs');
    const wanted = { status: 74, stderr: expect.stringContaining(file) as unknown };
    expect(await millrace(folder, 'jobs', 'list', '--data-dir', file)).toMatchObject(wanted);
  });

  it('whose ledger was removed is reported', async () => {
    const place = mkdtempSync(join(folder, 'removed-'));
    writeFileSync(join(place, 'ledger.seen'), '3'.padStart(20));
    const wanted = { status: 0, stderr: expect.stringContaining('ledger.db is missing') as unknown };
    expect(await millrace(folder, 'jobs', 'list', '--data-dir', place)).toMatchObject(wanted);
  });
});

it('sets a damaged ledger aside, and reports its path as text and as an event', async () => {
  const place = join(folder, 'damaged');
  mkdirSync(join(place, 'data'), { recursive: true });
  writePlanted(place);
  const aside = /damaged \(.*It was set aside as .*ledger-damaged-\d\.db/;
  const damage = (): void => {
    const path = join(place, 'data', 'ledger.db');
    writeFileSync(path, readFileSync(path).fill(7, 0, 100));
  };
  await reading(join(place, 'data'), [], async () => undefined); // creates it
  damage();
  expect(await millrace(place, 'jobs', 'list')).toMatchObject({ status: 0, stderr: expect.stringMatching(aside) });
  damage();
  const { exit, events, hits } = await runHere({ every: 50_021, space: 1_000_000, folder: place });
  expect([exit, hits]).toEqual([0, planted(50_021, 1_000_000)]);
  expect(events.filter(({ event }) => event === 'warning')).toEqual([
    expect.objectContaining({ message: expect.stringMatching(aside) }),
  ]);
  expect((await millrace(place, 'jobs', 'list', '--json')).events.map(({ event }) => event)).not.toContain('warning');
});

describe('--on-hit', () => {
  const script = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const given = { every: 100_003, space: 1_000_000 };

  it('starts a program for each hit, once, with the hit in its environment', async () => {
    const output = join(folder, 'told');
    const line = 'echo "$MILLRACE_HIT_INDEX $MILLRACE_HIT_N $MILLRACE_HIT_NTH $MILLRACE_HIT $MILLRACE_JOB"';
    const args = ['--on-hit', script('tell.sh', `${line} >> '${output}'`)];
    const first = await runHere({ ...given, folder, args });
    expect(first.exit).toBe(0);
    const id = first.events.find(({ event }) => event === 'job')?.id;
    const lines = readFileSync(output, 'utf8').trimEnd().split('\n');
    let last = '';
    const wanted = planted(given.every, given.space).map((hit) => {
      const [index = '', n] = hit.split(' ');
      const nth = index === last ? 1 : 0;
      last = index;
      return `${index} ${n} ${nth} {"index":${index},"n":${n}} ${id}`;
    });
    expect(lines).toEqual(wanted);
    await runHere({ ...given, folder, args }); // now complete, and already reported
    expect(readFileSync(output, 'utf8').trimEnd().split('\n')).toEqual(wanted);
  });

  it('holds hits back until their programs have started', async () => {
    const output = join(folder, 'told-slowly');
    const events = join(folder, 'slow-events');
    const shown = `grep -c '"event":"hit"' '${events}' >> '${output}'`;
    const args = ['--on-hit', script('slow.sh', shown), '--events', events];
    const { hits } = await runHere({ every: 100_007, space: 1_000_000, folder, args });
    const counts = readFileSync(output, 'utf8').trimEnd().split('\n').map(Number);
    expect(counts.length).toBe(hits.length);
    // The next hit may be shown already, and waits.
    for (const [at, count] of counts.entries()) expect(count).toBeLessThanOrEqual(at + 2);
  });

  it('is run again after a failure, and never fails the search', async () => {
    const output = join(folder, 'told-again');
    const search = { every: 100_005, space: 1_000_000 };
    const failing = script('fail.sh', 'exit 3');
    const first = await runHere({ ...search, folder, args: ['--on-hit', failing] });
    expect(first.exit).toBe(0);
    expect(
      first.events.filter(({ event, message }) => event === 'warning' && /status 3/.test(String(message))),
    ).toHaveLength(first.hits.length);
    await runHere({ ...search, folder, args: ['--on-hit', script('ok.sh', `echo x >> '${output}'`)] });
    expect(readFileSync(output, 'utf8').trimEnd().split('\n')).toHaveLength(first.hits.length);
  });

  it('accepts a program, not a shell command', async () => {
    const trap = join(folder, 'trap');
    const { exit, events } = await runHere({ ...given, folder, args: ['--on-hit', `true; touch '${trap}'`] });
    expect(exit).toBe(64);
    expect(events.at(-2)).toMatchObject({ event: 'error', code: 'usage' });
    expect(existsSync(trap)).toBe(false);
  });
});
