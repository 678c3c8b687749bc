// One process that opens the native device, puts work in flight and ends in the way it is told:
//   node teardown-child.mjs WAY DELAY_MS
// It says "ready" once work is in flight; signals come from outside.
import { open } from '../dist/device/native/device.js';

const [, , way, delay] = process.argv;
const device = await open('native', { threads: 2 });
const spin = await device.load({
  name: 'spin',
  text: `#include <stdint.h>
uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const volatile uint32_t *control = (const volatile uint32_t *)launch[1];
  volatile uint32_t chain = 1;
  for (uint64_t i = begin; i < end; i++) {
    if (control[0] != (uint32_t)launch[2]) return i - begin;
    for (uint32_t k = 0; k < 1000; k++) chain = chain * 5 + 1;
  }
  return end - begin;
}
`,
  lanes: 1,
  lineOrigins: [],
  job: [],
  chunk: [],
  hit: [],
  bindings: [],
  params: { jobWords: 0, chunkWords: 0 },
  statements: 1,
  ring: { headerWords: 4, recordWords: 1 },
  sites: [],
  parameters: () => ({ words: () => new Uint32Array(1) }),
});

// Three streams: one with a launch that never ends, one with many small commands (more than the board holds), one that
// moves memory. "natural" ends by itself, so there everything is finite and nobody closes anything.
const finite = way === 'natural' || way === 'forgotten';
const [long, small, moving] = [device.stream(), device.stream(), device.stream()];
const buffer = await device.alloc(2 ** 22);
const host = new Uint8Array(2 ** 22);
const job = spin.bind({});
long.launch({ job, count: finite ? 5000 : 2 ** 32 });
for (let i = 0; i < 400; i++) small.launch({ job, count: 3 });
for (let i = 0; i < (finite ? 4 : 200); i++) {
  moving.write(buffer, host);
  moving.fill(buffer, i);
  moving.read(buffer, host);
}
small.wait(moving.mark());
const marks = way === 'forgotten' ? [] : [long.mark(), small.mark()];
process.stdout.write('ready\n');

await new Promise((resolve) => setTimeout(resolve, Number(delay)));
if (way === 'exit') process.exit(7);
if (way === 'throw') throw new Error('thrown on purpose');
if (way === 'natural') for (const mark of marks) await mark.done;
if (way === 'close') {
  await device.close();
  const outcomes = await Promise.allSettled(marks.map((mark) => mark.done));
  process.exitCode = outcomes[0]?.status === 'rejected' ? 5 : 6;
}
if (way === 'exit-in-close') {
  void device.close();
  setTimeout(() => process.exit(7), 1);
}
