import { type Block, type Hoisted, type Node, type Param, type Program, Stage, type Table } from '../../ir/program.js';
import { wordsOf } from '../../language/types.js';
import { inOrder, rootsOf } from '../graph.js';
import { rewriteStatement } from '../rewrite.js';

/**
 * Moves every value that is known before the launch to the host, which passes it as parameter words. Without `compute` only
 * the fields themselves are passed and the device computes the rest. That is slower and exists for comparison.
 */
export function hoist(program: Program, compute = true): Hoisted {
  const early = (node: Node) =>
    (node.stage === Stage.job || node.stage === Stage.chunk) && (compute || node.args.length === 0);

  const frontier = new Set<Node>();
  const nodes = inOrder(rootsOf(program.body), early);
  const look = (node: Node) => early(node) && frontier.add(node);
  for (const root of rootsOf(program.body)) look(root);
  for (const node of nodes) for (const arg of node.args) look(arg);

  const jobTables = program.tables.filter((table) => table.stage === Stage.job);
  const host = inOrder([...frontier, ...jobTables.flatMap((table) => table.values)]);

  let word = 0;
  const nameOf = namer(program);
  const place = (list: readonly Node[]): Param[] =>
    list.map((node) => {
      const param = { node, word, name: nameOf(node, word) };
      word += wordsOf(node.type);
      return param;
    });
  const ofJob = place([...frontier].filter((node) => node.stage === Stage.job));
  const tables = new Map<Table, Table>();
  for (const table of program.tables) {
    tables.set(table, table.stage === Stage.job ? { ...table, word } : table);
    if (table.stage === Stage.job) word += table.values.length * wordsOf(table.type);
  }
  const jobWords = word;
  const ofChunk = place([...frontier].filter((node) => node.stage === Stage.chunk));

  const replaced = new Map<Node, Node>();
  for (const { node, word: at, name } of [...ofJob, ...ofChunk]) {
    replaced.set(node, { ...node, op: 'param', args: [], detail: { word: at, name } });
  }
  const of = (node: Node): Node => replaced.get(node) ?? node;
  for (const node of nodes) {
    const table = node.detail.table && tables.get(node.detail.table);
    if (table || node.args.some((arg) => replaced.has(arg))) {
      replaced.set(node, { ...node, args: node.args.map(of), detail: table ? { ...node.detail, table } : node.detail });
    }
  }
  const block = (old: Block): Block =>
    old.map((statement) => rewriteStatement(statement, { read: of, define: of, block }));
  return {
    ...program,
    body: block(program.body),
    tables: [...tables.values()],
    host: [...host.filter((node) => node.stage <= Stage.job), ...host.filter((node) => node.stage > Stage.job)],
    params: [...ofJob, ...ofChunk],
    jobWords,
    chunkWords: word - jobWords,
  };
}

/** Returns a function that gives each parameter a unique name: a job value and a chunk value may both be called `limit`. */
function namer(program: Program): (node: Node, word: number) => string {
  const taken = new Set<string>();
  return (node, word) => {
    let name = fieldName(program, node) ?? `${node.stage === Stage.job ? 'job' : 'chunk'}_${word}`;
    // On targets without 64-bit integers a parameter becomes two.
    const parts = () => (wordsOf(node.type) === 2 ? [name, `${name}_lo`, `${name}_hi`] : [name]);
    while (parts().some((part) => taken.has(part))) name = `${name}_${word}`;
    for (const part of parts()) taken.add(part);
    return name;
  };
}

function fieldName(program: Program, node: Node): string | undefined {
  if (node.op !== 'job' && node.op !== 'chunk') return undefined;
  const field = (node.op === 'job' ? program.job : program.chunk)[node.detail.field ?? -1];
  const name = (field?.name ?? 'value').replace(/^\./, '').replaceAll('-', '_');
  return field?.array ? `${name}_${node.detail.element}` : name;
}
