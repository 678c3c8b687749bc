import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceCommit } from '../../console/command/version.js';
import { MillraceError } from '../../kernel/error.js';
import type { VariantOptions } from '../c/variants.js';
import { blockComment, type KernelSources, kernelSources, licenseFile, runtimeFiles } from '../c.js';
import type { ExportedFile, ExportRequest } from '../request.js';
import { moduleTexts } from './module.js';
import { pythonProjectFiles } from './project.js';

/** The hand-written Python, in the build and in the sources. */
const folder = fileURLToPath(new URL('text/', import.meta.url));

/** Exports a kernel as a Python package: C sources, a module over ctypes, and a build that needs only a C compiler. */
export function exportPython(request: ExportRequest, options?: VariantOptions): ExportedFile[] {
  const { kernel, name, targets } = request;
  checkModule(name);
  const engine = kernel.engine;
  if (engine) {
    const own = engine.kernels.map(({ name: each, ...spec }) =>
      kernelSources({ kernel: { source: kernel.source, ...spec }, name: `${name}_${each}`, targets }, options),
    );
    return packageFiles(request, own, { texts: engine.files(name), c: engine.sources(name), summary: engine.summary });
  }
  const own = kernelSources(request, options);
  const head = pythonHead(own);
  const { module, stub } = moduleTexts(own.signature, publicVersion(own), head);
  if (own.signature.shapes.length === 0) {
    throw new MillraceError({
      code: 'usage',
      message: `kernel ${own.signature.kernel} has neither hits nor a buffer that it writes`,
      asked: `a Python module of ${own.signature.kernel}`,
      advice: 'export it as C, which has raw launches',
    });
  }
  const texts = [
    { path: '__init__.py', text: module },
    { path: '__init__.pyi', text: stub },
  ];
  return packageFiles(request, [own], {
    texts,
    c: [],
    summary: `The kernel ${own.signature.kernel} on CPU, CUDA and OpenCL`,
  });
}

interface PackageParts {
  /** Files of the package folder. */
  readonly texts: readonly ExportedFile[];
  /** Hand-written C files. */
  readonly c: readonly ExportedFile[];
  readonly summary: string;
}

function packageFiles(
  { kernel, name }: ExportRequest,
  own: readonly KernelSources[],
  { texts, c, summary }: PackageParts,
): ExportedFile[] {
  const [first] = own;
  if (!first) throw new TypeError('a package of no kernels');
  const head = pythonHead(first);
  const inC = [
    ...own.flatMap(({ files }) => files),
    ...runtimeFiles(first.head),
    ...c.map(({ path, text }) => ({ path, text: `${blockComment(first.head)}\n${text}` })),
  ];
  const version = publicVersion(first);
  const values: Readonly<Record<string, string>> = {
    LIBRARY: `lib${name}.so`,
    ABI_VERSION: String(first.abi),
    PACKAGE: name,
    VERSION_NUMBER: version,
    KERNEL_SUMMARY: summary,
    MILLRACE_BUILD: `Millrace ${first.version}`,
    COMMIT_OF_SOURCE: sourceCommit() ?? 'unknown',
  };
  const filled = (text: string): string =>
    text.replaceAll(
      /\b(LIBRARY|ABI_VERSION|PACKAGE|VERSION_NUMBER|KERNEL_SUMMARY|MILLRACE_BUILD|COMMIT_OF_SOURCE)\b/g,
      (word) => values[word] ?? word,
    );
  // An engine has functions of its own in place of those of one kernel.
  const used = handWritten().filter(({ path }) => path !== '_kernel.py' || !kernel.engine);
  const shared = used.map(({ path, text }) => ({
    path: path === 'build_backend.py' ? path : `${name}/${path}`,
    text: `${head}\n${filled(text)}`,
  }));
  const sources = [
    ...own.flatMap((each) => each.sources),
    ...c.map(({ path }) => path).filter((path) => path.endsWith('.c')),
  ];
  const headers = inC.map(({ path }) => path).filter((path) => path.endsWith('.h') && path !== 'millrace_runtime.h');
  const usage = kernel.engine?.usage(name) ?? moduleUsage(name);
  const readme = readmeText({ name, summary, usage, source: kernel.source }, first);
  return [
    ...inC.map(({ path, text }) => ({ path: `c/${path}`, text })),
    ...shared,
    ...texts.map(({ path, text }) => ({
      path: `${name}/${path}`,
      text: text.startsWith(head) ? text : `${head}\n${filled(text)}`,
    })),
    { path: `${name}/py.typed`, text: '' },
    ...pythonProjectFiles({ name, sources, headers, version, summary, readme }, head),
    licenseFile(),
  ];
}

const handWritten = (): ExportedFile[] =>
  readdirSync(folder)
    .filter((file) => /\.pyi?$/.test(file))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(folder, path), 'utf8') }));

const pythonHead = ({ head }: KernelSources): string => head.map((line) => `# ${line}`).join('\n');

/** A version as Python's packages have it. */
const publicVersion = ({ version }: KernelSources): string => /^\d+\.\d+\.\d+/.exec(version)?.[0] ?? '0.0.0';

const moduleUsage = (name: string): string =>
  `The device is chosen when the program runs: \`${name}.Device("cuda:0")\`, or the variable \`MILLRACE_DEVICE\` (\`cpu\`, \`cpu:4\`, \`cuda\`,
\`cuda:1\`, \`opencl\`, several separated by commas, \`all\`).`;

interface Readme {
  readonly name: string;
  readonly summary: string;
  readonly usage: string;
  readonly source: string;
}

const readmeText = (
  { name, summary, usage, source }: Readme,
  { version, abi, digest }: KernelSources,
): string => `# ${name}

${summary}, as a Python package. Written by \`millrace export ${source} --language python\` (Millrace ${version}); it needs neither
Millrace nor Node. License: Apache-2.0. ABI version ${abi}, kernel digest \`${digest}\`.

\`pip install .\` builds and installs it, offline, with any Python from 3.9 on, \`make\` and GCC or clang. \`make\` alone builds
\`${name}/lib${name}.so\`, so that \`import ${name}\` works in this folder. \`help(${name})\` describes the functions.

${usage} CUDA needs the driver and NVRTC, OpenCL
its loader.
`;

function checkModule(name: string): void {
  if (/^[a-z][a-z0-9_]*$/.test(name)) return;
  throw new MillraceError({
    code: 'usage',
    message: `${JSON.stringify(name)} cannot be the name of a Python package`,
    asked: `--language python --name ${name}`,
    advice: 'use lower-case letters, digits and underscores, beginning with a letter',
  });
}
