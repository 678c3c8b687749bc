// Tests the errors of a real GPU: out of memory, source that its compiler rejects, an access that destroys the context.
// The device must work after each but the last, after which the process cannot use CUDA.
//   npm run build && node test/cuda/faults.mjs [--device cuda:0]
import { parseArgs } from 'node:util';
import { openDevice } from '../../dist/device/registry.js';
import { items, rw, std, u32 } from '../../dist/kernel/index.js';

const { values } = parseArgs({ options: { device: { type: 'string', default: 'cuda:0' } } });
let wrong = 0;
/** @param {string} what @param {() => Promise<unknown>} action @param {readonly (string | RegExp)[]} says */
async function refused(what, action, says) {
  const error = await action().then(
    () => undefined,
    (reason) => reason,
  );
  const text = String(error?.message ?? 'no error');
  const missing = says.filter((part) => !(typeof part === 'string' ? text.includes(part) : part.test(text)));
  if (missing.length > 0) wrong++;
  console.log(`--- ${what}: ${missing.length === 0 ? 'correct' : `WRONG, without ${missing.join(', ')}`}`);
  console.log(text.split('\n').slice(0, 14).join('\n'));
}

/** Returns a function of the kernel language with its own CUDA source. @param {string} name @param {string} text */
const bodied = (name, text) =>
  std({
    name,
    results: () => [u32],
    generic: (x) => [x],
    native: {
      cuda: {
        text: ({ args, results }) => text.replaceAll('$x', args[0] ?? '').replaceAll('$y', results[0] ?? ''),
      },
    },
  });
/** @param {string} name @param {ReturnType<typeof bodied>} f */
const using = (name, f) =>
  items(name, { buffers: { y: rw('u32') } }, ({ item, buffers }) => {
    const [value] = f(item);
    buffers.y.set(item, /** @type {typeof item} */ (value));
  });
const plus = items('plus', { job: { by: u32 }, buffers: { y: rw('u32') } }, ({ item, job, buffers }) =>
  buffers.y.set(item, item.add(job.by)),
);

/** @param {any} device */
async function works(device) {
  const program = await device.compile(plus);
  const [stream, y] = [device.stream(), await device.alloc(4096)];
  const into = new Uint32Array(1024);
  stream.launch({ job: program.bind({ by: 5 }), count: 1024, buffers: { y } });
  stream.read(y, into);
  await stream.mark().done;
  const right = into.every((value, i) => value === i + 5);
  if (!right) wrong++;
  console.log(`the device ${right ? 'works' : 'gives WRONG results'}`);
  y.free();
  stream.close();
}

const device = await openDevice(values.device);
await works(device);
const { memoryBytes = 2 ** 40 } = device.info;
await refused('twice its memory', () => device.alloc(2 * memoryBytes), [/GiB/, 'asked']);
await refused('all of its memory, three times', async () => {
  const third = Math.floor(memoryBytes / 2 / 4096) * 4096;
  const held = [];
  try {
    for (let k = 0; k < 3; k++) held.push(await device.alloc(third));
  } finally {
    for (const buffer of held) buffer.free();
  }
}, [/GiB free of/, 'asked']);
await works(device);
await refused('source that is not C', () => device.compile(using('broken', bodied('broken', '$y = $x + nonsense(;'))), [
  'nonsense',
  'faults.mjs',
]);
await works(device);
const poison = await device.compile(using('poison', bodied('poison', '$y = $x + *(volatile unsigned *)8ull;')));
const [stream, y] = [device.stream(), await device.alloc(4096)];
stream.launch({ job: poison.bind({}), count: 1024, buffers: { y } });
await refused('an access outside all memory', () => stream.mark().done, ['poison']);
await refused('an allocation after that', () => device.alloc(64), ['CUDA_ERROR']);
await device.close();
await refused('opening it again in this process', () => openDevice(values.device), ['restart the program']);
console.log(wrong === 0 ? 'all correct' : `${wrong} WRONG`);
process.exitCode = wrong === 0 ? 0 : 1;
