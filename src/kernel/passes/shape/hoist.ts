import {
  type Block,
  type HoistedProgram,
  type Node,
  type Param,
  type Program,
  type TableDecl,
  ValueStage,
} from '../../ir/program.js';
import { wordsOf } from '../../language/types.js';
import { rootsOf, topologicalOrder } from '../graph.js';
import { rewriteStatement } from '../rewrite.js';

/**
 * Moves every value that is known before the launch to the host, which passes it as parameter words. Without `compute` only
 * the fields themselves are passed and the device computes the rest. That is slower and exists for comparison.
 */
export function hoist(program: Program, compute = true): HoistedProgram {
  const isEarly = (node: Node) =>
    (node.stage === ValueStage.job || node.stage === ValueStage.chunk) && (compute || node.args.length === 0);

  const frontier = new Set<Node>();
  const nodes = topologicalOrder(rootsOf(program.body), isEarly);
  const addToFrontier = (node: Node) => isEarly(node) && frontier.add(node);
  for (const root of rootsOf(program.body)) addToFrontier(root);
  for (const node of nodes) for (const arg of node.args) addToFrontier(arg);

  const jobTables = program.tables.filter((table) => table.stage === ValueStage.job);
  const host = topologicalOrder([...frontier, ...jobTables.flatMap((table) => table.values)]);

  let word = 0;
  const uniqueName = uniqueNamer(program);
  const assignWords = (list: readonly Node[]): Param[] =>
    list.map((node) => {
      const param = { node, word, name: uniqueName(node, word) };
      word += wordsOf(node.type);
      return param;
    });
  const jobParams = assignWords([...frontier].filter((node) => node.stage === ValueStage.job));
  const tables = new Map<TableDecl, TableDecl>();
  for (const table of program.tables) {
    tables.set(table, table.stage === ValueStage.job ? { ...table, word } : table);
    if (table.stage === ValueStage.job) word += table.values.length * wordsOf(table.type);
  }
  const jobWords = word;
  const chunkParams = assignWords([...frontier].filter((node) => node.stage === ValueStage.chunk));

  const replaced = new Map<Node, Node>();
  for (const { node, word: at, name } of [...jobParams, ...chunkParams]) {
    replaced.set(node, { ...node, op: 'param', args: [], detail: { word: at, name } });
  }
  const resolve = (node: Node): Node => replaced.get(node) ?? node;
  for (const node of nodes) {
    const table = node.detail.table && tables.get(node.detail.table);
    if (table || node.args.some((arg) => replaced.has(arg))) {
      replaced.set(node, {
        ...node,
        args: node.args.map(resolve),
        detail: table ? { ...node.detail, table } : node.detail,
      });
    }
  }
  const block = (old: Block): Block =>
    old.map((statement) => rewriteStatement(statement, { read: resolve, define: resolve, block }));
  return {
    ...program,
    body: block(program.body),
    tables: [...tables.values()],
    host: [
      ...host.filter((node) => node.stage <= ValueStage.job),
      ...host.filter((node) => node.stage > ValueStage.job),
    ],
    params: [...jobParams, ...chunkParams],
    jobWords,
    chunkWords: word - jobWords,
  };
}

/** Returns a function that gives each parameter a unique name: a job value and a chunk value may both be called `limit`. */
function uniqueNamer(program: Program): (node: Node, word: number) => string {
  const taken = new Set<string>();
  return (node, word) => {
    let name = fieldName(program, node) ?? `${node.stage === ValueStage.job ? 'job' : 'chunk'}_${word}`;
    // On targets without 64-bit integers a parameter becomes two.
    const parts = () => (wordsOf(node.type) === 2 ? [name, `${name}_lo`, `${name}_hi`] : [name]);
    while (parts().some((part) => taken.has(part))) name = `${name}_${word}`;
    for (const part of parts()) taken.add(part);
    return name;
  };
}

function fieldName(program: Program, node: Node): string | undefined {
  if (node.op === 'length') return `length_${program.buffers[node.detail.field ?? -1]?.name.replaceAll('-', '_')}`;
  if (node.op !== 'job' && node.op !== 'chunk') return undefined;
  const field = (node.op === 'job' ? program.job : program.chunk)[node.detail.field ?? -1];
  const name = (field?.name ?? 'value').replace(/^\./, '').replaceAll('-', '_');
  return field?.array ? `${name}_${node.detail.element}` : name;
}
