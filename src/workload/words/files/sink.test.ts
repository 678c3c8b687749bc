import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, expect, test } from 'vitest';
import { between } from '../../../engine/work/space.js';
import { writeWords } from '../generator/write-words.js';
import { Keyspace } from '../space/keyspace.js';
import { parseMask } from '../space/mask.js';
import { wordsOf } from '../space/words.js';
import { enlargePipe } from './pipe.js';
import { digestSink, fileSink, ShortWriteError, type Sink } from './sink.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-sink-'));
afterAll(() => rmSync(folder, { recursive: true }));

const options = {
  layout: 'newline' as const,
  engine: () => Promise.reject(new Error('no engine is needed')),
  minDeviceBytes: Number.POSITIVE_INFINITY,
  batchBytes: 100,
};

test('a file has what was written; a partial word is cut off', async () => {
  const file = join(folder, 'file');
  const sink = fileSink(file);
  await sink.write(Buffer.from('one\ntwo\nth'));
  await sink.truncateBy?.(2);
  await sink.close();
  expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n');
});

test('a file that cannot be opened is an error', () => {
  expect(() => fileSink(join(folder, 'none', 'file'))).toThrow('cannot write');
});

test('a full device reports how much it took', async () => {
  const sink = fileSink('/dev/full');
  await expect(sink.write(new Uint8Array(5))).rejects.toMatchObject({ written: 0, isClosedPipe: false });
  await sink.close();
});

test('a named pipe whose reader exits is closed, not failed', async (ctx) => {
  if (process.platform !== 'linux') return ctx.skip('needs named pipes of Linux');
  const pipe = join(folder, 'pipe');
  await once(spawn('mkfifo', [pipe]), 'close');
  const reader = spawn('head', ['-c', '10', pipe], { stdio: ['ignore', 'pipe', 'ignore'] });
  const sink = fileSink(pipe);
  const space = new Keyspace([wordsOf(parseMask('?l?l?l?l'))]);
  const { isClosed, next } = await writeWords(space, between(0n, space.size), { ...options, batchBytes: 65_536 }, sink);
  expect(isClosed).toBe(true);
  expect(next).toBeLessThan(space.size);
  if (reader.exitCode === null) await once(reader, 'close');
});

test('a named pipe gives its reader what was written', async (ctx) => {
  if (process.platform !== 'linux') return ctx.skip('named pipes as Linux has them');
  const pipe = join(folder, 'read');
  await once(spawn('mkfifo', [pipe]), 'close');
  const reader = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'ignore'] });
  const sink = fileSink(pipe);
  await sink.write(Buffer.from('one\n'));
  await sink.write(Buffer.from('two\n'));
  await sink.close();
  expect(await text(reader.stdout)).toBe('one\ntwo\n');
});

test('only pipes are enlarged', (ctx) => {
  if (process.platform !== 'linux') return ctx.skip('Linux only');
  expect(enlargePipe(openSync('/dev/null', 'w'))).toBeUndefined();
});

test('a short write reports which words are complete, for words of any length', async () => {
  const taking = (room: number): Sink & { text: string } => ({
    name: 'a small sink',
    text: '',
    async write(bytes) {
      const fits = Math.min(bytes.length, room - this.text.length);
      this.text += Buffer.from(bytes.subarray(0, fits)).toString('latin1');
      if (fits < bytes.length) throw new ShortWriteError(fits, Object.assign(new Error('full'), { code: 'ENOSPC' }));
    },
    async truncateBy(bytes) {
      this.text = this.text.slice(0, this.text.length - bytes);
    },
    close: async () => undefined,
  });
  for (const mask of [
    parseMask('?d?d?d'),
    [
      ['a', '\xc3\xa9', '\n'],
      ['x', '\n', '\xe2\x82\xac'],
      ['1', '2'],
    ],
  ]) {
    const space = new Keyspace([wordsOf(mask)]);
    for (const room of [0, 1, 5, 40, 99, 100, 101]) {
      const sink = taking(room);
      const progress = { next: 0n, bytes: 0n, isClosed: false };
      const failure = await writeWords(space, between(0n, space.size), options, sink, progress).then(
        () => undefined,
        (error: Error) => error,
      );
      if (failure) expect(failure.message).toContain(`the words before ${progress.next} are written`);
      else expect(progress.next).toBe(space.size);
      const words = Array.from({ length: Number(progress.next) }, (_, i) => `${space.wordAt(BigInt(i))}\n`).join('');
      expect(sink.text).toBe(words);
      expect(Number(progress.bytes)).toBe(words.length);
    }
  }
});

test('digestSink hashes everything written', async () => {
  const sink = digestSink();
  await sink.write(Buffer.from('ab'));
  await sink.write(Buffer.from('c'));
  expect(sink.digest()).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
