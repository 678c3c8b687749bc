import {
  type Block,
  type CellDecl,
  type HoistedProgram,
  type Node,
  operandsOf,
  type Place,
  type Program,
  type Statement,
} from '../ir/program.js';

/** Prints the IR, one statement per line, after the passes that all targets share. */
export function renderIr(program: Program | HoistedProgram): string {
  const names = new Map<Node, string>();
  const cells = new Map<CellDecl, string>();
  const lines: string[] = [`kernel ${program.name}`];
  for (const field of program.job)
    lines.push(`  job    ${field.name}: ${field.type}${field.array ? `[${field.length}]` : ''}`);
  for (const field of program.chunk)
    lines.push(`  chunk  ${field.name}: ${field.type}${field.array ? `[${field.length}]` : ''}`);
  for (const buffer of program.buffers) lines.push(`  buffer ${buffer.name}: ${buffer.kind} ${buffer.type}`);
  for (const near of program.near) lines.push(`  near   ${near.name}: ${near.type}[${near.length}]`);
  for (const table of program.tables) lines.push(`  table  t${table.id}: ${table.type}[${table.values.length}]`);
  if ('params' in program) {
    lines.push(
      `  ${program.jobWords} job words, ${program.chunkWords} chunk words, ${program.host.length} nodes on the host`,
    );
  }

  const text = (node: Node): string => {
    const known = names.get(node);
    if (known) return known;
    switch (node.op) {
      case 'const':
        return node.type === 'u32' && Number(node.detail.value) > 999
          ? `0x${Number(node.detail.value).toString(16)}`
          : String(node.detail.value);
      case 'job':
      case 'chunk': {
        const field = (node.op === 'job' ? program.job : program.chunk)[node.detail.field ?? -1];
        return `${field?.name}${field?.array ? `[${node.detail.element}]` : ''}`;
      }
      case 'length':
        return `length of ${program.buffers[node.detail.field ?? -1]?.name}`;
      case 'param':
        return node.detail.name ?? `param${node.detail.word}`;
      default:
        return node.op;
    }
  };
  const define = (node: Node): string => {
    const name = `%${names.size}`;
    names.set(node, name);
    return `${name}: ${node.type}`;
  };
  const cell = (decl: CellDecl): string => {
    const name = cells.get(decl) ?? `cell${cells.size}`;
    cells.set(decl, name);
    return name;
  };
  const at = (place: Place) =>
    `${place.buffer.name}[${place.base ? `4*${text(place.base)} + ` : ''}${text(place.index)}]`;
  const operation = (node: Node): string => {
    const extra =
      node.op === 'lookup'
        ? ` t${node.detail.table?.id}`
        : node.op === 'logic3'
          ? ` 0x${node.detail.truth?.toString(16)}`
          : '';
    return `${node.op}${extra} ${node.args.map(text).join(', ')}`;
  };

  const block = (statements: Block): string[] => statements.flatMap(statementLines).map((line) => `  ${line}`);
  const statementLines = (statement: Statement): string[] => {
    const quad = (values: readonly Node[]) => (values.length === 4 ? 'quad ' : '');
    switch (statement.kind) {
      case 'let': {
        const made = operation(statement.node);
        return [`${define(statement.node)} = ${made}`];
      }
      case 'cell':
        return [`${cell(statement.cell)}: ${statement.cell.type} := ${text(statement.value)}`];
      case 'set':
        return [`${cell(statement.cell)} := ${text(statement.value)}`];
      case 'get':
        return [`${define(statement.result)} = ${cell(statement.cell)}`];
      case 'array': {
        const { name, type, length } = statement.array;
        const values = statement.values.length > 0 ? ` := ${statement.values.map(text).join(', ')}` : '';
        return [`${name}: ${type}[${length}]${values}`];
      }
      case 'load': {
        const from = at(statement.place);
        return [`${statement.results.map(define).join(', ')} = ${quad(statement.results)}${from}`];
      }
      case 'store':
        return [`${quad(statement.values)}${at(statement.place)} := ${statement.values.map(text).join(', ')}`];
      case 'prefetch':
        return [`prefetch ${at(statement.place)}`];
      case 'atomic': {
        const what = [`atomic ${statement.op} ${at(statement.place)}`, ...operandsOf(statement).map(text)].join(', ');
        return [statement.result ? `${define(statement.result)} = ${what}` : what];
      }
      case 'when': {
        const lines = [`when ${text(statement.condition)}`, ...block(statement.body)];
        return statement.otherwise.length === 0 ? lines : [...lines, 'otherwise', ...block(statement.otherwise)];
      }
      case 'loop': {
        const count = text(statement.count);
        return [
          `loop${statement.isLong ? ', long' : ''} ${define(statement.index)} < ${count}`,
          ...block(statement.body),
        ];
      }
      case 'while': {
        const test = block(statement.test);
        return [
          statement.isLong ? 'while, long' : 'while',
          ...test,
          `holds ${text(statement.condition)}`,
          ...block(statement.body),
        ];
      }
      case 'break':
        return [`break when ${text(statement.condition)}`];
      case 'each':
      case 'sum': {
        const count = text(statement.count);
        const head = `${define(statement.index)} < ${count}`;
        if (statement.kind === 'each') return [`each ${head}`, ...block(statement.body)];
        const body = block(statement.body);
        const value = text(statement.value);
        return [`${define(statement.result)} = sum ${head}`, ...body, `  of ${value}`];
      }
      case 'scan':
        return [`${define(statement.result)} = scan ${statement.near.name}, ${statement.length}`];
      case 'once':
        return ['once', ...block(statement.body)];
      case 'return':
        return ['return'];
      case 'emit':
        return [`emit ${statement.values.map(text).join(', ')}`];
      case 'function':
        return [`function ${statement.callee.name}`, ...block(statement.body)];
      case 'parameters':
        return [`takes ${statement.nodes.map(define).join(', ')}`];
      case 'results':
        return [`gives ${statement.values.map(text).join(', ')}`];
      case 'invoke': {
        const args = statement.args.map(text).join(', ');
        return [`${statement.results.map(define).join(', ')} = ${statement.callee.name}(${args})`];
      }
      case 'native': {
        const args = statement.args.map(text).join(', ');
        return [`${statement.results.map(define).join(', ')} = ${statement.body.name} ${args}`];
      }
    }
  };
  return `${[...lines, ...block(program.body)].join('\n')}\n`;
}
