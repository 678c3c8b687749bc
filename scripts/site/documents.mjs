// Writes the documents as pages, with a menu and a search.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../prepare.mjs';
import { pages, sections } from './pages.mjs';
import { relative, render, toHtml } from './render.mjs';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** @param {string} folder */
export function writeDocuments(folder) {
  /** @type {(readonly string[])[]} */
  const index = [];
  /** @param {string} path @param {string} text */
  const write = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const page of pages) {
    const { html, headings, sections: parts, files } = render(readFileSync(join(root, page.source), 'utf8'), page);
    write(page.path, pageText(page, html, headings));
    for (const file of files) cpSync(join(root, file), join(folder, file));
    for (const { id, heading, text } of parts) index.push([page.path, page.title, id, heading, text]);
  }
  write('search-index.js', `window.searchIndex = ${JSON.stringify(index)};\n`);
  cpSync(join(root, 'src/web/page/theme.css'), join(folder, 'theme.css'));
  for (const name of ['page.css', 'page.js'])
    cpSync(fileURLToPath(new URL(`page/${name}`, import.meta.url)), join(folder, name));
}

/** @param {import('./pages.mjs').Page} page @param {string} html @param {readonly import('./render.mjs').Heading[]} headings */
function pageText(page, html, headings) {
  const to = (/** @type {string} */ path) => toHtml(relative(page.path, path));
  const parts = headings.filter(({ depth }) => depth === 2);
  const links = parts.map(({ id, text }) => `<li><a href="#${toHtml(id)}">${toHtml(text)}</a></li>`);
  const contents = `<details><summary>On this page</summary>\n<ul>\n${links.join('\n')}\n</ul></details>\n`;
  const menu = sections.map(([name, list]) => {
    const entries = list.map(({ path, title }) => {
      const current = path === page.path ? ' aria-current="page"' : '';
      return `<li><a href="${to(path)}"${current}>${toHtml(title)}</a></li>`;
    });
    return `<h2>${name}</h2>\n<ul>\n${entries.join('\n')}\n</ul>`;
  });
  const title = page.path === 'index.html' ? 'Millrace' : `${page.title} – Millrace`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${toHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to('theme.css')}">
<link rel="stylesheet" href="${to('page.css')}">
<script src="${to('page.js')}" data-base="${'../'.repeat(page.path.split('/').length - 1)}" defer></script>
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<header class="bar">
<a class="name" href="${to('index.html')}">Millrace</a>
<button type="button" id="menu" aria-controls="pages" aria-expanded="false">Pages</button>
<a href="${to('playground/index.html')}">Playground</a>
<div class="search" id="search" role="search">
<label class="hidden" for="query">Search</label>
<input type="search" id="query" placeholder="Search ( / )" autocomplete="off" spellcheck="false">
<output class="hidden" id="found" for="query"></output>
<ol id="results" hidden></ol>
</div>
</header>
<div class="columns">
<nav id="pages" aria-label="Pages">
${menu.join('\n')}
</nav>
<main id="text" tabindex="-1">
${parts.length > 3 ? html.replace(/<\/h1>\n/, (end) => `${end}${contents}`) : html}
</main>
</div>
</body>
</html>
`;
}
