import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { millrace } from './command-line.js';
import { byTier } from './tier.js';

/** A command that fails before it starts work closes its telemetry files and port. */
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-ending-'));
  await writeFile(join(folder, 'samples.f64'), new Uint8Array(8 * 16).fill(1));
  const kernel =
    "import { items, u32 } from 'millrace';\n" +
    "export default items('all', { hit: { n: u32 } }, ({ index, emit }) => emit({ n: index.lo }));\n";
  await writeFile(join(folder, 'kernel.ts'), kernel);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Open files of this process within a folder; undefined if the system does not list them. */
function openFilesIn(path: string): string[] | undefined {
  if (!existsSync('/proc/self/fd')) return undefined;
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(path) ? target : [];
    } catch {
      return []; // the descriptor that listed the folder, now closed
    }
  });
}

const views = ['--metrics', 'm.csv', '--trace', 't.json', '--prometheus', '0'];
const block = new URL('./data/block/course/case01.in', import.meta.url).pathname;
const commands: readonly (readonly string[])[] = [
  ['run', 'kernel.ts', '--space', '10', '--no-ledger'],
  ['block', 'solve', block, 'block.out', '--no-ledger'],
  ['words', '?d?d', '--digest'],
  ['encode', 'samples.f64', '--length', '4'],
  ['gaps', 'search', '--start', '2^64', '--length', '2^20', '--no-ledger'],
  ['uhash', 'mine', '--challenge', '00ff', '-d', '3', '--max-batches', '1', '--no-ledger'],
];

test.each(byTier(commands.slice(0, 1), commands))(
  '%s %s closes its telemetry if its device is missing',
  async (...args) => {
    const { status, stderr } = await millrace([...args, '--device', 'cuda:99', ...views], { cwd: folder });
    expect([status, stderr]).toEqual([expect.not.toBeOneOf([0]), expect.stringContaining('cuda:99')]);
    const [, url = ''] = /Prometheus: (\S+)/.exec(stderr) ?? [];
    await expect(fetch(url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    expect(openFilesIn(folder) ?? []).toEqual([]);
    expect(JSON.parse(readFileSync(join(folder, 't.json'), 'utf8'))).toMatchObject({ otherData: { chunks: 0 } });
  },
);

test('a port in use leaves no file open', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as { port: number };
    const args = ['words', '?d?d', '--digest', '--metrics', 'm.csv', '--trace', 't.json', '--prometheus', String(port)];
    const { status, stderr } = await millrace(args, { cwd: folder });
    expect([status, stderr]).toEqual([expect.not.toBeOneOf([0]), expect.stringContaining('cannot listen')]);
    expect(openFilesIn(folder) ?? []).toEqual([]);
  } finally {
    server.close();
  }
});
