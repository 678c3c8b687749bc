import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns the licences of the packages whose code is in bundles.
 * @param {Iterable<string>} modules the files of all modules in them
 */
export function bundledLicences(modules) {
  const packages = new Set(
    [...modules].flatMap((id) => /^[^\0]*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0] ?? []),
  );
  return [...packages]
    .sort()
    .map((path) => {
      const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
      const file = readdirSync(path).find((one) => /^licen[cs]e/i.test(one));
      return `${name} ${version} (${license})\n\n${file ? readFileSync(join(path, file), 'utf8') : ''}`;
    })
    .join('\n----\n\n');
}
