import { SUM_PARTIALS } from '../../ir/program.js';
import { isInteger, type Scalar } from '../../language/types.js';
import type { RegionPrinter, RegionStatement } from '../c/c-like.js';
import type { OperationPrinter } from './forms.js';
import type { GpuLanguage, LaneForms, SubgroupForms } from './language.js';
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
  /** Defined if the threads are whole subgroups. */
  readonly #subgroups: SubgroupForms | undefined;
  /** Defined if there is a word of memory for each thread. */
  readonly #lanes: LaneForms | undefined;
  #regions = 0;

  constructor(language: GpuLanguage, layout: GpuLayout, forms: OperationPrinter, scope: ThreadScope) {
    this.#language = language;
    this.#forms = forms;
    this.#scope = scope;
    this.#threads = layout.shape.workgroup;
    const { subgroups } = language;
    this.#subgroups = subgroups && this.#threads % subgroups.size === 0 ? subgroups : undefined;
    this.#lanes = this.#threads <= SUM_PARTIALS ? language.lanes : undefined;
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
        if (isInteger(statement.result.type) && (this.#subgroups || this.#lanes)) this.#integerSum(statement, printer);
        else this.#sum(statement, printer);
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

  /** A sum of integers has one result in any order: each thread adds its indices, each subgroup its threads. */
  #integerSum(statement: Extract<RegionStatement, { kind: 'sum' }>, printer: RegionPrinter): void {
    const number = this.#regions++;
    const sum = `${this.#subgroups ? 'sum' : 'part'}${number}`; // `splitU64` names arrays `sum`
    const { type } = statement.result;
    const { syntax, literal } = this.#language;
    const typeName = this.#language.typeName(type);
    const count = printer.uniform(statement.count);
    const index = printer.define(statement.index);
    printer.line(syntax.variable(typeName, sum, literal(type, type === 'u64' ? 0n : 0)));
    this.#stride(printer, index, 'thread', count, this.#threads, () => {
      this.#inside(printer);
      printer.line(this.#add(type, sum, printer.uniform(statement.value)));
    });
    const result = this.#subgroups
      ? this.#addThreads(printer, sum, type, this.#subgroups)
      : this.#lanes
        ? this.#addLanes(printer, number, sum, type, this.#lanes)
        : sum;
    printer.line(syntax.constant(typeName, printer.define(statement.result), result));
  }

  #add(type: Scalar, a: string, b: string): string {
    return `${a} = ${this.#forms.apply(`add_${type}`, [a, b])};`;
  }

  /** Adds up `sum` of all threads. Returns the result. */
  #addThreads(printer: RegionPrinter, sum: string, type: Scalar, { size, swapped }: SubgroupForms): string {
    const partials = partialsName(type);
    for (let by = size / 2; by >= 1; by /= 2) printer.line(this.#add(type, sum, swapped(sum, by)));
    const groups = this.#threads / size;
    if (groups > 1) {
      printer.line(`if (thread % ${size}u == 0u) { ${partials}[thread / ${size}u] = ${sum}; }`);
      this.#wait(printer);
      printer.line(`${sum} = ${partials}[0];`);
      for (let group = 1; group < groups; group++) printer.line(this.#add(type, sum, `${partials}[${group}]`));
    }
    return sum;
  }

  /** The same: every subgroup adds up the sums of all threads. */
  #addLanes(printer: RegionPrinter, number: number, sum: string, type: Scalar, lanes: LaneForms): string {
    const { syntax, memory, literal } = this.#language;
    const typeName = this.#language.typeName(type);
    const partials = partialsName(type);
    const [own, all] = [`own${number}`, `all${number}`];
    printer.line(`${partials}[thread] = ${sum};`);
    this.#wait(printer);
    const share = this.#share(printer, number, lanes);
    printer.line(syntax.variable(typeName, own, literal(type, 0)));
    share((at) => printer.line(this.#add(type, own, `${partials}[${at}]`)));
    printer.line(syntax.constant(typeName, all, lanes.sum(own)));
    this.#wait(printer); // all have read
    printer.line(`if (thread == 0u) { ${partials}[0] = ${all}; }`);
    return memory.uniformLoad(`${partials}[0]`);
  }

  /** Divides the numbers of all threads among the lanes of each subgroup. Returns what prints a loop over a lane's own. */
  #share(printer: RegionPrinter, number: number, lanes: LaneForms): (inner: (at: string) => void) => void {
    const { syntax } = this.#language;
    const word = this.#language.typeName('u32');
    const [count, share] = [`lanes${number}`, `share${number}`];
    const [first, at] = [`first${number}`, `lane${number}`];
    printer.line(syntax.constant(word, count, lanes.sum('1u')));
    printer.line(syntax.constant(word, share, `(${this.#threads}u + ${count} - 1u) / ${count}`));
    printer.line(syntax.constant(word, first, `${lanes.sumBefore('1u')} * ${share}`));
    const isOwn = `${at} < ${first} + ${share} && ${at} < ${this.#threads}u`;
    return (inner) => printer.braces(syntax.loop(at, first, isOwn, `${at}++`), () => inner(at));
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

    printer.line(syntax.constant(word, from, smaller(`(thread * ${piece}u)`)));
    printer.line(syntax.constant(word, to, smaller(`(thread * ${piece}u + ${piece}u)`)));
    printer.line(syntax.variable(word, before, '0u'));
    over(() => printer.line(`${before} += ${memory.read(near, at)};`));
    let total: string;
    if (this.#subgroups) {
      total = `total${number}`;
      this.#addBefore(printer, before, total, step, this.#subgroups);
    } else {
      total = memory.uniformLoad(`${TOTALS_NAME}[${this.#threads - 1}]`);
      printer.line(`${TOTALS_NAME}[thread] = ${before};`);
      this.#wait(printer);
      if (this.#lanes) this.#addUpLanes(printer, number, step, this.#lanes);
      else {
        printer.braces(syntax.loop(step, '1u', `${step} < ${this.#threads}u`, `${step} *= 2u`), () => {
          printer.line(syntax.variable(word, add, '0u'));
          printer.line(`if (thread >= ${step}) { ${add} = ${TOTALS_NAME}[thread - ${step}]; }`);
          this.#wait(printer);
          printer.line(`${TOTALS_NAME}[thread] += ${add};`);
          this.#wait(printer);
        });
      }
      printer.line(`${before} = ${TOTALS_NAME}[thread] - ${before};`);
    }
    over(() => {
      printer.line(syntax.constant(word, add, memory.read(near, at)));
      printer.line(memory.write(near, at, before));
      printer.line(`${before} += ${add};`);
    });
    printer.line(syntax.constant(word, printer.define(result), total));
  }

  /** Replaces each total by the sum of the totals up to it: every subgroup adds up all of them, and one stores the sums. */
  #addUpLanes(printer: RegionPrinter, number: number, sum: string, lanes: LaneForms): void {
    const { syntax } = this.#language;
    const word = this.#language.typeName('u32');
    const [own, stores] = [`own${number}`, `stores${number}`];
    const share = this.#share(printer, number, lanes);
    printer.line(syntax.variable(word, own, '0u'));
    share((at) => printer.line(`${own} += ${TOTALS_NAME}[${at}];`));
    printer.line(syntax.variable(word, sum, lanes.sumBefore(own)));
    printer.line(syntax.constant(this.#language.typeName('bool'), stores, lanes.any('thread == 0u')));
    this.#wait(printer); // all have read
    printer.braces(`if (${stores})`, () =>
      share((at) => {
        printer.line(`${sum} += ${TOTALS_NAME}[${at}];`);
        printer.line(`${TOTALS_NAME}[${at}] = ${sum};`);
      }),
    );
    this.#wait(printer);
  }

  /** Replaces each thread's sum, in `before`, by the sum of all threads before it. Defines `total`, the sum of all. */
  #addBefore(printer: RegionPrinter, before: string, total: string, own: string, subgroups: SubgroupForms): void {
    const { size } = subgroups;
    const { syntax } = this.#language;
    const word = this.#language.typeName('u32');
    printer.line(syntax.constant(word, own, before));
    for (let by = 1; by < size; by *= 2)
      printer.line(
        `{ ${syntax.constant(word, 'other', subgroups.before(before, by))} if (thread % ${size}u >= ${by}u) ${before} += other; }`,
      );
    printer.line(`if (thread % ${size}u == ${size - 1}u) { ${TOTALS_NAME}[thread / ${size}u] = ${before}; }`);
    this.#wait(printer);
    printer.line(syntax.variable(word, total, '0u'));
    printer.line(`${before} -= ${own};`);
    for (let group = 0; group < this.#threads / size; group++)
      printer.line(`if (thread / ${size}u == ${group}u) ${before} += ${total}; ${total} += ${TOTALS_NAME}[${group}];`);
  }
}
