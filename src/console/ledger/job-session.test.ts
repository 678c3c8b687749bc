import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it, vi } from 'vitest';
import type { SearchMode } from '../../engine/index.js';
import { Intervals } from '../../engine/index.js';
import { between } from '../../engine/work/space.js';
import type { JobLedger, Store } from '../../store/index.js';
import type { Call } from '../command/action.js';
import { EventHub } from '../live/event-hub.js';
import type { Output } from '../output/output.js';
import { JobSession, type JobSessionOptions, parsePriority, withJobSessionOptions } from './job-session.js';
import { HitProgram, hitVariables } from './on-hit.js';

const silent = {
  hub: new EventHub(),
  event: () => undefined,
  say: () => undefined,
  warn: () => undefined,
} as unknown as Output;

describe('the options of jobs', () => {
  it('can be set in the environment', () => {
    vi.stubEnv('MILLRACE_NO_LEDGER', '1');
    try {
      const command = withJobSessionOptions(new Command()).parse([], { from: 'user' });
      expect(command.opts()).toMatchObject({ ledger: false });
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

describe('a stored answer', () => {
  /** Asks a ledger of the space 0 to 100 with the ranges `done` and hits at the indices `found`. */
  const answer = (done: readonly [number, number][], found: readonly number[], mode: SearchMode, limit?: number) => {
    const completed = Intervals.of(done.map(([from, to]) => between(BigInt(from), BigInt(to))));
    const space = between(0n, 100n);
    const ledger = {
      completed,
      previous: undefined,
      holdClock: () => undefined,
      job: { name: '', space, elapsedMs: 0 },
      storedHits: found.map((index) => ({ index: BigInt(index) })),
    } as unknown as JobLedger;
    const call = { output: silent } as Call<JobSessionOptions>;
    const session = new JobSession(call, space, { ledger, store: undefined as unknown as Store }, undefined);
    return session.storedAnswer(mode, limit)?.map(({ index }) => Number(index));
  };
  const all: [number, number][] = [[0, 100]];

  it.each<[string, [number, number][], number[], SearchMode, number | undefined, number[] | undefined]>([
    ['has all hits of a complete job', all, [5, 70], 'all', undefined, [5, 70]],
    ['is empty for a complete job without hits', all, [], 'all', undefined, []],
    ['is missing if an index is not done', [[0, 99]], [5, 70], 'all', undefined, undefined],
    ['has the first hits up to the limit', [[0, 50]], [5, 20, 70], 'all', 2, [5, 20]],
    ['is missing if fewer hits than the limit are in order', [[0, 50]], [5, 70], 'all', 2, undefined],
    ['has hits in any order up to the limit', [[0, 50]], [5, 70], 'arrival', 2, [5, 70]],
    ['has the first hit if all indices below it are done', [[0, 20]], [20, 70], 'first', undefined, [20]],
    ['is missing if the hit may not be the first', [[0, 20]], [21], 'first', undefined, undefined],
    ['is empty if there is no first hit', all, [], 'first', undefined, []],
    ['has any hit', [], [50], 'any', undefined, [50]],
    ['is empty if no index hits', all, [], 'any', undefined, []],
    ['is missing if nothing is stored', [], [], 'any', undefined, undefined],
  ])('%s', (_name, done, found, mode, limit, wanted) => expect(answer(done, found, mode, limit)).toEqual(wanted));
});

describe('a hit for another program', () => {
  it('is passed in environment variables', () => {
    const hit = { index: 1n << 70n, nonce: 7, 'odd-name': true, digest: [1, 0xffff_ffff], wide: 1n << 63n };
    expect(hitVariables(hit, 2, 'abc')).toEqual({
      MILLRACE_JOB: 'abc',
      MILLRACE_HIT_INDEX: String(1n << 70n),
      MILLRACE_HIT_NTH: '2',
      MILLRACE_HIT_NONCE: '7',
      MILLRACE_HIT_ODD_NAME: 'true',
      MILLRACE_HIT_DIGEST: '1,4294967295',
      MILLRACE_HIT_WIDE: String(1n << 63n),
      MILLRACE_HIT: `{"index":"${1n << 70n}","nonce":7,"odd-name":true,"digest":[1,4294967295],"wide":"${1n << 63n}"}`,
    });
  });

  it('has no field that overrides another variable', () => {
    expect(hitVariables({ index: 1n, INDEX: 9, Nth: 9 } as { index: bigint }, 0, '')).toMatchObject({
      MILLRACE_HIT_INDEX: '1',
      MILLRACE_HIT_NTH: '0',
    });
  });

  it('is passed to one program after the other, in order', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-on-hit-'));
    try {
      const path = join(folder, 'tell');
      writeFileSync(path, '#!/bin/sh\nsleep 0.0$MILLRACE_HIT_NTH\necho "$MILLRACE_HIT_INDEX; $(true)"\n');
      chmodSync(path, 0o755);
      const said: string[] = [];
      const program = new HitProgram(path, { ...silent, say: (text) => void said.push(text) });
      const ended: number[] = [];
      for (const at of [3, 2, 1]) {
        const variables = { MILLRACE_HIT_INDEX: `${at}$(false)`, MILLRACE_HIT_NTH: String(at) };
        void program.run(
          () => variables,
          () => ended.push(at),
        );
      }
      await program.end();
      expect(said).toEqual(['3$(false); ', '2$(false); ', '1$(false); '].map((text) => text.trimEnd()));
      expect(ended).toEqual([3, 2, 1]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('waits while the maximum number of programs is running', async () => {
    const program = new HitProgram('true', silent, 3);
    const counts: number[] = [];
    let made = 0;
    let done = 0;
    for (let at = 0; at < 20; at++) {
      const variables = () => {
        counts.push(++made - done);
        return { MILLRACE_HIT_INDEX: String(at) };
      };
      await program.run(variables, () => done++);
    }
    expect([made, Math.max(...counts)]).toEqual([20, 3]);
    await program.end();
    expect(done).toBe(20);
  });

  it.each(['', 'no-such-program', '/etc/passwd', './none', 'true; true'])('is not passed to %j', (given) => {
    expect(() => new HitProgram(given, silent)).toThrow('not an executable program');
  });
  it('is passed to a program found in PATH', () => expect(() => new HitProgram('true', silent)).not.toThrow());
});

it.each(['', 'x', '1.5', '10000'])('%j is not a priority', (text) => expect(() => parsePriority(text)).toThrow('9999'));
it.each(['0', '-5', '+7'])('%s is a priority', (text) => expect(parsePriority(text)).toBe(Number(text)));
