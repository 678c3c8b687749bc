// Makes the documents, with a search, and the playground as a folder for any web server: npm run site [FOLDER]. The
// playground's page has the devices of the browser alone; its WebAssembly needs two headers (docs/browser.md), which
// `_headers` sets on the hosts that read such a file.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ensureBuilt, ensureInstalled, orExit, PrepareError, root } from './prepare.mjs';
import { writeDocuments } from './site/documents.mjs';

const [, , name = 'site'] = process.argv;
const folder = resolve(name);
const files = join(root, 'dist', 'web', 'files');
const playground = join(folder, 'playground');
orExit(() => {
  if (name.startsWith('-')) throw new PrepareError(`npm run site has no option ${name}, only a folder`, '');
  // It is emptied first.
  if (existsSync(folder) && readdirSync(folder).length > 0 && !existsSync(join(playground, 'frame.html')))
    throw new PrepareError(`${folder} is not empty and holds no site: name another folder`, '');
  ensureInstalled();
  ensureBuilt();
});

rmSync(folder, { recursive: true, force: true });
mkdirSync(playground, { recursive: true });
writeDocuments(folder);
const isPart =
  /^(playground.*\.(js|css|txt)|millrace-.*-worker\.js|sandbox\.js|frame\.html|(examples|completion)\.json)$/;
for (const file of readdirSync(files)) if (isPart.test(file)) cpSync(join(files, file), join(playground, file));

const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');
const page = readFileSync(join(files, 'playground.html'), 'utf8')
  .replace(' data-server', '')
  .replace('<meta charset="utf-8" />', `$&\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`);
writeFileSync(join(playground, 'index.html'), page);
const headers = ['Cross-Origin-Opener-Policy: same-origin', 'Cross-Origin-Embedder-Policy: require-corp'];
writeFileSync(join(folder, '_headers'), `/*\n${headers.map((line) => `  ${line}\n`).join('')}`);
process.stderr.write(`millrace: ${folder} is ready for a web server\n`);
