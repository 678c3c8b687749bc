import { MillraceError } from '../../kernel/error.js';
import type { Origin } from '../../kernel/index.js';

/** A site number that no access has: the code faulted at an access that only a checked build could identify. */
export const BEYOND_MEMORY = 0xffff_ffff;

/** The access that trapped, its index, and the number of elements: 0 if not reported. */
export interface Trap {
  readonly site: number;
  readonly index: number;
  readonly length: number;
}

interface TrapProgram {
  readonly name: string;
  readonly sites: readonly Origin[];
}

/** How many unloaded programs are remembered: the mark after a launch may settle after its program was unloaded. */
const MAX_UNLOADED = 64;

/** The programs of a device by number, so that a trap's error names the kernel and its source line. */
export class TrapExplainer {
  readonly #programs = new Map<number, TrapProgram>();
  readonly #unloaded: number[] = [];
  #lastNumber = 0;

  /** Assigns the program a number, from 1. Numbers are not reused. */
  add({ name, sites }: TrapProgram): number {
    this.#programs.set(++this.#lastNumber, { name, sites });
    return this.#lastNumber;
  }

  /** Called when the program has been unloaded. */
  remove(number: number): void {
    this.#unloaded.push(number);
    const oldest = this.#unloaded.length > MAX_UNLOADED ? this.#unloaded.shift() : undefined;
    if (oldest !== undefined) this.#programs.delete(oldest);
  }

  explain(device: string, program: number, { site, index, length }: Trap): MillraceError {
    const { name = 'unknown', sites = [] } = this.#programs.get(program) ?? {};
    if (site === BEYOND_MEMORY) {
      return new MillraceError({
        code: 'kernel-bounds',
        message: `kernel ${name}: an access is outside all memory of device ${device}`,
        asked: `a launch of ${name}`,
        advice: 'compile it with `checked` to find the access',
      });
    }
    const origin = sites[site];
    const size = length > 0 ? ` of ${length} elements` : '';
    return new MillraceError({
      code: 'kernel-bounds',
      message: `kernel ${name}: index ${index} is outside its buffer, table or array${size}`,
      asked: origin ? [...origin.helpers, origin.line].join(' > ') : `access ${site}`,
      advice: 'guard the access with when(), or make the buffer larger',
    });
  }
}
