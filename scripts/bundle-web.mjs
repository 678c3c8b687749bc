// Bundles the pages of the app (`src/web`) into the folder `web/files` of tsc's output, which is the argument. A page is a
// script (TSX, with everything it imports), a style sheet and an HTML file.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { root } from './prepare.mjs';

const [, , output = 'dist'] = process.argv;
const folder = join(output, 'web', 'files');
const web = join(root, 'src', 'web');
const packages = createRequire(import.meta.url);

/**
 * Scripts by name, and the files that make up each style sheet, in order.
 * @type {{ scripts: Record<string, string>, html: string, styles: string[] }[]}
 */
const pages = [
  {
    scripts: { dashboard: join(web, 'page', 'dashboard.tsx'), start: join(web, 'page', 'start.ts') },
    html: join(web, 'page', 'dashboard.html'),
    styles: [
      join(web, 'page', 'theme.css'),
      packages.resolve('uplot/dist/uPlot.min.css'),
      join(web, 'page', 'dashboard.css'),
      join(web, 'page', 'fleet', 'fleet.css'),
    ],
  },
];

mkdirSync(folder, { recursive: true });
for (const { scripts, html, styles } of pages) {
  const name = html.replace(/^.*[\\/]|\.html$/g, '');
  copyFileSync(html, join(folder, `${name}.html`));
  writeFileSync(join(folder, `${name}.css`), styles.map((file) => readFileSync(file, 'utf8')).join('\n'));
  await bundle(scripts);
}

/** @param {Record<string, string>} input */
async function bundle(input) {
  const build = await rolldown({
    input,
    platform: 'browser',
    // What the script of a page shares with `start` is in `start`: a third file would be one more request.
    preserveEntrySignatures: 'allow-extension',
    resolve: { extensionAlias: { '.js': ['.ts', '.tsx', '.js'] } },
    transform: {
      jsx: { runtime: 'automatic', importSource: 'preact' },
      define: { 'process.env.NODE_ENV': '"production"' },
    },
    onLog(_level, { code, message }) {
      // A page could not load any other unresolved import.
      if (code === 'UNRESOLVED_IMPORT') throw new Error(message);
      process.stderr.write(`${message}\n`);
    },
  });
  const names = { entryFileNames: '[name].js', chunkFileNames: 'dashboard-[name].js' };
  await build.write({ dir: folder, format: 'esm', minify: true, ...names });
  await build.close();
}
