// Markdown to the HTML of a page: anchors of headings as on GitHub, links between documents as links between pages, the text
// under each heading for the search.
import { posix } from 'node:path';
import { classHighlighter, highlightCode } from '@lezer/highlight';
import { parser } from '@lezer/javascript';
import { Marked, Renderer } from 'marked';
import { pages } from './pages.mjs';

/**
 * @typedef {{ readonly depth: number, readonly id: string, readonly text: string }} Heading
 * @typedef {{ readonly id: string, readonly heading: string, readonly text: string }} Section
 * @typedef {{
 *   readonly html: string,
 *   readonly headings: readonly Heading[],
 *   readonly sections: readonly Section[],
 *   readonly files: readonly string[],
 * }} Rendered
 */

const bySource = new Map(pages.map((page) => [page.source, page]));
const typescript = parser.configure({ dialect: 'ts' });

/** @param {string} text */
export const toHtml = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
/** @param {string} html */
const fromHtml = (html) =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
/** @param {string} html */
const textOf = (html) =>
  fromHtml(html.replaceAll(/<\/?(a|code|em|span|strong)\b[^>]*>/g, '').replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim();

/** A path as seen from a page. @param {string} from @param {string} to */
export const relative = (from, to) => posix.relative(posix.dirname(from), to) || posix.basename(to);

/** @param {string} markdown @param {import('./pages.mjs').Page} page @returns {Rendered} */
export function render(markdown, { source, path }) {
  /** @type {Heading[]} */
  const headings = [];
  /** @type {Set<string>} */
  const files = new Set();
  /** @type {Map<string, number>} */
  const used = new Map();
  const plain = new Renderer();

  /** Where a link of the document leads in the site; undefined if the site does not have it. @param {string} href */
  const resolve = (href) => {
    if (/^([a-z]+:|#)/.test(href)) return href;
    const [file = '', anchor] = href.split('#');
    const target = posix.normalize(posix.join(posix.dirname(source), file));
    const known = bySource.get(target)?.path;
    if (known) return relative(path, known) + (anchor ? `#${anchor}` : '');
    if (!/^docs\/(img|operations)\/|^docs\/[^/]*\.json$/.test(target)) return undefined; // a source file
    files.add(target);
    return relative(path, target);
  };

  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }) {
        const inner = this.parser.parseInline(tokens);
        const text = textOf(inner);
        const slug = text
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
          .trim()
          .replaceAll(/\s/g, '-');
        const count = used.get(slug) ?? 0;
        used.set(slug, count + 1);
        const id = count === 0 ? slug : `${slug}-${count}`;
        headings.push({ depth, id, text });
        return `<h${depth} id="${toHtml(id)}">${inner} <a class="anchor" href="#${toHtml(id)}" aria-label="Link to ${toHtml(text)}">#</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const target = resolve(href);
        // A link whose text is a file's name has the page's title.
        const shown = bySource.get(inner)?.title ?? inner;
        return target === undefined ? inner : `<a href="${toHtml(target)}">${shown}</a>`;
      },
      image({ href, text }) {
        return `<img src="${toHtml(resolve(href) ?? href)}" alt="${toHtml(text)}">`;
      },
      html({ text }) {
        return text
          .replaceAll(/<!--[\s\S]*?-->\n?/g, '')
          .replaceAll(
            /\b(src|srcset|href)="([^"]*)"/g,
            (_, name, href) => `${name}="${toHtml(resolve(href) ?? href)}"`,
          );
      },
      table(token) {
        return `<div class="table" tabindex="0">${plain.table.call(this, token)}</div>\n`;
      },
      code({ text, lang = '' }) {
        const isScript = /^(ts|tsx|js|mjs)\b/.test(lang);
        return `<pre tabindex="0"><code>${isScript ? highlighted(text) : toHtml(text)}\n</code></pre>\n`;
      },
    },
  });
  const html = /** @type {string} */ (marked.parse(markdown));
  return { html, headings, sections: sectionsOf(html), files: [...files] };
}

/** @param {string} code */
function highlighted(code) {
  let html = '';
  highlightCode(
    code,
    typescript.parse(code),
    classHighlighter,
    (text, classes) => {
      html += classes ? `<span class="${classes}">${toHtml(text)}</span>` : toHtml(text);
    },
    () => {
      html += '\n';
    },
  );
  return html;
}

/** The text under each heading. @param {string} html @returns {Section[]} */
function sectionsOf(html) {
  return html
    .split(/(?=<h[1-6] id=)/)
    .map((part) => {
      const [, id = '', inner = ''] = /^<h[1-6] id="([^"]*)">(.*?) <a class="anchor"/s.exec(part) ?? [];
      const text = textOf(part.replace(/^<h[1-6] [\s\S]*?<\/h[1-6]>/, ''));
      return { id: fromHtml(id), heading: textOf(inner), text };
    })
    .filter(({ heading, text }) => heading !== '' || text !== '');
}
