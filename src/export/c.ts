import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildVersion } from '../console/command/version.js';
import { exampleText } from './c/example.js';
import { headerText } from './c/header.js';
import { kernelFiles } from './c/kernel-files.js';
import { projectFiles } from './c/project.js';
import { runtimeHeader, runtimeSource } from './c/runtime.js';
import { type Signature, signatureOf } from './c/signature.js';
import { kernelHeader, sourceText } from './c/source.js';
import { type VariantOptions, variantsOf } from './c/variants.js';
import type { ExportedFile, ExportRequest } from './request.js';

/** The package's licence, in a clone and in an installation. */
const LICENSE = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'LICENSE');

const EXAMPLE = 'example.c';

/** The generated C of one kernel: tables, functions, and its text for each target. */
export interface KernelSources {
  readonly signature: Signature;
  readonly files: readonly ExportedFile[];
  /** Names of the C files among them. */
  readonly sources: readonly string[];
  /** The lines that all files begin with. */
  readonly head: readonly string[];
  readonly version: string;
  readonly abi: number;
  readonly digest: string;
}

export function kernelSources(request: ExportRequest, options?: VariantOptions): KernelSources {
  const { kernel, name } = request;
  const signature = signatureOf(request);
  const variants = variantsOf(request, options);
  const abi = abiVersion();
  const version = buildVersion();
  const hash = createHash('sha256').update(JSON.stringify([signature, version, abi]));
  for (const { id, text } of variants) hash.update(`${id}\n${text}`);
  const digest = hash.digest('hex');
  const head = [
    `${name}: the kernel ${signature.kernel}, written by Millrace ${version} (millrace export ${kernel.source}).`,
    `ABI version ${abi}, kernel digest ${digest}.`,
    'SPDX-License-Identifier: Apache-2.0',
  ];
  const comment = blockComment(head);
  const made = kernelFiles(signature, variants, comment);
  const files = [
    { path: `${name}.h`, text: headerText(signature, comment) },
    { path: `${name}.c`, text: sourceText(signature, made, { digest, head: comment, spec: kernel }) },
    { path: `${name}_kernel.h`, text: kernelHeader(signature, made, comment) },
    ...made.files,
  ];
  const sources = [`${name}.c`, ...made.files.map(({ path }) => path)];
  return { signature, files, sources, head, version, abi, digest };
}

/** The runtime that all exported kernels share. */
export const runtimeFiles = (head: readonly string[]): ExportedFile[] => [
  { path: 'millrace_runtime.h', text: `${blockComment(head)}\n${runtimeHeader()}` },
  { path: 'millrace_runtime.c', text: `${blockComment(head)}\n${runtimeSource()}` },
];

export const licenseFile = (): ExportedFile => ({ path: 'LICENSE', text: readFileSync(LICENSE, 'utf8') });

export const blockComment = (lines: readonly string[]): string => `/* ${lines.join('\n   ')} */`;

/** Exports a kernel as a C library with its build files. */
export function exportC(request: ExportRequest, options?: VariantOptions): ExportedFile[] {
  const { kernel, targets, name } = request;
  const { signature, files, sources, head, version, abi, digest } = kernelSources(request, options);
  const comment = blockComment(head);
  const given = kernel.interface?.(name, version) ?? [];
  const own = given.filter(({ path }) => path !== EXAMPLE);
  const example = given.find(({ path }) => path === EXAMPLE);
  const command = `millrace export ${kernel.source} --targets ${targets.join(',')}`;
  const project = {
    signature,
    sources: [...sources, ...namesOf(own, '.c')],
    headers: own.filter(({ path }) => path.endsWith('.h')),
    version,
    abi,
    digest,
    command,
    targets,
  };
  return [
    ...files,
    ...own.map(({ path, text }) => ({ path, text: `${comment}\n${text}` })),
    ...runtimeFiles(head),
    {
      path: EXAMPLE,
      text: example ? `${comment}\n${example.text}` : exampleText(signature, kernel, comment).replaceAll('NAME', name),
    },
    ...projectFiles(project, (begin) => head.map((line) => `${begin} ${line}`).join('\n')),
    licenseFile(),
  ];
}

const namesOf = (files: readonly ExportedFile[], end: string): string[] =>
  files.map(({ path }) => path).filter((path) => path.endsWith(end));

/** The version in the runtime's header. */
function abiVersion(): number {
  return Number(/#define MR_ABI_VERSION (\d+)/.exec(runtimeHeader())?.[1]);
}
