import { type ExecFileOptions, execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportPython } from '../src/export/python/python.js';
import { writeFiles } from '../src/export/write.js';
import { items, type Kernel, rw, u32 } from '../src/kernel/index.js';
import { exportedKernels } from '../src/workload/exported.js';
import { millrace } from './command-line.js';
import { buildFake, type Fake } from './cuda/fake.js';
import { compiler, thisArch } from './export/build.js';
import { probe, scale } from './export/kernels.js';
import { byTier, isShort, patience } from './tier.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const data = join(root, 'test', 'data', 'encode');
const program = (name: string): string => join(root, 'test', 'python', name);
const folder = mkdtempSync(join(tmpdir(), 'millrace-python-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const minutes = (n: number): number => patience(n * 60_000);
const python = await run('python3', ['-c', 'import sys, numpy; assert sys.version_info >= (3, 9)']).then(
  () => undefined,
  () => 'no Python 3.9 with NumPy',
);
const missing = python ?? compiler;

/** Two words for each index: its square plus a job value, and the index itself. */
const squares = items('squares', { job: { add: u32 }, buffers: { out: rw(u32) } }, ({ job, item, index, buffers }) => {
  buffers.out.set(item.mul(2), index.lo.mul(index.lo).add(job.add));
  buffers.out.set(item.mul(2).add(1), index.lo);
});

function exportTo(out: string, name: string, kernel: Kernel): void {
  const request = {
    kernel: { source: name, cpu: { kernel }, gpu: { kernel } },
    name,
    targets: ['cpu', 'cuda', 'opencl'] as const,
  };
  writeFiles(out, exportPython(request, { arch: thisArch }));
}

/** Parses all Python files of a folder as Python 3.9 does. */
const PARSE = `
import ast, os, sys
for folder, _, files in os.walk(sys.argv[1]):
    for name in files:
        if name.endswith((".py", ".pyi")):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                ast.parse(file.read(), name, feature_version=(3, 9))
                file.seek(0)
                assert all(len(line) <= 125 for line in file.read().split("\\n")), name
`;

describe('millrace export --language python', () => {
  test('writes a package with C, stubs and a build that needs nothing', { timeout: minutes(2) }, async (ctx) => {
    const file = join(folder, 'zeros.ts');
    writeFileSync(
      file,
      `import { items, u32, when } from 'millrace';
       export default items('ze-ros', { job: { bits: u32, class: u32 }, hit: { zeros: u32 } }, ({ job, index, emit }) => {
         const zeros = index.lo.mul(0x9e3779b9).clz();
         when(zeros.ge(job.bits.add(job.class)), () => emit({ zeros }));
       });`,
    );
    const out = join(folder, 'zeros');
    const { status } = await millrace(['export', file, '--language', 'python', '--out', out, '--targets', 'cpu']);
    expect(status).toBe(0);
    expect(readdirSync(out).sort()).toEqual(
      ['LICENSE', 'Makefile', 'README.md', 'build_backend.py', 'c', 'pyproject.toml', 'ze_ros'].sort(),
    );
    expect(readdirSync(join(out, 'ze_ros')).sort()).toEqual(
      [
        '_device.py',
        '_device.pyi',
        '_kernel.py',
        '_library.py',
        '_library.pyi',
        '__init__.py',
        '__init__.pyi',
        'py.typed',
      ].sort(),
    );
    expect(readFileSync(join(out, 'pyproject.toml'), 'utf8')).toContain('requires = []');
    expect(readFileSync(join(out, 'ze_ros', '__init__.pyi'), 'utf8')).toContain('class_: int,');
    expect(readFileSync(join(out, 'ze_ros', '_library.py'), 'utf8')).toMatch(
      /ABI version 1, kernel digest[\s\S]*ABI = 1/,
    );
    if (!compiler) await checkC();
    if (python) return ctx.skip(python);
    await run('python3', ['-c', PARSE, out]);
    await run('python3', ['-c', PARSE, join(root, 'src', 'workload', 'encode', 'library', 'python')]);
  });

  test('refuses names and kernels that Python cannot have', async () => {
    const refused = async (...args: string[]): Promise<string> => {
      const given = ['export', ...args, '--language', 'python', '--out', join(folder, 'refused')];
      const { status, stderr } = await millrace(given);
      expect(status).toBe(64);
      return stderr;
    };
    expect(await refused('block', '--name', 'Miner')).toMatch(/cannot be the name of a Python package/);
    expect(await refused('uhash')).toMatch(/uhash is a chain of launches/);
  });
});

describe.skipIf(isShort)('modules of kernels', { timeout: minutes(15) }, () => {
  const out = join(folder, 'modules');
  const environment = { ...process.env, PYTHONPATH: out, MILLRACE_EXPORT_CACHE: join(folder, 'cache') };
  beforeAll(async () => {
    if (missing) return;
    for (const [name, kernel] of Object.entries({ probe, scale, squares } as Record<string, Kernel>)) {
      exportTo(join(folder, name), name, kernel);
      await run('make', ['-s', '-C', join(folder, name), 'CFLAGS=-O1']);
      await run('mkdir', ['-p', out]);
      await run('cp', ['-r', join(folder, name, name), out]);
    }
  }, minutes(10));

  test.for(['cpu', 'cpu:3', 'opencl'])('search, generate and transform on %s', async (device, ctx) => {
    if (missing) return ctx.skip(missing);
    if (device === 'opencl' && !(await hasOpenCl(environment, 'probe'))) return ctx.skip('no OpenCL');
    const { stdout } = await run('python3', ['-X', 'dev', program('generic.py'), device], { env: environment });
    expect(stdout).toBe('ok\n');
  });

  test('the module of the document runs', async (ctx) => {
    if (missing) return ctx.skip(missing);
    const own = join(folder, 'document');
    await millrace(['init', join(folder, 'kernel.ts')]);
    const exported = await millrace(['export', join(folder, 'kernel.ts'), '--language', 'python', '--out', own]);
    expect(exported).toMatchObject({ status: 0, stderr: `install the package with: pip install ${own}\n` });
    await run('make', ['-s', '-C', own, 'CFLAGS=-O1']);
    const code = programsOf(readFileSync(join(root, 'docs', 'python.md'), 'utf8')).find((each) =>
      each.startsWith('import zeros'),
    );
    // 2^32 indices are for a GPU.
    const short = code?.replace('cuda:0', 'cpu').replace('1 << 32', '1 << 21').replace('bits=28', 'bits=20') ?? '';
    const { stdout } = await run('python3', ['-c', short], { env: { ...environment, PYTHONPATH: own } });
    const [index = '', digest] = stdout.trim().split(' ');
    const message = Buffer.alloc(12);
    message.writeUInt32BE(2026, 0);
    message.writeBigUInt64BE(BigInt(index), 4);
    expect(digest).toBe(createHash('sha256').update(message).digest('hex'));
    expect(digest).toMatch(/^00000/);
  });

  test('pip installs the folder offline', async (ctx) => {
    if (missing) return ctx.skip(missing);
    const pip = await newPython(join(folder, 'venv'));
    if (!pip) return ctx.skip('no venv');
    const venv = join(folder, 'venv');
    await run(pip, ['-m', 'pip', 'install', '--no-index', '--no-build-isolation', join(folder, 'scale')]);
    const { stdout } = await run(
      pip,
      [
        '-c',
        'import scale, os; print(scale.transform(memoryview(bytes(16)).cast("B").cast("f", (2, 2)), by=1, class_=0).tolist(), scale.__version__)',
      ],
      { cwd: venv },
    );
    expect(stdout).toMatch(/^\[0\.0, 1\.0\] \d+\.\d+\.\d+\n$/);
    const { stdout: files } = await run(pip, ['-m', 'pip', 'show', '-f', 'scale']);
    for (const name of ['scale/__init__.pyi', 'scale/libscale.so', 'scale/py.typed']) expect(files).toContain(name);
    await run(pip, ['-m', 'pip', 'uninstall', '-y', 'scale']);
  });
});

describe.skipIf(isShort)('the encoder', { timeout: minutes(30) }, () => {
  const out = join(folder, 'encode');
  const environment = { ...process.env, PYTHONPATH: out, MILLRACE_EXPORT_CACHE: join(folder, 'cache') };
  let fake: Fake | { readonly reason: string };
  beforeAll(async () => {
    if (missing) return;
    const kernel = exportedKernels.encode?.(new Map());
    if (!kernel) throw new TypeError('encode is not exported');
    writeFiles(out, exportPython({ kernel, name: 'encode', targets: ['cpu', 'cuda', 'opencl'] }, { arch: thisArch }));
    await run('make', ['-s', '-j2', '-C', out]);
    fake = await buildFake();
  }, minutes(20));
  afterAll(async () => {
    if (fake && 'remove' in fake) await fake.remove();
  });

  const temporary = join(folder, 'files');
  const ok = async (env: ExecFileOptions['env'], name: string, ...args: string[]): Promise<void> => {
    await run('mkdir', ['-p', temporary]);
    expect((await run('python3', ['-X', 'dev', program(name), ...args], { env })).stdout).toMatch(/^ok/);
  };
  const environmentOf = async (device: string): Promise<ExecFileOptions['env'] | { readonly reason: string }> => {
    if (device === 'cuda') return 'reason' in fake ? fake : { ...environment, ...fake.environment };
    if (device === 'opencl' && !(await hasOpenCl(environment, 'encode'))) return { reason: 'no OpenCL' };
    return environment;
  };

  test.for([
    ['cpu', 'vectors.py', data, 'cpu'],
    ['opencl', 'vectors.py', data, 'opencl'],
    ['cuda', 'vectors.py', data, 'cuda'],
    ['cpu', 'sizes.py', 'cpu', ...byTier(['3'], ['1', '2', '3', '7', '8', '9', '10', '11', '12', '13', '14', '16'])],
    ['opencl', 'sizes.py', 'opencl', '1', '5', '10', '11', '13', '14'],
    ['cpu', 'errors.py', data, 'cpu', temporary],
    ['opencl', 'errors.py', data, 'opencl', temporary],
    ['cuda', 'errors.py', data, 'cuda', temporary],
    ['cpu', 'files.py', data, 'cpu', temporary],
    ['cpu', 'signatures.py'],
    ['cpu', 'requests.py', data, 'cpu'],
    ['opencl', 'requests.py', data, 'opencl'],
    ['cpu', 'lifetimes.py', 'cpu', '10000'],
    ['cuda', 'device.py', data],
  ])('%s: %s', async ([device = '', name = '', ...args], ctx) => {
    if (missing) return ctx.skip(missing);
    const env = await environmentOf(device);
    if (env && 'reason' in env) return ctx.skip(String(env.reason));
    await ok(env, name, ...args);
    if (device === 'cuda' && 'calls' in fake) {
      expect(fake.calls().filter((call) => call.name === 'MISUSE')).toEqual([]);
      fake.clearCalls();
    }
  });

  test.for([
    ['pyarrow', 'Parquet and Arrow'],
    ['torch', 'PyTorch'],
  ] as const)('with %s, reads files of %s', async ([library], ctx) => {
    if (missing) return ctx.skip(missing);
    if (!(await isInstalled(library))) return ctx.skip(`${library} is not installed`);
    await run('mkdir', ['-p', temporary]);
    const { stdout } = await run('python3', [program('files.py'), data, 'cpu', temporary], { env: environment });
    expect(stdout).not.toMatch(library === 'torch' ? /\.pt/ : /\.parquet/);
  });

  test('PyTorch takes the states: values, gradients, lifetimes, workers of a DataLoader', async (ctx) => {
    if (missing) return ctx.skip(missing);
    if (!(await isInstalled('torch'))) return ctx.skip('torch is not installed');
    const { stdout } = await run('python3', [program('consumer.py'), data, 'cpu'], { env: environment });
    expect(stdout).toMatch(/^workers +ok/m);
    expect(stdout).toMatch(/^ok$/m);
  });

  test('mypy finds no error in the stubs and in a program that uses them', async (ctx) => {
    if (missing) return ctx.skip(missing);
    if (!(await isInstalled('mypy'))) return ctx.skip('mypy is not installed');
    const mypy = ['-m', 'mypy', '--strict', '--cache-dir', join(folder, 'mypy')];
    await run('python3', [...mypy, join(out, 'encode', '__init__.pyi'), program('typed.py')], {
      env: { ...environment, MYPYPATH: out },
    });
    await expect(
      run('python3', [...mypy, '-c', 'import encode; encode.QdpEngine().encode([1.0], "two")'], {
        env: { ...environment, MYPYPATH: out },
      }),
    ).rejects.toMatchObject({ stdout: expect.stringMatching(/arg-type/) });
  });

  test('the benchmark writes its reports', async (ctx) => {
    if (missing) return ctx.skip(missing);
    const sizes = ['--qubits', '6', '--batch-size', '4', '--batches', '5', '--trials', '3', '--backend', 'cpu'];
    const { stdout } = await run(
      'python3',
      ['-m', 'encode.bench', ...sizes, '--output-prefix', join(folder, 'report')],
      {
        env: environment,
      },
    );
    const name = /wrote (\S+\.md) and (\S+\.json)/.exec(stdout);
    expect(name?.[1]).toMatch(/report_\d{8}_rep_config\.md$/);
    const text = readFileSync(name?.[1] ?? '', 'utf8');
    expect(text).toMatch(/- Date: \d{4}-\d\d-\d\dT/);
    expect(text).toMatch(/- Git commit: ([0-9a-f]{12}|unknown)/);
    expect(text).toMatch(/### end-to-end: engine, batches of 4\n\n\| Metric \| Median \| P95 \|/);
    expect(text).toMatch(
      /\| Throughput \(vectors\/sec\) \| \d+\.\d \| \d+\.\d \|\n\| 1 ÷ throughput \(ms\/vector\) \| \d+\.\d{3} \|/,
    );
    const report = JSON.parse(readFileSync(name?.[2] ?? '', 'utf8'));
    expect(report.parameters).toMatchObject({ qubits: 6, batch_size: 4, batches: 5, trials: 3, encoding: 'amplitude' });
    for (const row of report.rows) {
      expect(row.trials).toHaveLength(3);
      const [low = 0, middle = 0, high = 0] = [...row.trials].sort((a: number, b: number) => a - b);
      expect(row.throughput.median).toBeCloseTo(middle, 6);
      expect(row.throughput.p95).toBeCloseTo(middle + (high - middle) * 0.9, 4);
      expect(low).toBeGreaterThan(0);
    }
  });

  test('one command runs chosen parts, and ends with a table', async (ctx) => {
    if (missing) return ctx.skip(missing);
    const parts = ['--backend', 'cpu', '--quick', '--only', 'build,vectors,calls,pinned'];
    const { stdout } = await run('python3', [program('gpu.py'), out, ...parts], { env: environment });
    const table = stdout.slice(stdout.lastIndexOf('s in all'));
    for (const name of ['build', 'vectors', 'calls', 'pinned']) expect(table).toMatch(new RegExp(`^${name} +ok `, 'm'));
    expect(table).toMatch(/^ {2}engine, plain samples, 64 +[\d,]+ vec\/s, 2 trials$/m);
    // A part that fails is a line of the table, and the next ones run.
    const failed = run('python3', [program('gpu.py'), out, '--backend', 'none', '--quick', '--only', 'vectors,build']);
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^vectors +FAILED +1: .*none/m),
    });
  });

  test('pip installs the encoder, and the first program of the document runs', async (ctx) => {
    if (missing) return ctx.skip(missing);
    const venv = join(folder, 'encoder-venv');
    const installed = await newPython(venv);
    if (!installed) return ctx.skip('no venv');
    await run(installed, ['-m', 'pip', 'install', '--no-index', out]);
    const [first = ''] = programsOf(readFileSync(join(root, 'docs', 'python.md'), 'utf8'));
    const { stdout } = await run(installed, ['-c', first], {
      env: { ...process.env, MILLRACE_DEVICE: 'cpu' },
      cwd: venv,
    });
    expect(stdout).toMatch(/^<States 1 x 2 complex128 on cpu>\n\[\[\(0\.6\d*\+0j\), \(0\.8\d*\+0j\)\]\]\n$/);
  });

  test('the programs of the document run', async (ctx) => {
    if (missing) return ctx.skip(missing);
    const text = readFileSync(join(root, 'docs', 'python.md'), 'utf8');
    const blocks = programsOf(text);
    expect(blocks.length).toBeGreaterThan(3);
    const readme = programsOf(readFileSync(join(out, 'README.md'), 'utf8'));
    expect(readme).toHaveLength(1);
    for (const code of [...blocks, ...readme]) {
      if (/torch/.test(code)) continue; // run on a GPU by test/python/consumer.py
      if (/import zeros/.test(code)) continue; // above
      writeFileSync(join(folder, 'document.py'), code);
      await run('python3', [join(folder, 'document.py')], {
        env: { ...environment, MILLRACE_DEVICE: 'cpu' },
        cwd: folder,
      });
    }
  });
});

/** The Python programs of a document. */
const programsOf = (text: string): string[] =>
  [...text.matchAll(/```python\n([\s\S]*?)```/g)].map(([, code]) => code ?? '');

const isInstalled = (library: string): Promise<boolean> =>
  run('python3', ['-c', `import ${library}`]).then(
    () => true,
    () => false,
  );

/** Makes an environment of Python's and returns its interpreter; undefined if this Python cannot. */
const newPython = (venv: string): Promise<string | undefined> =>
  run('python3', ['-m', 'venv', '--system-site-packages', venv]).then(
    () => join(venv, 'bin', 'python'),
    () => undefined,
  );

/** The hand-written C of the encoder has no warnings. */
async function checkC(): Promise<void> {
  const folder = join(root, 'src', 'workload', 'encode', 'library', 'c');
  const files = readdirSync(folder).filter((name) => name.endsWith('.c'));
  const flags = ['-std=c11', '-Wall', '-Wextra', '-Wconversion', '-Werror', '-fsyntax-only'];
  const include = `-I${join(root, 'src', 'export', 'runtime')}`;
  await run('gcc', [...flags, include, ...files.map((name) => join(folder, name))]);
}

async function hasOpenCl(env: NodeJS.ProcessEnv, module: string): Promise<boolean> {
  const { stdout } = await run(
    'python3',
    ['-c', `import ${module}; print(any(one.kind == "opencl" for one in ${module}.devices()))`],
    { env },
  );
  return stdout === 'True\n';
}
