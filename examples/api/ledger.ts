// # Resume a search after a crash
//
// `openStore` opens a ledger. A job in it is identified by what it computes; its source hands out the ranges that are not
// done yet and records the others. After a crash the same lines resume the job.

import assert from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { between, items, openStore, programText, search, u32, when } from 'millrace';

const kernel = items('sevens', { hit: { n: u32 } }, ({ index, emit }) => {
  when(index.lo.rem(7).eq(0), () => emit({ n: index.lo }));
});
const directory = mkdtempSync(join(tmpdir(), 'millrace-example-'));
const space = between(0n, 10_000n);
const run = async (maxHits: number) => {
  const store = await openStore(directory);
  const job = await store.open<{ index: bigint; n: number }>({
    name: 'sevens',
    command: 'example',
    kernel: programText(kernel),
    params: {},
    space,
    call: { args: [], folder: '' },
  });
  let hits = 0;
  for await (const _ of search(kernel, { devices: 'wasm', space, source: job.source })) if (++hits === maxHits) break;
  await job.finish(hits < maxHits ? 'complete' : 'open');
  await store.close();
  return hits;
};
await run(10);
assert.equal(await run(Infinity), 1429); // hits that were found before are yielded again
rmSync(directory, { recursive: true });
