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
import { signatureOf } from './c/signature.js';
import { kernelHeader, sourceText } from './c/source.js';
import { type VariantOptions, variantsOf } from './c/variants.js';
import type { ExportedFile, ExportRequest } from './request.js';

/** The package's licence, in a clone and in an installation. */
const LICENSE = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'LICENSE');

/** Exports a kernel as a C library with its build files. */
export function exportC(request: ExportRequest, options?: VariantOptions): ExportedFile[] {
  const { kernel, targets, name } = request;
  const signature = signatureOf(request);
  const variants = variantsOf(request, options);
  const abi = abiVersion();
  const version = buildVersion();
  const hash = createHash('sha256').update(JSON.stringify([signature, version, abi]));
  for (const { id, text } of variants) hash.update(`${id}\n${text}`);
  const digest = hash.digest('hex');
  const lines = [
    `${name}: the kernel ${signature.kernel}, written by Millrace ${version} (millrace export ${kernel.source}).`,
    `ABI version ${abi}, kernel digest ${digest}.`,
    'SPDX-License-Identifier: Apache-2.0',
  ];
  const head = `/* ${lines.join('\n   ')} */`;
  const files = kernelFiles(signature, variants, head);
  const own = kernel.interface?.(name, version) ?? [];
  const sources = [`${name}.c`, ...files.files.map(({ path }) => path), ...namesOf(own, '.c')];
  const command = `millrace export ${kernel.source} --targets ${targets.join(',')}`;
  const project = { signature, sources, headers: namesOf(own, '.h'), version, abi, digest, command, targets };
  return [
    { path: `${name}.h`, text: headerText(signature, head) },
    { path: `${name}.c`, text: sourceText(signature, files, { digest, head, spec: kernel }) },
    { path: `${name}_kernel.h`, text: kernelHeader(signature, files, head) },
    ...files.files,
    ...own.map(({ path, text }) => ({ path, text: `${head}\n${text}` })),
    { path: 'millrace_runtime.h', text: `${head}\n${runtimeHeader()}` },
    { path: 'millrace_runtime.c', text: `${head}\n${runtimeSource()}` },
    { path: 'example.c', text: exampleText(signature, kernel, head).replaceAll('NAME', name) },
    ...projectFiles(project, (begin) => lines.map((line) => `${begin} ${line}`).join('\n')),
    { path: 'LICENSE', text: readFileSync(LICENSE, 'utf8') },
  ];
}

const namesOf = (files: readonly ExportedFile[], end: string): string[] =>
  files.map(({ path }) => path).filter((path) => path.endsWith(end));

/** The version in the runtime's header. */
function abiVersion(): number {
  return Number(/#define MR_ABI_VERSION (\d+)/.exec(runtimeHeader())?.[1]);
}
