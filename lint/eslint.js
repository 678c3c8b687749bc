// ESLint's rule for kernels: `millrace/no-native-operators`. In the body of items(), tiles() and fn(), a value of the kernel is an
// object that stands for a number of the device. JavaScript's own operators do not see that number:
//
//   if (item.eq(0)) …         always taken              when(item.eq(0), () => …)
//   item === job.first        always false              item.eq(job.first)
//   n < job.limit             an error while tracing    n.lt(job.limit)
//
// The rule knows a value of the kernel by its syntax: the context's `item`, `tile`, `index`, `job.x` and `chunk.x`, what
// `at()` of a buffer gives, indices of loop(), each() and sum(), what eq(), lt() and the like give, what functions such as
// select() and cell() give, methods of all these, and variables that start as one of these. It does not follow values into
// other functions and arrays.

const instead = {
  '==': 'eq()',
  '===': 'eq()',
  '!=': 'ne()',
  '!==': 'ne()',
  '<': 'lt()',
  '<=': 'le()',
  '>': 'gt()',
  '>=': 'ge()',
  '+': 'add()',
  '-': 'sub()',
  '*': 'mul()',
  '/': 'div()',
  '%': 'rem()',
  '**': 'mul()',
  '&': 'and()',
  '|': 'or()',
  '^': 'xor()',
  '<<': 'shl()',
  '>>': 'shr()',
  '>>>': 'shr()',
  '&&': 'and()',
  '||': 'or()',
  '??': 'select()',
};
const insteadOfUnary = { '!': 'not()', '~': 'not()', '-': 'neg()', '+': 'to(type)' };

const plugin = {
  meta: { name: 'millrace' },
  rules: {
    'no-native-operators': {
      meta: {
        type: 'problem',
        docs: { description: "JavaScript's operators do not see values of a kernel" },
        schema: [],
        messages: { operator: '{{what}} does not see a value of the kernel: write {{instead}}' },
      },
      create: (context) => ({
        CallExpression(call) {
          for (const { node, ...data } of mistakesIn(call)) context.report({ node, messageId: 'operator', data });
        },
      }),
    },
  },
  configs: {},
};
plugin.configs.recommended = {
  name: 'millrace/recommended',
  plugins: { millrace: plugin },
  rules: { 'millrace/no-native-operators': 'error' },
};

export default plugin;

/**
 * What a name or an expression is, as far as the rule is concerned:
 *   value    a value of the kernel
 *   field    a value, or an array of values: `job.x`, `at4()`
 *   fields   an object of fields: `job`, `chunk`
 *   buffer, buffers, context, other
 *   maker    a function that returns a value; arrays, one that returns something with at()
 *   each     a function that calls its last argument with a value; sum, one that also returns a value
 */
const contextKinds = {
  item: 'value',
  tile: 'value',
  index: 'value',
  job: 'fields',
  chunk: 'fields',
  buffers: 'buffers',
  each: 'each',
  sum: 'sum',
  scan: 'maker',
  near: 'arrays',
};
const importedKinds = { loop: 'each', table: 'arrays', array: 'arrays' };
for (const name of ['bitSelect', 'cell', 'fma', 'funnel', 'lit', 'mulHi', 'select', 'u64Of'])
  importedKinds[name] = 'maker';
/** Methods that nothing but a value of the kernel has. */
const comparisons = new Set(['eq', 'ne', 'lt', 'le', 'gt', 'ge']);

/** The kinds of what the bodies of a kernel and of its functions get. */
const bodyKinds = { items: 'context', tiles: 'context', fn: 'fields' };

/** Returns the operators in a call of items(), tiles() or fn() that do not see their operands. */
function mistakesIn(call) {
  if (!hasBody(call)) return [];
  const { callee, arguments: given } = call;
  const found = [];
  visitFunction(given[2], new Map(), found, bodyKinds[callee.name]);
  return found;
}

const hasBody = ({ type, callee, arguments: given }) =>
  type === 'CallExpression' &&
  callee.type === 'Identifier' &&
  Object.hasOwn(bodyKinds, callee.name) &&
  given.length === 3 &&
  isFunction(given[2]);

/** Visits a node. `scope` maps the names that the body declares to their kinds. */
function visit(node, scope, found) {
  if (hasBody(node)) return; // it is judged by itself
  check(node, scope, found);
  if (isFunction(node) || node.type === 'FunctionDeclaration') return visitFunction(node, scope, found);
  if (node.type === 'VariableDeclarator') {
    if (node.init) visit(node.init, scope, found);
    return bind(node.id, node.init ? kindOf(node.init, scope) : 'other', scope);
  }
  if (node.type === 'ForOfStatement') {
    const inner = new Map(scope);
    const [declarator] = node.left.declarations ?? [];
    visit(node.right, scope, found);
    if (declarator) bind(declarator.id, kindOf(node.right, scope) === 'field' ? 'value' : 'other', inner);
    return visit(node.body, inner, found);
  }
  if (node.type === 'CallExpression' && /^(each|sum)$/.test(kindOf(node.callee, scope))) {
    const body = node.arguments.at(-1);
    for (const argument of node.arguments)
      if (argument === body && isFunction(body)) visitFunction(body, scope, found, 'value');
      else visit(argument, scope, found);
    return;
  }
  const inner = /^(BlockStatement|ForStatement|SwitchStatement)$/.test(node.type) ? new Map(scope) : scope;
  for (const child of childrenOf(node)) visit(child, inner, found);
}

/** Visits a function, whose first parameter has the given kind. */
function visitFunction({ params, body }, scope, found, kind = 'other') {
  const inner = new Map(scope);
  params.forEach((param, at) => {
    bind(param, at === 0 ? kind : 'other', inner);
  });
  visit(body, inner, found);
}

const isFunction = (node) => node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';

/** The parts of a node, without its types. */
function childrenOf(node) {
  return Object.entries(node).flatMap(([key, value]) =>
    key === 'parent' || /^(type|return)/.test(key)
      ? []
      : [value].flat().filter((part) => typeof part?.type === 'string'),
  );
}

/** Gives kinds to the names that a pattern declares. */
function bind(pattern, kind, scope) {
  switch (pattern?.type) {
    case 'Identifier':
      scope.set(pattern.name, kind);
      return;
    case 'AssignmentPattern':
      bind(pattern.left, kind, scope);
      return;
    case 'RestElement':
      bind(pattern.argument, 'other', scope);
      return;
    case 'ArrayPattern':
      for (const element of pattern.elements) bind(element, kind === 'field' ? 'value' : 'other', scope);
      return;
    case 'ObjectPattern':
      for (const property of pattern.properties) {
        if (property.type === 'RestElement') bind(property, kind, scope);
        else bind(property.value, property.computed ? 'other' : memberKind(kind, property.key.name), scope);
      }
  }
}

/** Adds a mistake if the node is an operator with a value of the kernel as operand. */
function check(node, scope, found) {
  const isValue = (operand) => /^(value|field)$/.test(kindOf(operand, scope));
  const test = (operand, what, write) => {
    if (operand && isValue(operand)) found.push({ node: operand, what, instead: write });
  };
  const either = (operator, operands, write) => {
    if (write && operands.some(isValue)) found.push({ node, what: operator, instead: write });
  };
  switch (node.type) {
    case 'IfStatement':
      return test(node.test, 'if', 'when()');
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'ForStatement':
      return test(node.test, 'a loop of JavaScript', 'loop() or whileTrue()');
    case 'SwitchStatement':
      return test(node.discriminant, 'switch', 'choose()');
    case 'ConditionalExpression':
      return test(node.test, '?:', 'select()');
    case 'LogicalExpression':
      return either(node.operator, [node.left], instead[node.operator]);
    case 'UnaryExpression':
      return either(node.operator, [node.argument], insteadOfUnary[node.operator]);
    case 'UpdateExpression':
      return either(node.operator, [node.argument], 'set() of a cell()');
    case 'BinaryExpression':
      if (isNothing(node.left) || isNothing(node.right)) return;
      return either(node.operator, [node.left, node.right], instead[node.operator]);
    case 'AssignmentExpression':
      return either(node.operator, [node.left, node.right], instead[node.operator.slice(0, -1)]);
    case 'TemplateLiteral':
      for (const part of node.expressions) test(part, 'a template', 'text without it');
      return;
    case 'MemberExpression':
      if (node.computed) test(node.property, '[ ]', 'table(type, values).at(index)');
      return;
    case 'CallExpression': {
      const name = calledName(node.callee);
      if (/^(Math\.\w+|Number|BigInt|String|Boolean|JSON\.stringify)$/.test(name))
        either(`${name}()`, node.arguments, 'operations of the language');
    }
  }
}

function calledName({ type, name, object, property, computed }) {
  if (type === 'Identifier') return name;
  return type === 'MemberExpression' && !computed && object.type === 'Identifier'
    ? `${object.name}.${property.name}`
    : '';
}

/** True for `undefined` and `null`: `x === undefined` asks whether there is a value, not which. */
const isNothing = ({ type, name, raw }) => (type === 'Identifier' ? name === 'undefined' : raw === 'null');

function kindOf(node, scope) {
  switch (node.type) {
    case 'Identifier':
      return scope.get(node.name) ?? importedKinds[node.name] ?? 'other';
    case 'TSAsExpression':
    case 'TSNonNullExpression':
    case 'TSSatisfiesExpression':
    case 'ParenthesizedExpression':
      return kindOf(node.expression, scope);
    case 'MemberExpression': {
      const kind = kindOf(node.object, scope);
      return node.computed ? (kind === 'field' ? 'value' : 'other') : memberKind(kind, node.property.name);
    }
    case 'CallExpression':
      return kindOfCall(node, scope);
    default:
      return 'other';
  }
}

/** The kind of a property of something of a kind. */
function memberKind(kind, name) {
  if (kind === 'context') return contextKinds[name] ?? 'other';
  if (kind === 'fields') return 'field';
  if (kind === 'buffers') return 'buffer';
  return (kind === 'value' || kind === 'field') && (name === 'lo' || name === 'hi') ? 'value' : 'other';
}

function kindOfCall({ callee, arguments: given }, scope) {
  const called = kindOf(callee, scope);
  if (called === 'maker' || called === 'sum') return 'value';
  if (called === 'arrays') return 'buffer';
  if (callee.type !== 'MemberExpression' || callee.computed) return 'other';
  const { name } = callee.property;
  switch (kindOf(callee.object, scope)) {
    case 'buffer':
      if (name === 'at4') return 'field';
      return name === 'slice' ? 'buffer' : /^(set|store|prefetch)/.test(name) ? 'other' : 'value';
    case 'value':
      return name === 'set' ? 'other' : 'value';
    case 'field': // perhaps an array
      return name in Array.prototype ? 'other' : 'value';
    default:
      return comparisons.has(name) && given.length === 1 ? 'value' : 'other';
  }
}
