// Makes docs/api.md from the types of the built package: npm run build && node scripts/api.mjs
// First the common tasks, then every name with its comment and its declaration. test/api.test.ts checks that it is current.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { root } from './prepare.mjs';

/** @typedef {{ name: string, file: string, text: string, comment: string }} Declared */
/** @typedef {any} Node an ESTree node; the parser's types change with it */

const dist = join(root, 'dist');
const { methods, ops } = await import(pathToFileURL(join(dist, 'kernel', 'ir', 'ops.js')).href);
const entries = [
  ['millrace', 'index.d.ts'],
  ['millrace/words', 'workload/words/index.d.ts'],
];

/** The tasks of the first part, in order: examples/api/NAME.ts, which test/api.test.ts runs. */
export const tasks = [
  ...['search', 'run', 'reduce', 'batches', 'control', 'tiles', 'devices', 'ledger', 'text', 'device'],
  ...['block', 'uhash', 'words', 'encode', 'gaps', 'testing'],
];

export function apiReference() {
  const all = entries.flatMap(([entry = '', file = '']) =>
    exported(join(dist, file)).map((one) => ({ ...one, entry })),
  );
  const names = new Map(all.map((one) => [`${one.entry} ${one.name}`, one]));
  return `# What can be imported

Made from the built types by \`node scripts/api.mjs\`. \`millrace/kernel\` is the language alone and \`millrace/browser\` is what
runs in pages; both are parts of \`millrace\`. [language.md](language.md) and [engine.md](engine.md) explain how things fit together.

- [What you need](#what-you-need): by task, each with an example that runs as it stands
- [Everything else](#everything-else): every name, with its declaration

## What you need

${tasks.map((task) => sectionOf(task, names)).join('\n')}
## Everything else

${[...names.values()].sort(byName).map(entryOf).join('\n')}`;
}

/** @typedef {Declared & { entry: string }} Exported */

/** Returns the section of a task: its text, its example, and the names that it imports. @param {string} task @param {Map<string, Exported>} names */
function sectionOf(task, names) {
  const source = readFileSync(join(root, 'examples', 'api', `${task}.ts`), 'utf8');
  const [, head = '', code = ''] = /^((?:\/\/.*\n)+)\n([\s\S]*)$/.exec(source) ?? [];
  const [title = '', , ...text] = head
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^\/\/ ?/, ''));
  const rows = importsOf(code).map(([entry, name]) => {
    const one = names.get(`${entry} ${name}`);
    if (!one) throw new Error(`examples/api/${task}.ts imports ${name}, which ${entry} does not export`);
    return `| [\`${name}\`](#${name.toLowerCase()}) | ${firstSentence(one.comment)} |`;
  });
  return `##${title}\n\n${text.join('\n')}\n\n\`\`\`ts\n${code}\`\`\`\n\n| name | |\n| --- | --- |\n${rows.join('\n')}\n`;
}

/** Returns the names that an example imports from the package. @param {string} code @returns {[entry: string, name: string][]} */
function importsOf(code) {
  return [...code.matchAll(/^import \{([^}]*)\} from '(millrace[^']*)';$/gm)].flatMap(([, names = '', entry = '']) =>
    names
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => name !== '')
      .map((name) => /** @type {[string, string]} */ ([entry, name])),
  );
}

/** @param {string} comment */
const firstSentence = (comment) => {
  const [paragraph = ''] = comment.split('\n\n');
  const [sentence] = /^[\s\S]*?\.(?=\s|$)/.exec(paragraph) ?? [paragraph.replace(/:$/, '.')];
  return sentence.replace(/\s+/g, ' ').replaceAll('|', '\\|');
};

/** @param {Declared} a @param {Declared} b */
const byName = (a, b) => a.name.toLowerCase().localeCompare(b.name.toLowerCase(), 'en') || (a.name < b.name ? -1 : 1);

/** @param {Exported} one */
function entryOf({ name, entry, comment, text }) {
  const from = entry === 'millrace' ? '' : `From \`${entry}\`. `;
  const about = `${from}${comment}`.trim();
  return `### ${name}\n\n${about === '' ? '' : `${about}\n\n`}\`\`\`ts\n${text}\n\`\`\`\n`;
}

/** Returns the exports of a module, including re-exports. @param {string} file @returns {Declared[]} */
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

/** Returns a name that a module imports and exports again. @param {string} file @param {Node[]} body @param {string} name */
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
  if (!existsSync(path)) throw new Error(`${file} exports from ${specifier}, which does not exist`);
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
  const whole = name === 'Expr' ? withMethods(text) : text;
  return { name, file, text: indented(whole), comment: commentBefore(source, node.start) };
}

/** Adds the methods that `Expr` gets from the table of operations. @param {string} text */
function withMethods(text) {
  const sets = { any: 'Scalar', numeric: 'Numeric', integer: 'Integer', unsigned: 'Unsigned', float: 'Float' };
  const lines = methods.map((/** @type {string} */ op) => {
    const { args, result, on } = ops[op];
    const type = on in sets ? sets[/** @type {keyof typeof sets} */ (on)] : "Integer | 'bool'";
    const more = args.length === 1 ? '' : args[1] === 'T' ? ', other: ExprLike<T>' : `, count: ExprLike<'${args[1]}'>`;
    return `    ${op}<T extends ${type}>(this: Expr<T>${more}): Expr<${result === 'T' ? 'T' : `'${result}'`}>;`;
  });
  return text.replace(' extends Expr_base', '').replace(/(get node\(\): Node;\n)/, `$1${lines.join('\n')}\n`);
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
