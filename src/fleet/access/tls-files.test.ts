import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { givenTls, ownTls } from './tls-files.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-tls-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a user's own files are used as they are; clients get the authority, unless their system knows it", () => {
  const { certificate, key, ca } = ownTls(folder, 'f', ['127.0.0.1']);
  expect(givenTls(certificate, key, join(folder, 'ca.pem'))).toEqual({ certificate, key, ca });
  expect(givenTls(certificate, key, undefined)).toEqual({ certificate, key });
  expect(() => givenTls(certificate, key, join(folder, 'none.pem'))).toThrow(/none\.pem/);
});
