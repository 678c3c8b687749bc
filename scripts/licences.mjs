// Makes docs/licences.md from package-lock.json: node scripts/licences.mjs
// Lists the packages that are installed with Millrace, and their licences. test/licences.test.ts checks that it is current.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './prepare.mjs';

/**
 * @typedef {{ version?: string, license?: string, dev?: boolean, devOptional?: boolean, optional?: boolean, os?: string[] }} Locked
 */

export function licences() {
  /** @type {{ packages: Record<string, Locked> }} */
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const rows = Object.entries(packages).flatMap(([path, { version, license, dev, devOptional, optional, os }]) => {
    if (path === '' || dev) return [];
    const name = path.replace(/^.*node_modules\//, '');
    const when = os ? 'on its platform' : optional || devOptional ? 'unless optional ones are left out' : 'always';
    return [`| \`${name}\` | ${version} | ${license ?? 'not stated'} | ${when} |`];
  });
  return `# Licences of installed packages

Millrace is under the Apache License 2.0. These packages are installed with it (made by \`node scripts/licences.mjs\` from
the lock file):

| package | version | licence | installed |
| --- | --- | --- | --- |
${[...new Set(rows)].sort().join('\n')}
`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(join(root, 'docs', 'licences.md'), licences());
}
