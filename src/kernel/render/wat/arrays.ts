import type { BufferDecl, Node, Place } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import { bytesOf } from '../../language/types.js';
import { bufferName } from '../names.js';
import { boundsCheck, type MemoryAccess, offset, scaled } from './address.js';
import type { EffectStatement, WatBody } from './body.js';
import { get, wasmType, watLiteral } from './scalar-forms.js';
import type { Operand } from './values.js';

type ArrayStatement = Extract<EffectStatement, { kind: 'array' }>;
type LoadStatement = Extract<EffectStatement, { kind: 'load' }>;
type StoreStatement = Extract<EffectStatement, { kind: 'store' }>;

/**
 * Arrays of items in WAT: in the thread's own memory, at `$array0` and so on. If lanes have their own elements, a row has
 * one element of all lanes: an index that lanes share accesses whole registers, others access lane by lane. Without checks
 * every index is inside (`boundArrays`), also in lanes outside the mask.
 */
export class WatArrays {
  /** The arrays that were made, with their sizes in bytes. */
  readonly sizes = new Map<BufferDecl, number>();
  readonly #body: WatBody;
  readonly #checked: boolean;
  readonly #site: (origin: Origin) => number;

  constructor(body: WatBody, checked: boolean, site: (origin: Origin) => number) {
    this.#body = body;
    this.#checked = checked;
    this.#site = site;
  }

  declare({ array, values }: ArrayStatement): void {
    const body = this.#body;
    const start = this.#start(array);
    const stride = this.#stride(array);
    const bytes = (array.length ?? 0) * stride;
    this.sizes.set(array, bytes);
    if (values.length === 0) body.line(`(memory.fill ${start} (i32.const 0) (i32.const ${bytes}))`);
    const operands = values.map((node) => body.operand(node));
    operands.forEach((value, i) => {
      if (this.#hasRows(array)) this.#setRow(start, i * stride, value);
      else body.line(`(${wasmType(array.type)}.store ${offset(i * stride)}${start} ${value.texts[0]})`);
    });
  }

  load({ place, results, origin }: LoadStatement, mask: Operand | undefined): void {
    const body = this.#body;
    const access = this.#access(place);
    const hasRows = this.#hasRows(place.buffer);
    const names = body.define(results[0] as Node);
    const site = this.#checked ? this.#site(origin) : 0;
    if (this.#checked) this.#clear(names, place.buffer, hasRows || access.index.varying);
    if (!access.index.varying) {
      const address = this.#addressOf(access);
      const at = names.length > 1 ? body.newVariable(address, 'i32') : address;
      this.#guarded(access, 0, site, () => {
        for (const [r, name] of names.entries())
          body.set(name, `(${hasRows ? 'v128' : wasmType(access.type)}.load ${offset(16 * r)}${at})`);
      });
      return;
    }
    const at = this.#laneAddresses(access, hasRows);
    const size = bytesOf[access.type] * 8;
    const perRegister = 128 / size;
    if (!this.#checked) {
      names.forEach((name, r) => {
        let text = `(v128.load${size}_zero ${at(r * perRegister)})`;
        for (let k = 1; k < perRegister; k++) text = `(v128.load${size}_lane ${at(r * perRegister + k, k)} ${text})`;
        body.set(name, text);
      });
      return;
    }
    this.#eachLane(mask, (lane) =>
      this.#guarded(access, lane, site, () => {
        const name = names[Math.floor(lane / perRegister)] ?? '';
        body.set(name, `(v128.load${size}_lane ${at(lane, lane % perRegister)} ${get(name)})`);
      }),
    );
  }

  store({ place, values, origin, ...statement }: StoreStatement, mask: Operand | undefined): void {
    const body = this.#body;
    const access = this.#access(place);
    const value = body.toAtom(body.operand(values[0] as Node));
    const site = this.#checked ? this.#site(origin) : 0;
    const hasRows = this.#hasRows(place.buffer);
    const isForAll = statement.mask === body.gang.arrayMasks.get(place.buffer);
    if (!access.index.varying) {
      const at = hasRows ? body.newVariable(this.#addressOf(access), 'i32') : this.#addressOf(access);
      this.#guarded(access, 0, site, () => {
        if (hasRows) this.#setRow(at, 0, value, isForAll ? undefined : mask);
        else body.line(`(${wasmType(access.type)}.store ${at} ${value.texts[0]})`);
      });
      return;
    }
    const at = this.#laneAddresses(access, hasRows);
    const size = bytesOf[access.type] * 8;
    const perRegister = 128 / size;
    this.#eachLane(isForAll && !this.#checked ? undefined : mask, (lane) =>
      this.#guarded(access, lane, site, () => {
        const register = value.texts[Math.floor(lane / perRegister)];
        body.line(
          value.varying
            ? `(v128.store${size}_lane ${at(lane, lane % perRegister)} ${register})`
            : `(${wasmType(access.type)}.store ${at(lane)} ${value.texts[0]})`,
        );
      }),
    );
  }

  #hasRows(array: BufferDecl): boolean {
    return this.#body.gang.varyingArrays.has(array);
  }

  /** Returns the bytes from one element to the next, of one lane. */
  #stride(array: BufferDecl): number {
    return bytesOf[array.type] * (this.#hasRows(array) ? this.#body.lanes : 1);
  }

  #start(array: BufferDecl): string {
    return get(this.#body.local(`$${bufferName(array)}`, 'i32'));
  }

  #access({ buffer, index }: Place): MemoryAccess & { readonly stride: number } {
    const body = this.#body;
    const operand = body.operand(index);
    return {
      type: buffer.type,
      start: this.#start(buffer),
      offset: 0,
      index: operand.varying || this.#checked ? body.toAtom(operand) : operand,
      base: undefined,
      width: 1,
      length: `(i64.const ${buffer.length})`,
      stride: this.#stride(buffer),
    };
  }

  #addressOf({ start, index, stride }: MemoryAccess & { readonly stride: number }): string {
    return `(i32.add ${start} ${scaled(index, stride)})`;
  }

  /**
   * Returns the operands of an access to a lane's element: the offset, the lane of the register if it is given, and the
   * address. A lane has its own place in a row.
   */
  #laneAddresses(
    { type, start, index, stride }: MemoryAccess & { readonly stride: number },
    hasRows: boolean,
  ): (lane: number, inRegister?: number) => string {
    const registers = this.#body
      .inLanes(index)
      .map((text) =>
        this.#body.newVariable(
          `(i32x4.add (i32x4.splat ${start}) (i32x4.shl ${text} (i32.const ${Math.log2(stride)})))`,
        ),
      );
    return (lane, inRegister) => {
      const immediates = `${offset(hasRows ? lane * bytesOf[type] : 0)}${inRegister === undefined ? '' : `${inRegister} `}`;
      return `${immediates}(i32x4.extract_lane ${lane & 3} ${registers[lane >> 2]})`;
    };
  }

  /** Assigns a row, in which lanes outside the mask keep their elements. */
  #setRow(start: string, from: number, value: Operand, mask?: Operand): void {
    const body = this.#body;
    const texts = body.inLanes(value);
    const masks = mask && body.laneMasks(body.inLanes(mask), texts.length);
    texts.forEach((text, r) => {
      const immediate = offset(from + 16 * r);
      const kept = masks ? `(v128.bitselect ${text} (v128.load ${immediate}${start}) ${masks[r]})` : text;
      body.line(`(v128.store ${immediate}${start} ${kept})`);
    });
  }

  /** Sets the result of a checked load to zero, which it stays out of bounds. */
  #clear(names: readonly string[], { type }: BufferDecl, varying: boolean): void {
    for (const name of names)
      this.#body.set(name, varying ? '(v128.const i32x4 0 0 0 0)' : watLiteral(type, type === 'u64' ? 0n : 0));
  }

  #eachLane(mask: Operand | undefined, act: (lane: number) => void): void {
    const body = this.#body;
    for (let lane = 0; lane < body.lanes; lane++) {
      if (mask) body.branch(`(i32x4.extract_lane ${lane & 3} ${mask.texts[lane >> 2]})`, () => act(lane));
      else act(lane);
    }
  }

  #guarded(access: MemoryAccess, lane: number, site: number, act: () => void): void {
    if (!this.#checked) act();
    else this.#body.branch(boundsCheck(access, lane, site), act);
  }
}
