import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { styleFor } from '../../console/output/style.js';
import { openDevice } from '../../device/registry.js';
import { cacheFindings } from './cache.js';
import { findingLines } from './command.js';
import { packageFindings } from './packages.js';
import { withoutSecrets } from './private-data.js';
import { environmentFindings, node } from './system.js';
import { tryDevice } from './trial.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-doctor-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a report that can be shared', () => {
  const home = join('/', 'h', 'ann');
  it.each([
    [`${home}/.cache/millrace`, '~/.cache/millrace'],
    [`${home}`, '~'],
    [`${home}:${home}/lib, then ${home}a`, `~:~/lib, then ${home}a`],
    ['stratum+tcp://ann.worker:secret@pool.example:3333', 'stratum+tcp://…@pool.example:3333'],
    ['https://example.org/a@b', 'https://example.org/a@b'],
  ])('%s', (text, wanted) => expect(withoutSecrets(text, home)).toBe(wanted));

  it('lists relevant variables, hides secrets, and warns of wrong values', () => {
    const found = environmentFindings({
      PATH: '/bin',
      MILLRACE_DEVICE: 'cuda:0',
      MILLRACE_POOL_PASSWORD: 'hunter2',
      CUDA_VISIBLE_DEVICES: '-1',
      VK_ICD_FILENAMES: join(folder, 'none.json'),
      LD_LIBRARY_PATH: '/opt/lib',
      HUNTER_TOKEN: 'x',
    });
    expect(found.map(({ what, state, found: text }) => [what, state, text])).toEqual([
      ['CUDA_VISIBLE_DEVICES', 'warning', '-1'],
      ['LD_LIBRARY_PATH', 'ok', '/opt/lib'],
      ['MILLRACE_DEVICE', 'ok', 'cuda:0'],
      ['MILLRACE_POOL_PASSWORD', 'ok', '(not shown)'],
      ['VK_ICD_FILENAMES', 'warning', join(folder, 'none.json')],
    ]);
    expect(found[0]?.advice).toContain('unset it');
    expect(found[4]?.advice).toContain('none.json');
  });
});

describe('the cache', () => {
  it('is ok if it is not created yet', async () => {
    const path = join(folder, 'later');
    expect(await cacheFindings(path)).toEqual([{ what: 'directory', state: 'ok', found: `${path}, not created yet` }]);
  });
  it('is reported with its entries and size', async () => {
    const path = join(folder, 'cache');
    mkdirSync(join(path, 'a1'), { recursive: true });
    chmodSync(path, 0o700);
    writeFileSync(join(path, 'a1', 'kernel.so'), 'x'.repeat(2048));
    const [finding] = await cacheFindings(path);
    expect(finding).toMatchObject({ state: 'ok', found: `${path}, mode 700, 1 entry, 2.00 KiB` });
  });
  it('gives a warning if others can write to it', async () => {
    const path = join(folder, 'open');
    mkdirSync(path);
    chmodSync(path, 0o777);
    const [finding] = await cacheFindings(path);
    expect(finding).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('other users can write to it') as unknown,
      advice: expect.stringContaining('chmod 700') as unknown,
    });
    const [below] = await cacheFindings(join(path, 'cache'));
    expect(below).toMatchObject({
      state: 'warning',
      found: expect.stringContaining(
        `not created yet; other users can write to its parent directory ${path}`,
      ) as unknown,
      advice: expect.stringContaining(`chmod go-w ${path}`) as unknown,
    });
  });
});

it.each([
  ['20.19.0', 'ok'],
  ['24.1.0', 'ok'],
  ['20.18.3', 'warning'],
  ['18.20.0', 'warning'],
])('Node.js %s: %s', (running, state) => expect(node(running).state).toBe(state));

it('optional packages are listed with what needs them and how to install them', () => {
  expect(packageFindings().map(({ what, state }) => `${what} ${state}`)).toEqual([
    'koffi ok',
    'webgpu ok',
    'wabt ok',
    'libsql ok',
    '@nats-io/transport-node ok',
    '@nats-io/jetstream ok',
    '@nats-io/jwt ok',
  ]);
  expect(packageFindings((name) => name === 'wabt')).toContainEqual({
    what: 'wabt',
    state: 'missing',
    found: 'not installed; needed for wasm',
    advice: 'npm install wabt',
  });
});

it('a device is tested by a trial run', async () => {
  const { info } = await openDevice('interpreter');
  expect(await tryDevice(info)).toMatchObject({ what: 'interpreter', state: 'ok' });
  expect(await tryDevice({ ...info, id: 'interpreter:7' })).toMatchObject({
    state: 'warning',
    found: expect.stringContaining('does not work: device interpreter:7 is not on this machine') as unknown,
    advice: expect.stringContaining('the only interpreter is interpreter') as unknown,
  });
});

it('advice is printed under its finding', () => {
  const lines = findingLines(
    [
      { what: 'driver', state: 'ok', found: '580' },
      { what: 'NVML', state: 'missing', found: 'no library', advice: 'install it' },
    ],
    styleFor({}),
  );
  expect(lines).toEqual(['  ok       driver  580', '  missing  NVML    no library', '                   → install it']);
});
