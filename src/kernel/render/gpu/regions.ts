import { SUM_PARTIALS } from '../../ir/program.js';
import type { RegionPrinter, RegionStatement } from '../c/c-like.js';
import type { OperationPrinter } from './forms.js';
import type { GpuLanguage } from './language.js';
import { type GpuLayout, partialsName, TOTALS_NAME } from './layout.js';
import type { ThreadScope } from './memory.js';

/**
 * Prints regions of a tile as loops by thread. The dialect prints barriers between regions; this class prints those inside a
 * region.
 */
export class GpuRegions {
  readonly #language: GpuLanguage;
  readonly #forms: OperationPrinter;
  readonly #scope: ThreadScope;
  readonly #threads: number;
  #regions = 0;

  constructor(language: GpuLanguage, layout: GpuLayout, forms: OperationPrinter, scope: ThreadScope) {
    this.#language = language;
    this.#forms = forms;
    this.#scope = scope;
    this.#threads = layout.shape.workgroup;
  }

  print(statement: RegionStatement, printer: RegionPrinter): void {
    switch (statement.kind) {
      case 'each': {
        const index = printer.define(statement.index);
        this.#stride(printer, index, 'thread', printer.uniform(statement.count), this.#threads, () =>
          this.#inside(printer),
        );
        return;
      }
      case 'once':
        printer.braces('if (thread == 0u)', () => this.#inside(printer));
        return;
      case 'sum':
        this.#sum(statement, printer);
        return;
      case 'scan':
        this.#scan(statement, printer);
    }
  }

  #inside(printer: RegionPrinter): void {
    this.#scope.isParallel = true;
    printer.body();
    this.#scope.isParallel = false;
  }

  #stride(printer: RegionPrinter, name: string, from: string, to: string, by: number, inner: () => void): void {
    printer.braces(this.#language.syntax.loop(name, from, `${name} < ${to}`, `${name} += ${by}u`), inner);
  }

  #wait(printer: RegionPrinter): void {
    for (const text of this.#language.memory.barrier({ near: true, global: false })) printer.line(text);
  }

  /** Adds in the order that the language defines. A thread owns whole partials, so the number of threads does not matter. */
  #sum(statement: Extract<RegionStatement, { kind: 'sum' }>, printer: RegionPrinter): void {
    const number = this.#regions++;
    const { type } = statement.result;
    const { syntax, memory, literal } = this.#language;
    const typeName = this.#language.typeName(type);
    const partials = partialsName(type);
    const [p, sum, half] = [`p${number}`, `sum${number}`, `half${number}`];
    const add = (a: string, b: string) => this.#forms.apply(`add_${type}`, [a, b]);
    const count = printer.uniform(statement.count);
    const index = printer.define(statement.index);
    this.#stride(printer, p, 'thread', `${SUM_PARTIALS}u`, this.#threads, () => {
      printer.line(syntax.variable(typeName, sum, literal(type, type === 'u64' ? 0n : 0)));
      this.#stride(printer, index, p, count, SUM_PARTIALS, () => {
        this.#inside(printer);
        printer.line(`${sum} = ${add(sum, printer.uniform(statement.value))};`);
      });
      printer.line(`${partials}[${p}] = ${sum};`);
    });
    this.#wait(printer);
    printer.braces(syntax.loop(half, `${SUM_PARTIALS / 2}u`, `${half} > 0u`, `${half} /= 2u`), () => {
      this.#stride(printer, p, 'thread', half, this.#threads, () =>
        printer.line(`${partials}[${p}] = ${add(`${partials}[${p}]`, `${partials}[${p} + ${half}]`)};`),
      );
      this.#wait(printer);
    });
    printer.line(syntax.constant(typeName, printer.define(statement.result), memory.uniformLoad(`${partials}[0]`)));
  }

  /** Each thread adds up a piece, the pieces' totals are summed in doubling steps, then each thread fills its piece. */
  #scan({ near, length, result }: Extract<RegionStatement, { kind: 'scan' }>, printer: RegionPrinter): void {
    const number = this.#regions++;
    const { syntax, memory } = this.#language;
    const word = this.#language.typeName('u32');
    const [from, to, before, at, step, add] = ['from', 'to', 'before', 'at', 'step', 'add'].map(
      (name) => `${name}${number}`,
    ) as [string, string, string, string, string, string];
    const piece = Math.ceil(length / this.#threads);
    const select = (condition: string, yes: string, no: string) =>
      this.#forms.apply('select_u32', [condition, yes, no]);
    const smaller = (a: string) => select(`(${a} < ${length}u)`, a, `${length}u`);
    const over = (inner: () => void) => printer.braces(syntax.loop(at, from, `${at} < ${to}`, `${at}++`), inner);
    const lastTotal = `${TOTALS_NAME}[${this.#threads - 1}]`;

    printer.line(syntax.constant(word, from, smaller(`(thread * ${piece}u)`)));
    printer.line(syntax.constant(word, to, smaller(`(thread * ${piece}u + ${piece}u)`)));
    printer.line(syntax.variable(word, before, '0u'));
    over(() => printer.line(`${before} += ${memory.read(near, at)};`));
    printer.line(`${TOTALS_NAME}[thread] = ${before};`);
    this.#wait(printer);
    printer.braces(syntax.loop(step, '1u', `${step} < ${this.#threads}u`, `${step} *= 2u`), () => {
      printer.line(syntax.variable(word, add, '0u'));
      printer.line(`if (thread >= ${step}) { ${add} = ${TOTALS_NAME}[thread - ${step}]; }`);
      this.#wait(printer);
      printer.line(`${TOTALS_NAME}[thread] += ${add};`);
      this.#wait(printer);
    });
    printer.line(`${before} = ${TOTALS_NAME}[thread] - ${before};`);
    over(() => {
      printer.line(syntax.constant(word, add, memory.read(near, at)));
      printer.line(memory.write(near, at, before));
      printer.line(`${before} += ${add};`);
    });
    printer.line(syntax.constant(word, printer.define(result), memory.uniformLoad(lastTotal)));
  }
}
