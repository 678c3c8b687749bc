import { join } from 'node:path';
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
