import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { transform } from '../src/engine/index.js';
import { InputSource } from '../src/engine/makers/row-source.js';
import { items, read, rw, u32 } from '../src/kernel/index.js';

/** The input rows of `transform`: how they are stored, and how their iterator ends. */
const doubled = items('doubled', { buffers: { given: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
  buffers.out.set(item, buffers.given.at(item).mul(2));
});
const bytes = new Uint8Array(Uint32Array.from({ length: 20_000 }, (_, k) => k).buffer);

let device: Device;
beforeAll(async () => {
  device = await openDevice('wasm');
});
afterAll(() => device?.close());

const on = <Options extends object>(options: Options) => ({ ...options, devices: device });

describe('an input', () => {
  const options = { inputBytes: 4, rowBytes: 4, batchBytes: 1024 };
  const openFiles = (): string[] =>
    readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return []; // the folder itself
      }
    });

  async function* linesOf(path: string, ended: () => void): AsyncGenerator<Uint8Array> {
    const file = await open(path);
    try {
      for (let at = 0; ; at += 300) {
        const { bytesRead, buffer } = await file.read(new Uint8Array(300), 0, 300, at);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
      ended();
    }
  }

  test.each([1, 3, 60])('is closed when the loop is left after batch %i', async (count) => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-input-'));
    try {
      const path = join(folder, 'rows');
      await writeFile(path, bytes);
      let ended = 0;
      let taken = 0;
      for await (const batch of transform(
        doubled,
        linesOf(path, () => ended++),
        on(options),
      )) {
        if (taken++ === 0 && existsSync('/proc/self/fd')) expect(openFiles()).toContain(path);
        batch.release();
        if (taken === count) break;
      }
      expect(ended).toBe(1);
      if (existsSync('/proc/self/fd')) expect(openFiles()).not.toContain(path);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  /** Endless rows; calls `returned` when their iterator is ended. */
  function endless(returned: () => Promise<IteratorResult<Uint8Array>>, rows = 100): AsyncIterable<Uint8Array> {
    const next = async () => ({ done: false as const, value: bytes.subarray(0, 4 * rows) });
    return { [Symbol.asyncIterator]: () => ({ next, return: returned }) };
  }

  test('is ended when a check fails, when a row is incomplete, and when the job is aborted', async () => {
    const stop = new AbortController();
    const ways = [
      { ...options, verify: () => Promise.reject(new Error('refused')) },
      { ...options, inputBytes: 7 },
      { ...options, signal: stop.signal },
    ];
    for (const way of ways) {
      let ends = 0;
      const given = endless(async () => {
        ends++;
        throw new Error('not reported: the job has failed');
      });
      const left = (async () => {
        for await (const batch of transform(doubled, given, on(way))) {
          batch.release();
          stop.abort(new Error('aborted'));
        }
      })();
      await expect(left).rejects.toThrow(/refused|whole number|aborted/);
      expect(ends).toBe(1);
    }
  });

  test('that cannot be closed is an error when the loop is left', async () => {
    const left = (async () => {
      for await (const _ of transform(
        doubled,
        endless(() => Promise.reject(new Error('not closed'))),
        on(options),
      ))
        break;
    })();
    await expect(left).rejects.toThrow('not closed');
  });

  test('with a read that never ends does not block leaving the loop', async () => {
    async function* stuck(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 300);
      await new Promise(() => undefined);
    }
    for await (const _ of transform(doubled, stuck(), on(options))) break;
  });

  test('is not started before the first batch is requested', async () => {
    let begun = 0;
    const next = async (): Promise<IteratorResult<Uint8Array>> => ({ done: true, value: undefined });
    const given = {
      [Symbol.asyncIterator]: () => {
        begun++;
        return { next };
      },
    };
    const batches = transform(doubled, given, on(options));
    expect(begun).toBe(0);
    for await (const _ of batches) expect.unreachable();
    expect(begun).toBe(1);
  });
});

test('finds a piece among 100,000 arrays without scanning them', { timeout: 20_000 }, async () => {
  const COUNT = 100_000;
  const words = Uint32Array.from({ length: COUNT }, (_, k) => k);
  const source = new InputSource(
    (function* () {
      for (let k = 0; k < COUNT; k++) yield words.subarray(k, k + 1);
    })(),
    4,
    2 * COUNT,
  );
  await new Promise<void>((resolve) =>
    source.watch(() => source.take() === undefined && source.isExhausted && resolve()),
  );
  const first = (row: Uint8Array): number => new DataView(row.buffer, row.byteOffset).getUint32(0, true);
  // 5 · 10^9 comparisons if each piece scans all arrays before it.
  for (let k = 0; k < COUNT; k++) if (first(source.row(BigInt(k))) !== k) expect.unreachable(`row ${k}`);
  expect([...source.rows({ start: 500n, count: 3 })].map(first)).toEqual([500, 501, 502]);
  source.commit({ start: 0n, count: 40_000 });
  expect([...source.rows({ start: 39_999n, count: 3 })].map(first)).toEqual([40_000, 40_001]);
  expect(first(source.row(99_999n))).toBe(99_999);
});
