// docs/api.md, made from the types of the built package: npm run build && node scripts/api.mjs
// Every name that can be imported, with what its comment says and its declaration; test/api.test.ts holds it.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { root } from './prepare.mjs';

/** @typedef {{ name: string, file: string, text: string, comment: string }} Declared */
/** @typedef {any} Node an ESTree node; the parser's types change with it */

const dist = join(root, 'dist');
const entries = [
  ['millrace', 'index.d.ts'],
  ['millrace/words', 'workload/words/index.d.ts'],
];

export function apiReference() {
  const parts = entries.map(([name, file]) => `## ${name}\n\n${sections(join(dist, file ?? ''))}`);
  return `# What can be imported

Made from the types by \`node scripts/api.mjs\`. \`millrace/kernel\` is the language alone, \`millrace/browser\` what runs in
pages; both are parts of \`millrace\`. [language.md](language.md) and [engine.md](engine.md) say how things go together.

${parts.join('\n')}`;
}

/** By the folder that declares them, in the order in which they are exported. @param {string} file */
function sections(file) {
  /** @type {Map<string, Declared[]>} */
  const folders = new Map();
  const seen = new Set();
  for (const one of exported(file)) {
    if (seen.has(one.name)) continue;
    seen.add(one.name);
    const folder = relative(dist, dirname(one.file));
    folders.set(folder, [...(folders.get(folder) ?? []), one]);
  }
  return [...folders].map(([folder, all]) => `### ${folder}\n\n${all.map(entryOf).join('\n')}`).join('\n');
}

/** @param {Declared} one */
function entryOf({ name, comment, text }) {
  return `#### ${name}\n\n${comment === '' ? '' : `${comment}\n\n`}\`\`\`ts\n${text}\n\`\`\`\n`;
}

/** What a module exports, from wherever it comes. @param {string} file @returns {Declared[]} */
function exported(file) {
  const { source, body } = parsed(file);
  return body.flatMap((/** @type {Node} */ node) => {
    if (node.type === 'ExportAllDeclaration') return exported(beside(file, node.source.value));
    if (node.type !== 'ExportNamedDeclaration') return [];
    if (node.declaration) return [declared(file, source, node)];
    return node.specifiers.flatMap((/** @type {Node} */ { local, exported: as }) => {
      const [one] = node.source
        ? exported(beside(file, node.source.value)).filter(({ name }) => name === local.name)
        : imported(file, body, local.name);
      return one ? [{ ...one, name: as.name }] : [];
    });
  });
}

/** A name that a module has imported and exports again. @param {string} file @param {Node[]} body @param {string} name */
function imported(file, body, name) {
  const from = body.find(
    (node) =>
      node.type === 'ImportDeclaration' && node.specifiers.some((/** @type {Node} */ { local }) => local.name === name),
  );
  return from ? exported(beside(file, from.source.value)).filter((one) => one.name === name) : [];
}

/** @type {Map<string, { source: string, body: Node[] }>} */
const known = new Map();
/** @param {string} file */
function parsed(file) {
  const found = known.get(file);
  if (found) return found;
  const source = readFileSync(file, 'utf8');
  const one = { source, body: /** @type {Node[]} */ (parseAst(source, { lang: 'dts' }).body) };
  known.set(file, one);
  return one;
}

/** @param {string} file @param {string} specifier */
function beside(file, specifier) {
  const path = join(dirname(file), specifier.replace(/\.js$/, '.d.ts'));
  if (!existsSync(path)) throw new Error(`${file} exports from ${specifier}, which is not there`);
  return path;
}

/** @param {string} file @param {string} source @param {Node} node @returns {Declared} */
function declared(file, source, node) {
  const { declaration } = node;
  const name = declaration.id?.name ?? declaration.declarations[0].id.name;
  const text = source
    .slice(declaration.start, declaration.end)
    .replace(/^declare /, '')
    .split('\n')
    .filter((line) => !/^\s*(#private;|private )/.test(line))
    .join('\n');
  return { name, file, text: indented(text), comment: commentBefore(source, node.start) };
}

/** The compiler indents by four. @param {string} text */
const indented = (text) => text.replace(/^( {4})+/gm, (spaces) => ' '.repeat(spaces.length / 2));

/** @param {string} source @param {number} start */
function commentBefore(source, start) {
  const found = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(source.slice(0, start));
  if (!found) return '';
  const lines = (found[1] ?? '').split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  return lines.join('\n').trim();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(join(root, 'docs', 'api.md'), apiReference());
}
