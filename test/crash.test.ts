import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { planted, runHere, startRun, stateOf, writePlanted } from './store/planted.js';
import { byTier, isShort } from './tier.js';

/** A real job on a real device, killed repeatedly by SIGKILL. */
const KILLS = byTier(1, 14, 200);
/** A third of a second for WebAssembly on one thread, minutes for the interpreter. */
const SPACE = 20_000_000;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-crash-'));
  writePlanted(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it(`a job killed ${KILLS} times covers its space exactly once and has every hit once`, {
  timeout: 3_600_000,
}, async () => {
  let kills = 0;
  let resumed = 0;
  for (let job = 0; kills < KILLS; job++) {
    const every = 200_003 + 2 * job;
    const shown = new Set<string>();
    for (;;) {
      const { exit, signal, events, hits } =
        kills < KILLS ? await killed(every, kills) : await runHere({ every, space: SPACE, folder });
      if (events.some(({ event, isResumed }) => event === 'job' && isResumed === true)) resumed++;
      for (const hit of hits) shown.add(hit);
      const state = await stateOf(folder, every, SPACE);
      expect(state.faults).toEqual([]);
      // Every hit was stored before it was shown.
      expect([...shown].filter((hit) => !state.hits.includes(hit))).toEqual([]);
      if (signal === 'SIGKILL') {
        kills++;
        continue;
      }
      expect([exit, events.at(-1)]).toMatchObject([0, { event: 'done' }]);
      expect(hits).toEqual(planted(every, SPACE)); // in order, once each, those of earlier runs included
      expect(state).toMatchObject({
        done: [between(0n, BigInt(SPACE))],
        hits: planted(every, SPACE),
        state: 'complete',
      });
      break;
    }
  }
  // Not every kill came before the job had begun; a single one may.
  if (!isShort) expect(resumed).toBeGreaterThan(KILLS / 5);
});

/** A run that is killed during or after its start, unless it ends before. It commits 20 times a second, and with each hit. */
async function killed(every: number, nth: number) {
  const device = nth % 2 === 0 ? 'interpreter' : 'wasm';
  const { child, until, ended } = startRun({ every, space: SPACE, folder, device });
  if (nth % 4 === 3) setTimeout(() => child.kill('SIGKILL'), Math.random() * 1000);
  else {
    // On the interpreter, which does not finish, each kill leaves a job that the next run resumes, however slow the machine is.
    const begins = device === 'interpreter' ? 'job' : 'device';
    await until(({ event }) => event === begins).catch(() => undefined);
    // Sooner rather than later: a start is most of what a kill costs.
    setTimeout(() => child.kill('SIGKILL'), Math.random() ** 2 * byTier(600, 1800));
  }
  return ended;
}
