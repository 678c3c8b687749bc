import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Files } from './files.js';

test('a folder that was not built is reported with its path and the command that builds it', () => {
  const folder = join(import.meta.dirname, 'none');
  expect(() => new Files(folder)).toThrow(
    expect.objectContaining({
      code: 'io',
      summary: `the files of the page are missing: ${folder}`,
      advice: 'build them: npm run build',
    }),
  );
});

test('all files of the dashboard are smaller than 150 kB when compressed', () => {
  const folder = fileURLToPath(new URL('../../../dist/web/files', import.meta.url));
  const names = readdirSync(folder).filter((name) => /^(dashboard.*|start\.js)$/.test(name));
  expect(names.sort()).toEqual(['dashboard-chart.js', 'dashboard.css', 'dashboard.html', 'dashboard.js', 'start.js']);
  const sizes = names.map((name) => gzipSync(readFileSync(join(folder, name))).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
});
