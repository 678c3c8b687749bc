// Names and members for the playground's completion, read from the declarations of the built language.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseAst } from 'rolldown/parseAst';

/** @typedef {any} Node an ESTree node; the parser's types change with it */
/** @typedef {{ name: string, kind: string, detail: string, about: string }} Name */
/** @typedef {{ source: string, body: Node[] }} Module */

/** Classes whose members a kernel's values have. */
const VALUES = ['Expr', 'Cell', 'ReadBuffer', 'RwBuffer', 'AtomicBuffer', 'PackedBuffer', 'ItemArray', 'Near'];

/** @param {string} built the folder of the compiled sources */
export async function completionData(built) {
  const all = [...exportsOf(join(built, 'kernel', 'index.d.ts'))];
  /** @type {Record<string, Name[]>} */
  const members = {};
  for (const [name, found] of all) {
    const own = membersOf(found);
    if (own.length > 0 && found.declaration.type === 'VariableDeclaration') members[name] = own;
  }
  const values = all.filter(([name]) => VALUES.includes(name)).flatMap(([, found]) => membersOf(found));
  members[''] = [...new Map([...values, ...(await operations(built))].map((one) => [one.name, one])).values()];
  const names = all.map(([name, { module, declaration, start }]) => ({
    name,
    kind: kinds[declaration.type] ?? 'type',
    detail: short(module.source.slice(declaration.start, declaration.end)),
    about: commentBefore(module.source, start),
  }));
  return { names, members };
}

/** @type {Record<string, string>} */
const kinds = {
  FunctionDeclaration: 'function',
  TSDeclareFunction: 'function',
  VariableDeclaration: 'constant',
  ClassDeclaration: 'class',
};

/** Methods of values that come from the table of operations. @param {string} built @returns {Promise<Name[]>} */
async function operations(built) {
  const { methods, ops } = await import(pathToFileURL(join(built, 'kernel', 'ir', 'ops.js')).href);
  return methods.map((/** @type {string} */ name) => {
    const { args = [], result = '' } = ops[name] ?? {};
    return { name, kind: 'method', detail: `${name}(${args.slice(1).join(', ')}): ${result}`, about: '' };
  });
}

/** @typedef {{ module: Module, declaration: Node, start: number }} Found */

/** Returns the declarations that a module exports, by name. @param {string} file @returns {Map<string, Found>} */
function exportsOf(file) {
  const module = parsed(file);
  /** @type {Map<string, Found>} */
  const found = new Map();
  for (const node of module.body) {
    if (node.type === 'ExportAllDeclaration') {
      for (const [name, one] of exportsOf(beside(file, node.source.value))) found.set(name, one);
    } else if (node.type === 'ExportNamedDeclaration' && node.declaration) {
      const { declaration } = node;
      const name = declaration.id?.name ?? declaration.declarations?.[0].id.name;
      if (!found.has(name)) found.set(name, { module, declaration, start: node.start });
    } else if (node.type === 'ExportNamedDeclaration' && node.source) {
      const from = exportsOf(beside(file, node.source.value));
      for (const { local, exported } of node.specifiers) {
        const one = from.get(local.name);
        if (one) found.set(exported.name, one);
      }
    }
  }
  return found;
}

/** Returns the members of a class, an interface or an object. @param {Found} found @returns {Name[]} */
function membersOf({ module, declaration }) {
  const annotation = declaration.declarations?.[0].id.typeAnnotation?.typeAnnotation;
  const type = annotation?.type === 'TSTypeReference' ? named(module, annotation.typeName.name) : annotation;
  const list = declaration.body?.body ?? type?.members ?? type?.body?.body ?? [];
  return list.flatMap((/** @type {Node} */ member) => {
    const name = member.key?.name;
    if (name === undefined || member.static || member.accessibility === 'private') return [];
    const isMethod =
      /Method/.test(member.type) || /^[^:]*:\s*(<[^>]*>)?\(/.test(module.source.slice(member.start, member.end));
    return {
      name,
      kind: isMethod && !/getter/.test(member.kind ?? '') ? 'method' : 'property',
      detail: short(module.source.slice(member.start, member.end)),
      about: commentBefore(module.source, member.start),
    };
  });
}

/** @param {Module} module @param {string} name @returns {Node | undefined} */
const named = ({ body }, name) =>
  body
    .map((node) => node.declaration ?? node)
    .find((node) => node.type === 'TSInterfaceDeclaration' && node.id.name === name);

/** @param {string} text */
const short = (text) => {
  const line = text
    .replace(/\/\*\*[\s\S]*?\*\//g, '')
    .replace(/^declare /, '')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
};

/** Returns the comment that ends before a place. @param {string} source @param {number} at */
function commentBefore(source, at) {
  const before = source.slice(0, at).trimEnd();
  if (!before.endsWith('*/')) return '';
  const text = before.slice(before.lastIndexOf('/**') + 3, -2);
  return text
    .replace(/^\s*\* ?/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** @type {Map<string, Module>} */
const known = new Map();
/** @param {string} file */
function parsed(file) {
  const found = known.get(file);
  if (found) return found;
  const source = readFileSync(file, 'utf8');
  const module = { source, body: /** @type {Node[]} */ (parseAst(source, { lang: 'dts' }).body) };
  known.set(file, module);
  return module;
}

/** @param {string} file @param {string} specifier */
const beside = (file, specifier) => join(dirname(file), specifier.replace(/\.js$/, '.d.ts'));
