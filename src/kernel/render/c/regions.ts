import { SUM_PARTIALS } from '../../ir/program.js';
import { bufferName } from '../names.js';
import type { RegionPrinter, RegionStatement } from './c-like.js';
import type { Helpers } from './helpers.js';

type LinePrinter = Pick<RegionPrinter, 'line' | 'braces'>;

/**
 * Prints a loop over [from, to) by gangs. Inside, `index` holds each lane's number, `whole` is true if all lanes are below
 * `to`, and `active` is the mask of those that are.
 */
export function laneLoop(
  printer: LinePrinter,
  lanes: number,
  first: string,
  from: string,
  to: string,
  index: string,
  inner: () => void,
): void {
  if (lanes === 1) {
    printer.braces(`for (u64 ${first} = ${from}; ${first} < ${to}; ${first}++)`, () => {
      printer.line(`const u32 ${index} = (u32)${first};`);
      inner();
    });
    return;
  }
  printer.braces(`for (u64 ${first} = ${from}; ${first} < ${to}; ${first} += LANES)`, () => {
    printer.line(`const u32v ${index} = splat_u32((u32)${first}) + lane_numbers;`);
    printer.line(`const bool whole = ${to} - ${first} >= LANES;`);
    printer.line(`const i32v active = whole ? splat_bool(1) : (i32v)(lane_numbers < (u32)(${to} - ${first}));`);
    inner();
  });
}

/**
 * Prints regions of a tile. On a CPU one thread processes the whole tile, so a region is a vector loop and needs no barrier.
 */
export class CRegions {
  readonly #lanes: number;
  readonly #helpers: Helpers;
  #regions = 0;

  constructor(lanes: number, helpers: Helpers) {
    this.#lanes = lanes;
    this.#helpers = helpers;
  }

  print(statement: RegionStatement, printer: RegionPrinter): void {
    const number = statement.kind === 'once' ? 0 : this.#regions++;
    switch (statement.kind) {
      case 'each': {
        const count = printer.uniform(statement.count);
        laneLoop(printer, this.#lanes, `first${number}`, '0', count, printer.define(statement.index), printer.body);
        return;
      }
      case 'sum':
        this.#sum(statement, printer, number);
        return;
      case 'once':
        printer.braces('/* once */', printer.body);
        return;
      case 'scan': {
        const array = bufferName(statement.near);
        const total = printer.define(statement.result);
        printer.line(`u32 ${total} = 0;`);
        printer.line(
          `for (u32 i = 0; i < ${statement.length}; i++) { const u32 n = ${array}[i]; ${array}[i] = ${total}; ${total} += n; }`,
        );
      }
    }
  }

  /**
   * Adds element i to partial i mod 256. A gang's lanes are consecutive, so they are added to a vector of partials directly.
   */
  #sum(statement: Extract<RegionStatement, { kind: 'sum' }>, printer: RegionPrinter, number: number): void {
    const { type } = statement.result;
    const partials = `partials${number}`;
    const first = `first${number}`;
    const groups = SUM_PARTIALS / this.#lanes;
    const count = printer.uniform(statement.count);
    printer.line(
      `union { ${type} one[${SUM_PARTIALS}]; ${this.#lanes > 1 ? `${type}v gang[${groups}];` : ''} } ${partials} = {0};`,
    );
    laneLoop(printer, this.#lanes, first, '0', count, printer.define(statement.index), () => {
      printer.body();
      if (this.#lanes === 1) {
        printer.line(`${partials}.one[${first} % ${SUM_PARTIALS}] += ${printer.uniform(statement.value)};`);
      } else {
        const select = this.#helpers.call(`select_${type}`, true);
        const value = printer.varying(statement.value);
        printer.line(`const ${type}v term = ${value};`);
        printer.line(
          `${partials}.gang[${first} / LANES % ${groups}] += whole ? term : ${select}(active, term, splat_${type}(0));`,
        );
      }
    });
    printer.line(
      `for (u32 half = ${SUM_PARTIALS / 2}; half > 0; half /= 2) for (u32 i = 0; i < half; i++) ${partials}.one[i] += ${partials}.one[i + half];`,
    );
    printer.line(`const ${type} ${printer.define(statement.result)} = ${partials}.one[0];`);
  }
}
