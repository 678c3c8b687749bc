import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportC } from '../src/export/c.js';
import { writeFiles } from '../src/export/write.js';
import { EASY_SCAN, GENESIS_NONCES, genesis } from '../src/workload/block/kernel/genesis.js';
import { checkNonce, headerPrefix, targetFromBits, targetText } from '../src/workload/block/kernel/reference.js';
import { exportedKernels } from '../src/workload/exported.js';
import { Plan } from '../src/workload/words/kernel/plan.js';
import { parseMask } from '../src/workload/words/space/mask.js';
import { millrace } from './command-line.js';
import { build, clang, compiler, exportTo, run, thisArch } from './export/build.js';
import { probe, scale } from './export/kernels.js';
import { openClShim } from './export/opencl.js';
import { isShort, patience } from './tier.js';

const minutes = (n: number): number => patience(n * 60_000);
const folder = mkdtempSync(join(tmpdir(), 'millrace-export-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const environment = { ...process.env, MILLRACE_EXPORT_CACHE: join(folder, 'cache') };

describe('millrace export', () => {
  test('writes a library for a file, which builds with make and runs', { timeout: minutes(5) }, async (ctx) => {
    const file = join(folder, 'zeros.ts');
    writeFileSync(
      file,
      `import { items, u32, when } from 'millrace';
       const kernel = items('ze-ros', { job: { bits: u32 }, hit: { zeros: u32 } }, ({ job, index, emit }) => {
         const zeros = index.lo.mul(0x9e3779b9).clz();
         when(zeros.ge(job.bits), () => emit({ zeros }));
       });
       export default { kernel, job: { bits: 9 }, space: { start: 1000n, length: 500_000n } };`,
    );
    const out = join(folder, 'zeros');
    const args = ['export', file, '--param', 'bits=17', '--out', out, '--targets', 'cpu', '--json'];
    const { status, events } = await millrace(args);
    expect(status).toBe(0);
    expect(events.at(-1)).toMatchObject({ event: 'done', language: 'c', targets: ['cpu'] });
    expect(readFileSync(join(out, 'example.c'), 'utf8')).toContain('.bits = 0x11');
    const names = readdirSync(out);
    for (const name of [
      'ze_ros.h',
      'ze_ros.c',
      'millrace_runtime.c',
      'Makefile',
      'CMakeLists.txt',
      'README.md',
      'LICENSE',
    ])
      expect(names).toContain(name);
    for (const name of names.filter((each) => each !== 'LICENSE')) {
      const text = readFileSync(join(out, name), 'utf8');
      expect(text, name).toMatch(/Apache-2\.0/);
      expect(text, name).toMatch(/ABI version 1, kernel digest/);
      expect(text, name).toMatch(/Millrace \d+\.\d+\.\d+/);
    }
    if (compiler) return ctx.skip(compiler);
    if (isShort) return;
    await run('make', ['-C', out, 'CC=gcc', 'CFLAGS=-Wall -Wextra -Werror'], { env: environment });
    const zerosOf = (index: number): number => Math.clz32(Math.imul(index, 0x9e3779b9));
    const right = Array.from({ length: 500_000 }, (_, at) => 1000 + at).filter((index) => zerosOf(index) >= 17);
    const lines = right.map((index) => `  index ${index} zeros ${zerosOf(index)}`);
    expect(readFileSync(join(out, 'example.out'), 'utf8')).toBe(
      `${[`cpu: ${lines.length} hits`, ...lines].join('\n')}\n`,
    );
    await run('make', ['-C', out, 'install', `PREFIX=${join(folder, 'usr')}`], { env: environment });
    await useInstalled(join(folder, 'usr'));
    const [cmake, prefix] = [join(folder, 'cmake'), join(folder, 'cmake-usr')];
    if (await isMissing('cmake')) return ctx.skip('no cmake');
    await run('cmake', ['-S', out, '-B', cmake, '-DCMAKE_BUILD_TYPE=Debug', `-DCMAKE_INSTALL_PREFIX=${prefix}`]);
    await run('cmake', ['--build', cmake]);
    await run('ctest', ['--test-dir', cmake, '--output-on-failure'], { env: environment });
    await run('cmake', ['--install', cmake]);
    await useInstalled(prefix);
  });

  /** Builds a C++ program against an installed library, as pkg-config says, and runs it. */
  async function useInstalled(prefix: string): Promise<void> {
    const file = join(prefix, 'caller.cpp');
    writeFileSync(
      file,
      `#include <ze_ros.h>
       #include <cstdio>
       int main() {
         mr_device *device;
         const ze_ros_job job = {20};
         ze_ros_hit hits[8];
         size_t found;
         if (mr_open("cpu:1", &device) != MR_OK) return 1;
         if (ze_ros_search(device, &job, 0, 1000, nullptr, hits, 8, &found) != MR_OK) return 2;
         std::printf("%zu %u\\n", found, hits[0].zeros);
         mr_close(device);
       }`,
    );
    const paths = { ...environment, PKG_CONFIG_PATH: join(prefix, 'lib/pkgconfig') };
    const flags = (await isMissing('pkg-config'))
      ? [`-I${prefix}/include`, `-L${prefix}/lib`, '-lze_ros', '-lm', '-ldl', '-lpthread']
      : (await run('pkg-config', ['--cflags', '--libs', '--static', 'ze_ros'], { env: paths })).stdout
          .trim()
          .split(/\s+/);
    await run('g++', ['-std=c++17', '-Wall', '-Wextra', '-Werror', file, '-o', `${file}.out`, ...flags]);
    const { stdout } = await run(`${file}.out`, { env: { ...environment, LD_LIBRARY_PATH: join(prefix, 'lib') } });
    expect(stdout).toBe('1 32\n'); // only index 0 has 20 leading zeros and more
  }

  test('refuses with words', async () => {
    const refused = async (...args: string[]): Promise<string> => {
      const { status, stderr } = await millrace(['export', ...args, '--out', join(folder, 'refused')]);
      expect(status).toBe(64);
      return stderr;
    };
    expect(await refused('uhash')).toMatch(/uhash is a chain of launches.*cannot be exported/s);
    expect(await refused('gaps')).toMatch(/gaps is a chain of launches/);
    expect(await refused('nonsense')).toMatch(/unknown kernel "nonsense".*block, words, encode/s);
    expect(await refused('block', '--targets', 'cpu,webgpu')).toMatch(/cpu, cuda, opencl/);
    expect(await refused('block', '--name', '9lives')).toMatch(/cannot be the prefix of C functions/);
    expect(await refused('block', '--param', 'x=1')).toMatch(/no parameter x/);
    expect(await refused('block', '--pipeline', 'persistent')).toMatch(/only CUDA programs have a pipeline/);
    expect(await refused('encode', '--param', 'encoding=iqp')).toMatch(/iqp is a chain of launches/);
    expect(await refused('encode', '--param', 'qubits=99')).toMatch(/99 is not a number of qubits/);
  });
});

describe('an exported library', () => {
  const own = join(folder, 'own');
  beforeAll(() => {
    exportTo(own, 'probe', probe, { arch: thisArch });
    exportTo(own, 'scale', scale, { arch: thisArch });
  });

  test('has headers for C and C++', { timeout: minutes(2) }, async (ctx) => {
    if (compiler) return ctx.skip(compiler);
    const text =
      '#include "probe.h"\n#include "scale.h"\nint main(void) { return probe_kernel.abi == MR_ABI_VERSION; }\n';
    writeFileSync(join(own, 'caller.c.txt'), text);
    const flags = ['-Wall', '-Wextra', '-Wconversion', '-Werror', '-fsyntax-only', `-I${own}`];
    for (const name of ['gcc', ...(clang ? [] : ['clang'])])
      for (const language of [
        ['-x', 'c', '-std=c11'],
        ['-x', 'c++', '-std=c++17'],
      ])
        await run(name, [...flags, ...language, join(own, 'caller.c.txt')]);
    expect(readFileSync(join(own, 'probe.h'), 'utf8')).toContain('float half[2];');
    // States have a row for each sample, as samples have: there is nothing that could be generated from indices alone.
    const encode = exportC({ kernel: exportedKernels.encode!(new Map()), name: 'encode', targets: ['cpu'] });
    const declared = encode.find(({ path }) => path === 'encode.h')?.text;
    expect(declared).toContain('int encode_transform(');
    expect(declared).not.toContain('encode_generate');
  });

  test('runs raw launches, and refuses bad arguments', { timeout: minutes(5) }, async (ctx) => {
    if (isShort) return ctx.skip('it compiles the runtime, as test/words-c.test.ts does: npm run test:all');
    if (compiler) return ctx.skip(compiler);
    for (const name of ['raw', 'bad']) {
      const program = await build(own, name, { optimize: '-O0' });
      expect(await run(program, ['cpu:2'], { env: environment })).toEqual(ok);
      for (const env of await openClEnvironments()) expect(await run(program, ['opencl'], { env })).toEqual(ok);
    }
  });

  describe.skipIf(isShort)('in the tier all', { timeout: minutes(30) }, () => {
    test.for(['cpu:3', 'cpu:1,cpu:2', 'opencl', 'opencl,cpu'])(
      'searches, generates and transforms on %s',
      async (device, ctx) => {
        if (compiler) return ctx.skip(compiler);
        const environments = device.includes('opencl') ? await openClEnvironments() : [environment];
        if (environments.length === 0) return ctx.skip('no OpenCL');
        const program = await build(own, 'tasks');
        for (const env of environments) expect(await run(program, [device], { env })).toEqual(ok);
      },
    );

    test('builds with clang', async (ctx) => {
      if (clang) return ctx.skip(clang);
      const program = await build(own, 'raw', { cc: 'clang' });
      expect(await run(program, ['cpu:2'], { env: environment })).toEqual(ok);
      expect(await run(await build(own, 'tasks', { cc: 'clang' }), ['cpu:3'], { env: environment })).toEqual(ok);
    });

    const sanitizers = {
      'address,undefined': ['-fsanitize=address,undefined', '-fno-sanitize=alignment', '-fno-sanitize-recover=all'],
      thread: ['-fsanitize=thread'],
    };
    test.for(Object.entries(sanitizers))('is clean with -fsanitize=%s', async ([, flags], ctx) => {
      if (compiler) return ctx.skip(compiler);
      const program = await build(own, 'tasks', { flags });
      for (const device of ['cpu:3', 'cpu:1,cpu:2'])
        expect((await run(program, [device], { env: environment })).stdout).toBe('ok\n');
    });

    test('is clean under valgrind', async (ctx) => {
      const reason = await run('valgrind', ['--version']).then(
        () => compiler,
        () => 'no valgrind',
      );
      if (reason) return ctx.skip(reason);
      const flags = ['-q', '--error-exitcode=9', '--leak-check=full'];
      for (const name of ['raw', 'bad'])
        expect((await run('valgrind', [...flags, await build(own, name), 'cpu:2'], { env: environment })).stdout).toBe(
          'ok\n',
        );
    });

    test('turns each failure of the system into a status and a text', async (ctx) => {
      if (compiler) return ctx.skip(compiler);
      const program = await build(own, 'faults', { flags: sanitizers['address,undefined'], faults: true });
      const attempt = async (device: string, env: NodeJS.ProcessEnv): Promise<void> => {
        const { stdout, stderr } = await run(program, [device], { env });
        expect(stderr).toBe('');
        expect(Number(/^ok, \d+ calls, (\d+) failures/.exec(stdout)?.[1])).toBeGreaterThan(20);
      };
      for (const device of ['cpu:2', 'cpu:1,cpu:1']) await attempt(device, environment);
      for (const env of await openClEnvironments()) await attempt('opencl', env);
    });
  });
});

describe.skipIf(isShort)('block in C', { timeout: minutes(30) }, () => {
  const own = join(folder, 'block');

  test.for(['cpu', 'opencl'])('finds the published nonces on %s', async (device, ctx) => {
    if (compiler) return ctx.skip(compiler);
    if (device === 'opencl' && !(await hasOpenCl())) return ctx.skip('no OpenCL');
    const request = { kernel: exportedKernels.block!(new Map()), name: 'block', targets: ['cpu', 'opencl'] as const };
    writeFiles(own, exportC(request, { arch: thisArch }));
    const program = await build(own, 'block', { optimize: '-O2' });
    const prefix = Buffer.from(headerPrefix(genesis)).toString('hex');
    const lines = [
      ...published.map(({ header, target, chain_nonce: nonce }) => {
        const start = Math.max(0, nonce - 40);
        const tried = Array.from({ length: Math.min(100, 2 ** 32 - start) }, (_, at) => start + at);
        const bytes = Buffer.from(header.slice(0, 152), 'hex');
        const nonces = tried.filter((each) => checkNonce(bytes, BigInt(`0x${target}`), each).valid);
        expect(nonces).toContain(nonce);
        return { line: `${header.slice(0, 152)} ${target} ${start} ${tried.length}`, nonces };
      }),
      ...GENESIS_NONCES.map((nonce) => ({
        line: `${prefix} ${targetText(targetFromBits(genesis.bits))} ${nonce - 777} 1000`,
        nonces: [nonce],
      })),
    ];
    const easy = `${prefix} ${targetText(EASY_SCAN.target)} 0 ${EASY_SCAN.count}`;
    const input = [...lines.map(({ line }) => line), easy].join('\n');
    const answers = (await runWith(program, [device], `${input}\n`)).trimEnd().split('\n');
    expect(answers).toHaveLength(lines.length + 1);
    lines.forEach(({ nonces }, at) => {
      expect(answers[at]!.split(' ').map(Number)).toEqual(nonces);
    });
    const found = answers.at(-1)!.split(' ').map(Number);
    expect(found).toHaveLength(EASY_SCAN.hits);
    for (const nonce of found) expect(checkNonce(headerPrefix(genesis), EASY_SCAN.target, nonce).valid).toBe(true);
  });
});

describe.skipIf(isShort)('words and encode in C', { timeout: minutes(30) }, () => {
  test('words are those of maskprocessor, up to the border of 2^64', async (ctx) => {
    if (compiler) return ctx.skip(compiler);
    const own = join(folder, 'words');
    const request = { kernel: exportedKernels.words!(new Map()), name: 'words', targets: ['cpu', 'opencl'] as const };
    writeFiles(own, exportC(request, { arch: thisArch }));
    const program = await build(own, 'words', { optimize: '-O2' });
    const windows = golden<WordWindow[]>('words/golden_index_windows.json').filter(
      ({ custom }) => Object.keys(custom).length === 0,
    );
    expect(windows.length).toBeGreaterThan(10);
    const devices = ['cpu', ...((await hasOpenCl()) ? ['opencl'] : [])];
    for (const { mask, start, words } of windows) {
      const stride = writeTables(own, mask, BigInt(start), words.length);
      for (const device of devices) {
        await run(program, [device, own, String(stride), String(words.length)], { env: environment });
        expect(readFileSync(join(own, 'out'), 'latin1'), `${mask} from ${start} on ${device}`).toBe(words.join(''));
      }
    }
  });

  test.for(['amplitude', 'angle'])('%s gives the published states', async (encoding, ctx) => {
    if (compiler) return ctx.skip(compiler);
    const QUBITS = 2;
    const samples = golden<{ single: EncodedSample[] }>(`encode/${encoding}.json`).single.filter(
      ({ num_qubits: qubits, input }) => qubits === QUBITS && input.length === (encoding === 'angle' ? QUBITS : 4),
    );
    expect(samples.length).toBeGreaterThan(2);
    const own = join(folder, encoding);
    const params = new Map([
      ['encoding', encoding],
      ['qubits', String(QUBITS)],
    ]);
    const targets = ['cpu', 'opencl'] as const;
    writeFiles(own, exportC({ kernel: exportedKernels.encode!(params), name: 'encode', targets }, { arch: thisArch }));
    const bytes = { in: 8 * samples[0]!.input.length, out: 16 * 2 ** QUBITS };
    const flags = [`-DIN_BYTES=${bytes.in}`, `-DOUT_BYTES=${bytes.out}`, ...(encoding === 'angle' ? [] : ['-DNORMS'])];
    const program = await build(own, 'encode', { flags });
    const [input, output] = [join(own, 'x.bin'), join(own, 'states.bin')];
    writeFileSync(input, Float64Array.from(samples.flatMap((sample) => sample.input)));
    const right = samples.flatMap(({ re, im }) => re.flatMap((value, at) => [value, im[at] ?? 0]));
    for (const device of ['cpu', ...((await hasOpenCl()) ? ['opencl'] : [])]) {
      await run(program, [device, input, output, String(samples.length)], { env: environment });
      const states = new Float64Array(new Uint8Array(readFileSync(output)).buffer);
      expect(states).toHaveLength(right.length);
      for (const [at, value] of right.entries()) expect(states[at]).toBeCloseTo(value, 14);
    }
  });
});

interface WordWindow {
  readonly mask: string;
  readonly custom: Readonly<Record<string, string>>;
  readonly start: string;
  readonly words: readonly string[];
}
interface EncodedSample {
  readonly num_qubits: number;
  readonly input: readonly number[];
  readonly re: readonly number[];
  readonly im: readonly number[];
}
const golden = <T>(name: string): T => JSON.parse(readFileSync(new URL(`data/${name}`, import.meta.url), 'utf8')) as T;

/** Writes the tables of one launch as test/export/words.c reads them; returns the bytes of a word. */
function writeTables(into: string, mask: string, start: bigint, count: number): number {
  const plan = new Plan(parseMask(mask), 'canonical', '');
  const quads = Math.ceil((count * plan.stride) / 256) * 16; // whole items of the CPU's kernel
  const { chunk, far } = plan.launch(start, quads, new Uint8Array(plan.farBytes(quads)));
  const { block, period, phases, rows, periods, step } = plan.job;
  const files = {
    job: Uint32Array.from([...block, ...period, ...phases, ...rows, periods, step]),
    chunk: Uint32Array.from([chunk.quad, chunk.shift, chunk.block, chunk.row]),
    near: plan.near,
    middle: plan.middle,
    far,
  };
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(into, name), bytes);
  return plan.stride;
}

interface PublishedBlock {
  readonly header: string;
  readonly target: string;
  readonly chain_nonce: number;
}
const published = JSON.parse(
  readFileSync(new URL('data/block/mainnet/vectors.json', import.meta.url), 'utf8'),
) as readonly PublishedBlock[];

/** Runs a program with a text on its standard input. */
async function runWith(program: string, args: readonly string[], input: string): Promise<string> {
  const running = run(program, args, { env: environment });
  running.child.stdin?.end(input);
  return (await running).stdout;
}

const ok = { stdout: 'ok\n', stderr: '' };

const isMissing = (program: string): Promise<boolean> =>
  run(program, ['--version']).then(
    () => false,
    () => true,
  );

let shim: ReturnType<typeof openClShim> | undefined;
/** The environments in which programs use OpenCL; none if it is not here. */
async function openClEnvironments(): Promise<NodeJS.ProcessEnv[]> {
  shim ??= openClShim(folder);
  const found = await shim;
  return 'reason' in found ? [] : (['own', 'gpu'] as const).map((face) => ({ ...environment, ...found(face) }));
}
const hasOpenCl = async (): Promise<boolean> => (await openClEnvironments()).length > 0;
