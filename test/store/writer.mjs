// Works on a job as a device would, on the disk of disk.c. Each piece is noted before it is committed, and again when the
// ledger has acknowledged it, in a file whose writes are in the same log as the ledger's. So are pieces that are reopened.

import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Ledger } from '../../dist/store/thread/ledger.js';

const [, , folder = '', rounds = '0', seed = '1'] = process.argv;
const notes = openSync(join(folder, 'notes'), 'a');
/** @param {object} what */
const note = (what) => writeSync(notes, `${JSON.stringify(what)}\n`);

let state = Number(seed);
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};

const PIECES = 400;
const left = Array.from({ length: PIECES }, (_, piece) => piece);
const opening = {
  key: 'ab'.repeat(32),
  name: 'written',
  command: 'test',
  params: {},
  space: { start: 0n, length: BigInt(PIECES * 10) },
  call: { args: [], folder: '' },
};
let ledger = new Ledger(folder);
let { id } = ledger.begin(opening).job;
for (let round = 0; round < Number(rounds) && left.length > 0; round++) {
  const pieces = Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
    const [piece] = left.splice(Math.floor(random() ** 2 * left.length), 1);
    return piece;
  }).filter((piece) => piece !== undefined);
  note({ scanned: pieces });
  ledger.commit(id, {
    done: pieces.map((piece) => ({ start: BigInt(piece * 10), end: BigInt(piece * 10 + 10), hits: piece % 3 })),
    hits: pieces.flatMap((piece) =>
      Array.from({ length: piece % 3 }, (_, at) => ({
        index: BigInt(piece * 10 + at * 4),
        nth: 0,
        fields: JSON.stringify({ piece, at, text: 'x'.repeat(piece % 300) }),
      })),
    ),
    notified: [],
    elapsedMs: 1000,
    devices: ['wasm'],
  });
  note({ acknowledged: pieces });
  if (random() < 0.15) {
    const again = Array.from({ length: PIECES }, (_, piece) => piece).filter(
      (piece) => !left.includes(piece) && random() < 0.02,
    );
    note({ reopening: again });
    ledger.reopen(
      id,
      again.map((piece) => ({ start: BigInt(piece * 10), length: 10n })),
    );
    note({ reopened: again });
    left.push(...again);
  }
  // Sometimes closes and reopens the ledger: the log is written back to the file and restarted.
  if (random() < 0.05) {
    ledger.end(id, 'open');
    ledger.close();
    ledger = new Ledger(folder);
    ({ id } = ledger.begin(opening).job);
  }
}
ledger.end(id, 'open');
ledger.close();
