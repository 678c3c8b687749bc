// Exported C libraries and CUDA programs on a real NVIDIA GPU, in one command.
//   npm run build && node test/export/gpu.mjs [--main DIST/cli/main.js] [--devices cuda,opencl] [--skip PART,…] [--rounds 3]
// Needs gcc; for `cu` nvcc, for `sanitizer` compute-sanitizer. Each part is a line of the table that is printed last; a
// part that fails does not stop the others. `--devices cpu` tries the script on a machine without a GPU. Exit code 0 only
// if nothing failed.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url));
const { values } = parseArgs({
  options: {
    main: { type: 'string', default: here('../../dist/cli/main.js') },
    devices: { type: 'string', default: 'cuda,opencl' },
    skip: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
  },
});
const devices = values.devices.split(',');
const skipped = values.skip.split(',');
const folder = mkdtempSync(join(tmpdir(), 'millrace-export-gpu-'));
const environment = { ...process.env, MILLRACE_EXPORT_CACHE: join(folder, 'cache') };

/** @type {string[]} */
const table = [];
let failures = 0;
/** Runs one part; what it returns stands in the table. @param {string} part @param {string} what @param {() => string} body */
function check(part, what, body) {
  if (skipped.includes(part)) return;
  const began = performance.now();
  let said = '';
  try {
    said = body();
  } catch (error) {
    failures++;
    said = `FAILED: ${/** @type {Error} */ (error).message.split('\n').slice(0, 12).join(' | ')}`;
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  table.push(`${part.padEnd(10)} ${what.padEnd(28)} ${seconds.padStart(6)} s  ${said}`);
  console.log(table.at(-1));
}

/** Runs a program; its standard output. @param {string} program @param {string[]} args */
function run(program, args, input = '', env = {}) {
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, {
    env: { ...environment, ...env },
    input,
    encoding: 'utf8',
    timeout: 240_000,
    maxBuffer: 2 ** 28,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${signal ?? status}: ${stdout}${stderr}`);
  return { stdout, stderr };
}

const millrace = (/** @type {string[]} */ ...args) =>
  execFileSync(process.execPath, [values.main, ...args], { encoding: 'utf8' });

const KERNEL = ['-std=gnu11', '-fno-strict-aliasing', '-fwrapv', '-ffp-contract=off', '-fno-math-errno'];
/** Builds a C program with all of a folder's libraries. @param {string} own @param {string} source @param {string[]} flags */
function build(own, source, flags = []) {
  for (const name of readdirSync(own).filter((each) => each.endsWith('.c') && each !== 'example.c')) {
    const object = join(own, `${name}.o`);
    if (!existsSync(object)) run('gcc', [...KERNEL, '-O2', '-g', `-I${own}`, '-c', '-o', object, join(own, name)]);
  }
  const objects = readdirSync(own).filter((name) => name.endsWith('.o'));
  const out = join(own, `program-${source.replaceAll(/\W/g, '-')}`);
  const libraries = objects.map((name) => join(own, name));
  run('gcc', [
    '-std=c11',
    '-O1',
    '-g',
    ...flags,
    `-I${own}`,
    '-o',
    out,
    here(source),
    ...libraries,
    '-lm',
    '-ldl',
    '-lpthread',
  ]);
  return out;
}
const isOk = (/** @type {{ stdout: string }} */ { stdout }) => {
  if (!stdout.startsWith('ok')) throw new Error(stdout);
  return stdout.trim();
};

/** A folder with the libraries of the test kernels. */
function ownLibrary() {
  const own = join(folder, 'own');
  const text = readFileSync(here('kernels.ts'), 'utf8').replace('../../src/kernel/index.js', 'millrace');
  mkdirSync(own);
  for (const name of ['probe', 'scale']) {
    const file = join(folder, `${name}.ts`);
    writeFileSync(file, `${text}\nexport default ${name};\n`);
    millrace('export', file, '--out', own);
  }
  return own;
}

const own = ownLibrary();
for (const device of devices)
  for (const name of ['raw', 'bad', 'tasks'])
    check('runtime', `${name}.c on ${device}`, () => isOk(run(build(own, `${name}.c`), [device])));

const block = join(folder, 'block');
millrace('export', 'block', '--out', block);
/** @type {{ header: string, target: string, chain_nonce: number }[]} */
const published = JSON.parse(readFileSync(here('../data/block/mainnet/vectors.json'), 'utf8'));
const sha256 = (/** @type {Uint8Array} */ bytes) => createHash('sha256').update(bytes).digest();

for (const device of devices)
  check('block', `published nonces on ${device}`, () => {
    const WIDTH = 2000;
    const lines = published.map(({ header, target, chain_nonce: nonce }) => {
      const start = Math.min(Math.max(0, nonce - 999), 2 ** 32 - WIDTH);
      return `${header.slice(0, 152)} ${target} ${start} ${WIDTH}\n`;
    });
    const answers = run(build(block, 'block.c'), [device], lines.join('')).stdout.trimEnd().split('\n');
    published.forEach(({ header, target, chain_nonce: nonce }, at) => {
      const found = (answers[at] ?? '').split(' ').map(Number);
      if (!found.includes(nonce)) throw new Error(`${nonce} was not found: ${found}`);
      for (const each of found) {
        const bytes = Buffer.from(header.slice(0, 152).padEnd(160, '0'), 'hex');
        bytes.writeUInt32LE(each, 76);
        const hash = sha256(sha256(bytes)).reverse().toString('hex');
        if (hash > target.padStart(64, '0')) throw new Error(`${each} is not valid: ${hash}`);
      }
    });
    return `${published.length} blocks`;
  });

for (const device of devices)
  check('speed', `block in C on ${device}`, () => {
    const program = build(block, 'block.c');
    const ranges = device === 'cpu' ? 1 : 24;
    const count = device === 'cpu' ? 2 ** 22 : 2 ** 32;
    const input = `${published[0]?.header.slice(0, 152)} ${'0'.repeat(63)}1 0 ${count}\n`;
    const time = (/** @type {number} */ lines) => {
      const began = performance.now();
      run(program, [device], input.repeat(lines));
      return (performance.now() - began) / 1000;
    };
    // One line more or less: what opening and compiling take is in both.
    const rates = Array.from({ length: Number(values.rounds) }, () => {
      const first = time(1);
      return (ranges * count) / (time(1 + ranges) - first) / 1e9;
    });
    return `${rates.map((rate) => rate.toFixed(3)).join(', ')} GH/s`;
  });

for (const device of devices.filter((name) => name === 'cuda'))
  for (const tool of ['memcheck', 'racecheck', 'synccheck'])
    check('sanitizer', `${tool} on ${device}`, () => {
      const common = [
        '--tool',
        tool,
        '--error-exitcode',
        '9',
        ...(tool === 'memcheck' ? ['--leak-check', 'full'] : []),
      ];
      const line = `${published[0]?.header.slice(0, 152)} ${published[0]?.target} 0 100000\n`;
      const said = [
        ...['raw', 'tasks'].map((name) => run('compute-sanitizer', [...common, build(own, `${name}.c`), device])),
        run('compute-sanitizer', [...common, build(block, 'block.c'), device], line),
      ];
      return said.map(({ stdout }) => /=* ((ERROR|RACECHECK) SUMMARY: .*)/.exec(stdout)?.[1] ?? stdout).join('; ');
    });

const words = join(folder, 'words');
millrace('export', 'words', '--out', words);
const sizes = ['-DROUNDS=300', '-DMANY=8000000', '-DTURNS=20'];
for (const device of devices)
  for (const name of [
    'words',
    'errors',
    'device',
    'several',
    'threads',
    'caller',
    ...(device === 'cuda' ? ['stream'] : []),
  ])
    check('words', `${name}.c on ${device}`, () =>
      isOk(run(build(words, `../words-c/${name}.c`, sizes), [], '', { MILLRACE_DEVICE: device })),
    );

for (const device of devices)
  check('speed', `words in C on ${device}`, () => {
    const program = build(words, '../words-c/speed.c');
    const given = device === 'cpu' ? ['64', '64', '64', '0.2'] : ['2048', '4096', '2048', '1'];
    const node = device === 'cpu' ? 'native' : `${device}:0`;
    /** The best median of the measurements with a name. @param {string} lines @param {RegExp} name */
    const best = (lines, name) =>
      Math.max(
        ...lines
          .split('\n')
          .filter((line) => line.includes('"measurement"'))
          .map((line) => JSON.parse(line))
          .filter((one) => name.test(one.name))
          .map((one) => one.perSecond.median),
      );
    /** Bytes a second, by what was measured. @type {Map<string, number[]>} */
    const rates = new Map();
    const add = (/** @type {string} */ name, /** @type {number} */ rate) =>
      rates.set(name, [...(rates.get(name) ?? []), rate]);
    // In turns with Node's own engine.
    for (let round = 0; round < Number(values.rounds); round++) {
      const { stdout } = run(program, given, '', { MILLRACE_DEVICE: device });
      for (const [, name = '', rate] of stdout.matchAll(/(\w+) (\S+)\n/g)) add(`C ${name}`, Number(rate));
      const lines = millrace('bench', 'words', '--device', node, '--only', 'resident,host', '--runs', '3', '--json');
      add('Node device', best(lines, /^8 characters/));
      add('Node host', best(lines, /to host memory/));
    }
    const text = (/** @type {number} */ rate) => (rate / 1e9).toFixed(1);
    return `${[...rates].map(([name, list]) => `${name} ${list.map(text).join(', ')}`).join('; ')} GB/s`;
  });

if (devices.includes('cuda'))
  for (const pipeline of ['poll', 'persistent'])
    check('cu', `block.cu, ${pipeline}`, () => {
      const out = join(folder, pipeline);
      millrace('export', 'block', '--language', 'cu', '--out', out, '--pipeline', pipeline);
      const program = join(out, 'block');
      run('nvcc', ['-O3', '-std=c++17', '-arch=native', '-o', program, join(out, 'block.cu')]);
      const data = here('../data/block');
      const inputs = ['course', 'mainnet', 'synthetic'].flatMap((name) =>
        readdirSync(join(data, name))
          .filter((file) => file.endsWith('.in'))
          .map((file) => join(data, name, file)),
      );
      let best = 0;
      for (const input of inputs) {
        const written = join(out, 'written');
        const { stderr } = run(program, [input, written]);
        if (!readFileSync(written).equals(readFileSync(input.replace(/in$/, 'out'))))
          throw new Error(`${input} differs`);
        best = Math.max(best, Number(/([\d.]+) GH\/s/.exec(stderr)?.[1] ?? 0));
      }
      return `${inputs.length} files byte for byte, fastest ${best} GH/s`;
    });

rmSync(folder, { recursive: true });
console.log(`\n${table.join('\n')}\n${failures === 0 ? 'all passed' : `${failures} FAILED`}`);
process.exitCode = failures === 0 ? 0 : 1;
