import type { Block, Node, Place, Statement } from '../ir/program.js';

/** A pass's changes to a program: to every node that a statement reads or defines, and to every inner block. */
export interface Rewrite {
  read(node: Node): Node;
  define(node: Node): Node;
  block(block: Block): Block;
}

/**
 * Returns the statement with its nodes and inner blocks rewritten. A pass handles `let` itself if it needs more than that.
 */
export function rewriteStatement(statement: Statement, { read, define, block }: Rewrite): Statement {
  const place = (old: Place): Place => ({
    buffer: old.buffer,
    index: read(old.index),
    ...(old.base ? { base: read(old.base) } : {}),
  });
  switch (statement.kind) {
    case 'let':
      return { ...statement, node: read(statement.node) };
    case 'cell':
    case 'set':
      return { ...statement, value: read(statement.value) };
    case 'get':
      return { ...statement, result: define(statement.result) };
    case 'array':
      return { ...statement, values: statement.values.map(read) };
    case 'load':
      return { ...statement, place: place(statement.place), results: statement.results.map(define) };
    case 'store':
      return { ...statement, place: place(statement.place), values: statement.values.map(read) };
    case 'prefetch':
      return { ...statement, place: place(statement.place) };
    case 'atomic':
      return {
        ...statement,
        place: place(statement.place),
        ...(statement.expected ? { expected: read(statement.expected) } : {}),
        ...(statement.value ? { value: read(statement.value) } : {}),
        ...(statement.result ? { result: define(statement.result) } : {}),
      };
    case 'when':
      return {
        ...statement,
        condition: read(statement.condition),
        body: block(statement.body),
        otherwise: block(statement.otherwise),
      };
    case 'each':
    case 'loop': {
      const count = read(statement.count);
      return { ...statement, count, index: define(statement.index), body: block(statement.body) };
    }
    case 'while': {
      const test = block(statement.test);
      return { ...statement, test, condition: read(statement.condition), body: block(statement.body) };
    }
    case 'break':
      return { ...statement, condition: read(statement.condition) };
    case 'sum': {
      const count = read(statement.count);
      const index = define(statement.index);
      const body = block(statement.body);
      return { ...statement, count, index, body, value: read(statement.value), result: define(statement.result) };
    }
    case 'scan':
      return { ...statement, result: define(statement.result) };
    case 'once':
      return { ...statement, body: block(statement.body) };
    case 'return':
      return statement;
    case 'emit':
      return { ...statement, values: statement.values.map(read) };
    case 'function':
      return { ...statement, body: block(statement.body) };
    case 'parameters':
      return { ...statement, nodes: statement.nodes.map(define) };
    case 'results':
      return { ...statement, values: statement.values.map(read) };
    case 'native':
    case 'invoke':
      return { ...statement, args: statement.args.map(read), results: statement.results.map(define) };
  }
}
