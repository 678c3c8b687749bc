import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { between } from '../src/engine/space.js';
import { planted, SPACE, startRun, stateOf, writePlanted } from './store/planted.js';

/** A real job on a real device, killed again and again by the one signal that nobody can answer. */
const KILLS = process.env.MILLRACE_LONG === '1' ? 200 : 14;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-crash-'));
  writePlanted(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it(`a job that is killed ${KILLS} times covers its space exactly once, with every hit, none twice`, {
  timeout: 3_600_000,
}, async () => {
  let kills = 0;
  let resumed = 0;
  for (let job = 0; kills < KILLS; job++) {
    const every = 1_000_003 + 2 * job;
    const shown = new Set<string>();
    for (;;) {
      const { exit, signal, events, hits } = await runOnce(every, kills < KILLS);
      if (events.some(({ event, isResumed }) => event === 'job' && isResumed === true)) resumed++;
      for (const hit of hits) shown.add(hit);
      const state = stateOf(folder, every);
      expect(state.faults).toEqual([]);
      // What was shown was stored before.
      expect([...shown].filter((hit) => !state.hits.includes(hit))).toEqual([]);
      if (signal === 'SIGKILL') {
        kills++;
        continue;
      }
      expect([exit, events.at(-1)]).toMatchObject([0, { event: 'done' }]);
      expect(hits).toEqual(planted(every)); // in order, once each, those of earlier runs included
      expect(state).toMatchObject({ done: [between(0n, BigInt(SPACE))], hits: planted(every), state: 'complete' });
      break;
    }
  }
  expect(resumed).toBeGreaterThan(KILLS / 5); // it was not always killed before it had begun
});

/** Killed while it starts, or some time after: commits come once a second, and with each hit. */
async function runOnce(every: number, isKilled: boolean) {
  const { child, until, ended } = startRun({ every, folder });
  if (isKilled && Math.random() < 0.25) setTimeout(() => child.kill('SIGKILL'), Math.random() * 1000);
  else if (isKilled) {
    await until(({ event }) => event === 'device').catch(() => undefined);
    // Sooner rather than later: what a job has done by then is done once, and a start is most of what a kill costs.
    setTimeout(() => child.kill('SIGKILL'), Math.random() ** 2 * 1800);
  }
  return ended;
}
