import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Engine } from '../src/engine/engine.js';
import { wordBatches } from '../src/workload/words/generator/batches.js';
import { parseRequest, type RequestOptions } from '../src/workload/words/space/request.js';
import { byTier, isShort } from './tier.js';

/** Random masks, compared with other programs if they are installed. */

const isThere = (program: string): boolean => spawnSync(program, ['--help'], { stdio: 'ignore' }).error === undefined;
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const runs = byTier(16, 60, 2000);

function output(program: string, args: readonly string[]): Buffer {
  const { stdout, status, stderr } = spawnSync(program, args, { maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
  return stdout;
}

const outputLater = (program: string, args: readonly string[]): Promise<Buffer> =>
  promisify(execFile)(program, args, { maxBuffer: 2 ** 28, encoding: 'buffer' }).then(({ stdout }) => stdout);

async function ours(mask: string, options: Partial<RequestOptions>): Promise<Buffer> {
  const { space, range, layout } = parseRequest(mask, { order: 'canonical', format: 'newline', ...options });
  const parts: Buffer[] = [];
  const none = (): Promise<Engine> => Promise.reject(new Error('the host should make these words'));
  for await (const batch of wordBatches(space, range, {
    layout,
    engine: none,
    minDeviceBytes: Number.POSITIVE_INFINITY,
  })) {
    parts.push(Buffer.from(batch.bytes));
  }
  return Buffer.concat(parts);
}

/** Characters without a special meaning to a shell, a mask or a tool. */
const plain = fc.uniqueArray(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_=+.:'), {
  minLength: 1,
  maxLength: 9,
});
const place = fc.constantFrom('?l', '?d', '?u', '?1', '?1', '?2', '?2', 'x', '-', '??', '?s');
const mask = fc
  .array(place, { minLength: 1, maxLength: 5 })
  .filter(
    (places) =>
      places.filter((one) => ['?l', '?u', '?s'].includes(one)).length <= 3 && !(places[0] ?? '').startsWith('-'),
  );

describe('mp64', () => {
  const absent = isThere('mp64') ? undefined : 'maskprocessor is not installed';

  test('writes the same bytes', async (ctx) => {
    if (absent) return ctx.skip(absent);
    await fc.assert(
      fc.asyncProperty(mask, plain, plain, async (places, one, two) => {
        const args = ['-1', one.join(''), '-2', two.join(''), places.join('')];
        const own = await ours(places.join(''), { charset1: one.join(''), charset2: two.join('') });
        expect(sha256(own)).toBe(sha256(output('mp64', args)));
      }),
      { numRuns: runs },
    );
  });

  test('writes the same bytes with increments, windows and limits on runs', async (ctx) => {
    if (absent) return ctx.skip(absent);
    await fc.assert(
      fc.asyncProperty(
        mask,
        plain,
        fc.integer({ min: 2, max: 4 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        async (places, one, run, where) => {
          const text = places.map((p) => (p === '?2' ? '?1' : p === '?s' ? '?d' : p)).join('');
          const charset1 = one.join('');
          const length = places.length;
          const grown = await ours(text, { charset1, increment: { min: 1, max: length } });
          expect(sha256(grown)).toBe(sha256(output('mp64', ['-1', charset1, '-i', `1:${length}`, text])));
          const limited = await ours(text, { charset1, maxRun: run - 1 });
          expect(sha256(limited)).toBe(sha256(output('mp64', ['-1', charset1, '-q', String(run), text])));
          const lines = (await ours(text, { charset1 })).toString('latin1').trimEnd().split('\n');
          const [startWord = '', stopWord = ''] = [lines[Math.floor(where * lines.length)], lines.at(-1)];
          const window = await ours(text, { charset1, startWord, stopWord });
          expect(sha256(window)).toBe(sha256(output('mp64', ['-1', charset1, '-s', startWord, '-l', stopWord, text])));
        },
      ),
      { numRuns: Math.ceil(runs / 4) },
    );
  });
});

describe('crunch', () => {
  const absent = isThere('crunch') ? undefined : 'crunch is not installed';
  // crunch waits three seconds before it starts: few masks of several lengths, run while other tests run.
  const asked = (
    [
      [1, 4, 'abc'],
      [3, 3, 'zyx01'],
    ] as const
  ).map(([min, max, charset]) => ({
    min,
    max,
    charset,
    theirs: absent ? undefined : outputLater('crunch', [String(min), String(max), charset]),
  }));
  test('writes the same bytes', async (ctx) => {
    if (absent) return ctx.skip(absent);
    for (const { min, max, charset, theirs } of asked) {
      const own = await ours('?1'.repeat(max), { charset1: charset, increment: { min, max } });
      expect(sha256(own)).toBe(sha256((await theirs) ?? Buffer.of()));
    }
  });
});

describe('hashcat', () => {
  const absent = isThere('hashcat') ? undefined : 'hashcat is not installed';
  test('writes the same words', async (ctx) => {
    if (absent) return ctx.skip(absent);
    if (isShort) return ctx.skip('hashcat takes up to a minute to start: npm run test:all');
    // One start for many masks, in a file. The order of hashcat's words does not matter.
    const some = fc.tuple(mask, plain, plain).filter(([places, one, two]) => {
      const sizes = { '?l': 26, '?u': 26, '?d': 10, '?s': 33, '?1': one.length, '?2': two.length };
      return places.reduce((product, place) => product * (sizes[place as '?l'] ?? 1), 1) <= 20_000;
    });
    const lines: string[] = [];
    const own: string[] = [];
    for (const [places, one, two] of fc.sample(some, Math.ceil(runs / 8))) {
      const [text, charset1, charset2] = [places, one, two].map((list) => list.join(''));
      lines.push(`${charset1},${charset2},${text}`);
      own.push(
        ...(await ours(text!, { charset1: charset1!, charset2: charset2!, order: 'hashcat' }))
          .toString('latin1')
          .trimEnd()
          .split('\n'),
      );
    }
    const file = join(mkdtempSync(join(tmpdir(), 'millrace-hashcat-')), 'masks.hcmask');
    writeFileSync(file, `${lines.join('\n')}\n`);
    const theirs = output('hashcat', ['--stdout', '-a', '3', '--markov-disable', file]).toString('latin1');
    rmSync(dirname(file), { recursive: true });
    expect(own.sort(), lines.join('\n')).toEqual(theirs.trimEnd().split('\n').sort());
  });
});
