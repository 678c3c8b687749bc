import type { SyntaxNode } from '@lezer/common';
import { parser } from '@lezer/javascript';

/** TypeScript without its types, or the first place that cannot be erased. */
export type Erased = { readonly code: string } | { readonly error: CodeError };

export interface CodeError {
  readonly message: string;
  /** Offset in the source. */
  readonly at: number;
}

export interface EraseOptions {
  /** Returns the URL that an import of this module gets; undefined if there is no such module. */
  readonly resolve?: (specifier: string) => string | undefined;
}

const typescript = parser.configure({ dialect: 'ts' });

/**
 * Replaces types by spaces, so that every line keeps its number and every token its column. Syntax that is more than a type
 * (enums, namespaces, parameter properties) is refused, and so is whatever the parser does not understand: the result is
 * either the program that was written or an error.
 */
export function erase(source: string, { resolve = (specifier) => specifier }: EraseOptions = {}): Erased {
  const eraser = new Eraser(source, resolve);
  try {
    return { code: eraser.run(typescript.parse(source).topNode) };
  } catch (error) {
    if (error instanceof Refusal) return { error: { message: error.message, at: error.at } };
    throw error;
  }
}

class Refusal extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** Syntax that needs code of its own when it runs. */
const refused: Readonly<Record<string, string>> = {
  EnumDeclaration: 'an enum is not only a type: write a const object',
  NamespaceDeclaration: 'a namespace is not only a type: write functions and constants',
  Decorator: 'decorators are not supported here',
  DynamicImport: 'import() is not supported here: write an import statement',
  JSXElement: 'JSX is not supported here',
  JSXSelfClosingTag: 'JSX is not supported here',
};

/** Nodes that are types from their first character to their last. */
const typeNodes = new Set(['TypeAnnotation', 'TypeArgList', 'TypeParamList', 'TypePredicate']);
/** Statements that are types. */
const typeStatements = new Set(['InterfaceDeclaration', 'TypeAliasDeclaration', 'AmbientDeclaration']);
/** Words of a class or its members that JavaScript does not have. */
const typeWords = new Set(['Privacy', 'readonly', 'abstract', 'override', 'Optional']);

class Eraser {
  readonly #source: string;
  readonly #resolve: (specifier: string) => string | undefined;
  readonly #edits: { readonly from: number; readonly to: number; readonly text: string }[] = [];

  constructor(source: string, resolve: (specifier: string) => string | undefined) {
    this.#source = source;
    this.#resolve = resolve;
  }

  run(top: SyntaxNode): string {
    this.#visit(top);
    const edits = [...this.#edits].sort((a, b) => a.from - b.from);
    let [code, at] = ['', 0];
    for (const { from, to, text } of edits) {
      code += this.#source.slice(at, from) + text;
      at = to;
    }
    return code + this.#source.slice(at);
  }

  #visit(node: SyntaxNode): void {
    if (node.type.isError) throw this.#notUnderstood(node);
    const refusal = refused[node.name];
    if (refusal !== undefined) throw new Refusal(refusal, node.from);
    if (typeNodes.has(node.name)) this.#eraseType(node);
    else if (typeStatements.has(node.name) || isOverload(node)) this.#eraseStatement(node);
    else {
      const own = this.#visitors[node.name];
      if (own) own(node);
      else this.#children(node);
    }
  }

  readonly #visitors: Readonly<Record<string, (node: SyntaxNode) => void>> = {
    ImportDeclaration: (node) => this.#module(node),
    ExportDeclaration: (node) => this.#module(node),
    BinaryExpression: (node) => this.#binary(node),
    PostfixExpression: (node) => this.#postfix(node),
    PrefixCast: (node) => this.#prefixCast(node),
    ClassDeclaration: (node) => this.#class(node),
    ClassExpression: (node) => this.#class(node),
    MethodDeclaration: (node) => this.#member(node),
    PropertyDeclaration: (node) => this.#member(node),
    ParamList: (node) => this.#parameters(node),
    ArrowFunction: (node) => this.#arrow(node),
  };

  #children(node: SyntaxNode): void {
    for (const child of childrenOf(node)) this.#visit(child);
  }

  #replace(from: number, to: number, text: string): void {
    if (from < to) this.#edits.push({ from, to, text });
  }

  #blank(from: number, to: number): void {
    this.#replace(from, to, blankOf(this.#source.slice(from, to)));
  }

  #eraseType(node: SyntaxNode): void {
    this.#checkUnderstood(node);
    this.#blank(node.from, node.to);
  }

  /** A semicolon takes the statement's place, so that the statements around it stay apart. */
  #eraseStatement(node: SyntaxNode): void {
    this.#checkUnderstood(node);
    this.#replace(node.from, node.to, `;${blankOf(this.#textOf(node)).slice(1)}`);
  }

  #module(node: SyntaxNode): void {
    const children = childrenOf(node);
    const [keyword, second, third] = children;
    if (children.some(({ name }) => name === 'Equals'))
      throw new Refusal(`${keyword?.name} = is not supported here`, node.from);
    // `import type from 'x'` imports a default called type.
    const isType = second?.name === 'type' && third?.name !== 'from';
    if (isType || children.some((child) => typeStatements.has(child.name) || isOverload(child))) {
      this.#eraseStatement(node);
      return;
    }
    const hasSource = node.name === 'ImportDeclaration' || children.some(({ name }) => name === 'from');
    for (const child of children) {
      if (child.name === 'ImportGroup' || child.name === 'ExportGroup') this.#group(child);
      else if (hasSource && child.name === 'String') this.#specifier(child);
      else this.#visit(child);
    }
  }

  #specifier({ from, to }: SyntaxNode): void {
    const specifier = this.#source.slice(from + 1, to - 1);
    const url = this.#resolve(specifier);
    if (url === undefined) throw new Refusal(`there is no module ${JSON.stringify(specifier)} here`, from);
    if (url !== specifier) this.#replace(from, to, JSON.stringify(url));
  }

  /** Erases the names that are imported as types, each with the comma after it. */
  #group(node: SyntaxNode): void {
    const children = childrenOf(node);
    for (const [i, child] of children.entries()) {
      if (child.type.isError) throw this.#notUnderstood(child);
      if (child.name !== 'type') continue;
      const rest = children.slice(i + 1);
      const end = rest.findIndex(({ name }) => name === ',' || name === '}');
      if (end === 0) continue; // a name: { type }
      const comma = rest[end];
      this.#blank(child.from, comma?.name === ',' ? comma.to : (rest[end - 1]?.to ?? child.to));
    }
  }

  /** `x as T` and `x satisfies T`. */
  #binary(node: SyntaxNode): void {
    const [left, operator, type] = childrenOf(node);
    if (!left || !operator || !type) throw this.#notUnderstood(node);
    if (this.#isTypeArguments(left, operator))
      throw new Refusal('type arguments are not understood here: leave them out', node.from);
    if (operator.name !== 'as' && operator.name !== 'satisfies') this.#children(node);
    else {
      this.#visit(left);
      this.#checkUnderstood(type);
      this.#blankEnd(operator.from, type.to);
    }
  }

  /** `a < b > (c)`: the parser does not always see that these are type arguments. Comparisons would make no sense. */
  #isTypeArguments(left: SyntaxNode, operator: SyntaxNode): boolean {
    const [, inner] = left.name === 'BinaryExpression' ? childrenOf(left) : [];
    return !!inner && /^>+$/.test(this.#textOf(operator)) && this.#textOf(inner) === '<';
  }

  /**
   * Blanks what ends an expression. If the next line begins with a bracket or a template, which cannot follow a type but
   * would continue the expression, a semicolon keeps them apart.
   */
  #blankEnd(from: number, to: number): void {
    const [, space = ''] = /^((?:\s|\/\/.*|\/\*[\s\S]*?\*\/)*)/.exec(this.#source.slice(to)) ?? [];
    const continues = space.includes('\n') && /^[([`]/.test(this.#source.slice(to + space.length));
    const blank = blankOf(this.#source.slice(from, to));
    this.#replace(from, to, continues ? `;${blank.slice(1)}` : blank);
  }

  /** `x!`; `x++` stays. */
  #postfix(node: SyntaxNode): void {
    const children = childrenOf(node);
    const last = children.at(-1);
    const isAssertion = last?.name === 'LogicOp';
    for (const child of isAssertion ? children.slice(0, -1) : children) this.#visit(child);
    if (isAssertion) this.#blankEnd(last.from, last.to);
  }

  /** `<T>x` */
  #prefixCast(node: SyntaxNode): void {
    const children = childrenOf(node);
    const value = children.at(-1);
    const close = children.findLast(({ name }) => name === '>');
    if (!value || !close || value.from < close.to) throw this.#notUnderstood(node);
    if (this.#source.slice(node.from, value.from).includes('\n'))
      throw new Refusal('a cast over several lines is not supported here: write `as`', node.from);
    for (const child of children.slice(0, -1)) this.#checkUnderstood(child);
    this.#blank(node.from, value.from);
    this.#visit(value);
  }

  #class(node: SyntaxNode): void {
    const children = childrenOf(node);
    const start = children.findIndex(({ name }) => name === 'implements');
    const body = children.findIndex(({ name }) => name === 'ClassBody');
    const first = children[start];
    if (first) this.#blank(first.from, children[body - 1]?.to ?? first.to);
    for (const [i, child] of children.entries()) {
      if (first && i >= start && i < body) this.#checkUnderstood(child);
      else if (child.name === 'abstract') this.#blank(child.from, child.to);
      else this.#visit(child);
    }
  }

  #member(node: SyntaxNode): void {
    const children = childrenOf(node);
    const has = (name: string): boolean => children.some((child) => child.name === name);
    const isBodiless = node.name === 'MethodDeclaration' && !has('Block');
    if (has('declare') || has('abstract') || isBodiless) {
      this.#eraseStatement(node);
      return;
    }
    const equals = children.find(({ name }) => name === 'Equals');
    // `x!: T`, not a value that begins with `!`.
    const isDefinite = ({ name, from }: SyntaxNode): boolean =>
      name === 'LogicOp' && node.name === 'PropertyDeclaration' && (!equals || from < equals.from);
    for (const child of children) {
      if (typeWords.has(child.name)) this.#word(child, children);
      else if (isDefinite(child)) this.#blank(child.from, child.to);
      else this.#visit(child);
    }
  }

  /** Without a modifier, a member whose name is computed or generated would continue the field before it. */
  #word(word: SyntaxNode, siblings: readonly SyntaxNode[]): void {
    const isFirst = siblings[0]?.from === word.from;
    const next = siblings.find((child) => child.from >= word.to && !typeWords.has(child.name));
    const continues = isFirst && next !== undefined && /^[[*]/.test(this.#source.slice(next.from));
    const blank = blankOf(this.#textOf(word));
    this.#replace(word.from, word.to, continues ? `;${blank.slice(1)}` : blank);
  }

  #parameters(node: SyntaxNode): void {
    const children = childrenOf(node);
    for (const [i, child] of children.entries()) {
      if (child.name === 'Privacy' || child.name === 'readonly' || child.name === 'override')
        throw new Refusal(
          'a parameter property is not only a type: declare a field and set it in the constructor',
          child.from,
        );
      if (child.name === 'Optional') this.#blank(child.from, child.to);
      else if (child.name === 'this') {
        // A type for `this` is not a parameter.
        this.#blank(child.from, child.to);
        const comma = children[i + 2];
        if (comma?.name === ',') this.#blank(comma.from, comma.to);
      } else this.#visit(child);
    }
  }

  /** No line may end between the parameters and the arrow, nor between `async` or `return` and the parameters. */
  #arrow(node: SyntaxNode): void {
    const children = childrenOf(node);
    const parameters = children.find(({ name }) => name === 'ParamList');
    for (const child of children) {
      const text = this.#textOf(child);
      const isLong = parameters !== undefined && text.includes('\n');
      if (isLong && child.name === 'TypeParamList') {
        this.#checkUnderstood(child);
        this.#replace(child.from, child.to, `(${blankOf(text).slice(1)}`);
        this.#blank(parameters.from, parameters.from + 1);
      } else if (isLong && child.name === 'TypeAnnotation') {
        this.#checkUnderstood(child);
        this.#blank(parameters.to - 1, parameters.to);
        this.#replace(child.from, child.to, `${blankOf(text).slice(0, -1)})`);
      } else this.#visit(child);
    }
  }

  #textOf({ from, to }: SyntaxNode): string {
    return this.#source.slice(from, to);
  }

  #checkUnderstood(node: SyntaxNode): void {
    if (node.type.isError) throw this.#notUnderstood(node);
    for (const child of childrenOf(node)) this.#checkUnderstood(child);
  }

  #notUnderstood({ from }: SyntaxNode): Refusal {
    const [text = ''] = this.#source.slice(from).trimStart().split(/\s/, 1);
    return new Refusal(`syntax error at ${text === '' ? 'the end of the code' : text.slice(0, 20)}`, from);
  }
}

/** A signature of a function whose body follows later. */
const isOverload = (node: SyntaxNode): boolean => node.name === 'FunctionDeclaration' && !node.getChild('Block');

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) children.push(child);
  return children;
}

/** Line ends stay; a character outside the basic plane becomes two spaces. */
const blankOf = (text: string): string => text.replace(/[^\r\n\u2028\u2029]/g, ' ');
