import { type AtomicOp, type Node, operandsOf, type Place, type TableDecl } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import { bytesOf, type Scalar } from '../../language/types.js';
import { bufferName, lengthName } from '../names.js';
import { boundsCheck, immediates, laneAddresses, type MemoryAccess, offset, uniformAddress } from './address.js';
import { WatArrays } from './arrays.js';
import type { EffectStatement, Effects, WatBody } from './body.js';
import { transposed } from './quads.js';
import { get, wasmType, watLiteral } from './scalar-forms.js';
import { shapeOf } from './simd-forms.js';
import { laneText, type Operand } from './values.js';

/**
 * Buffers, atomics, tables and native bodies in WAT. Addresses have 32 bits, so a gang computes its addresses in registers.
 * Lanes outside the mask read the buffer's first element, which always exists; they do not write. A checked build tests the
 * index before each access.
 */
export class WatMemory implements Effects {
  readonly sites: Origin[];
  readonly preludes: Set<string>;
  readonly arrays: WatArrays;
  readonly #body: WatBody;
  readonly #checked: boolean;
  readonly #tables: ReadonlyMap<number, number>;

  /** `tables` holds the position of each table within the constants. Bodies of one module have one list of sites. */
  constructor(
    body: WatBody,
    checked: boolean,
    tables: ReadonlyMap<number, number>,
    { sites, preludes }: { readonly sites: Origin[]; readonly preludes: Set<string> },
  ) {
    this.#body = body;
    this.sites = sites;
    this.preludes = preludes;
    this.#checked = checked;
    this.#tables = tables;
    this.arrays = new WatArrays(body, checked, (origin) => this.#site(origin));
  }

  lookup(node: Node, index: Operand, varying: boolean, mask: Operand | undefined): void {
    const table = node.detail.table as TableDecl;
    const ofJob = table.word !== undefined;
    const access: MemoryAccess = {
      type: table.type,
      start: get(ofJob ? '$params' : this.#body.local('$constants', 'i32')),
      offset: ofJob ? (table.word ?? 0) * 4 : (this.#tables.get(table.id) ?? 0),
      index: this.#named(index),
      base: undefined,
      width: 1,
      length: `(i64.const ${table.values.length})`,
    };
    this.#read(access, [node], varying, mask, node.origin);
  }

  effect(statement: EffectStatement, mask: Operand | undefined): void {
    switch (statement.kind) {
      case 'array':
        this.arrays.declare(statement);
        return;
      case 'load': {
        if (statement.place.buffer.kind === 'array') {
          this.arrays.load(statement, mask);
          return;
        }
        const varying = this.#body.isVarying(statement.results[0] as Node);
        const access = this.#accessOf(statement.place, statement.results.length);
        this.#read(access, statement.results, varying, mask, statement.origin);
        return;
      }
      case 'store':
        if (statement.place.buffer.kind === 'array') this.arrays.store(statement, mask);
        else this.#store(statement, mask);
        return;
      case 'atomic':
        this.#atomic(statement, mask);
        return;
      case 'prefetch':
        return; // Wasm has no prefetch
      case 'native':
        this.#native(statement);
    }
  }

  /**
   * Returns an index that may be written several times, as lanes and checks do; otherwise it is printed where it is used.
   */
  #named(index: Operand): Operand {
    return index.varying || this.#checked ? this.#body.toAtom(index) : index;
  }

  #accessOf(place: Place, width: number): MemoryAccess {
    return {
      type: place.buffer.type,
      start: get(`$${bufferName(place.buffer)}`),
      offset: 0,
      index: this.#named(this.#body.operand(place.index)),
      base: place.base && this.#named(this.#body.operand(place.base)),
      width,
      length: this.#checked ? get(this.#body.local(`$${lengthName(place.buffer)}`, 'i64')) : '',
    };
  }

  #read(
    access: MemoryAccess,
    results: readonly Node[],
    varying: boolean,
    mask: Operand | undefined,
    origin: Origin,
  ): void {
    if (!varying) {
      this.#readOne(access, results, origin);
      return;
    }
    const at = laneAddresses(this.#body, access, mask);
    if (this.#checked) this.#readChecked(access, results, mask, at, this.#site(origin));
    else if (results.length === 4) this.#readQuads(access, results, at);
    else this.#readLanes(access, this.#body.define(results[0] as Node), mask, at);
  }

  #readLanes(
    access: MemoryAccess,
    names: readonly string[],
    mask: Operand | undefined,
    at: (lane: number) => string,
  ): void {
    const size = bytesOf[access.type] * 8;
    const perRegister = 128 / size;
    const piece = (r: number): string => `(v128.load ${offset(access.offset + 16 * r)}${at(0)})`;
    const lanes = (r: number): string => {
      let text = `(v128.load${size}_zero ${immediates(access, 0)}${at(r * perRegister)})`;
      for (let k = 1; k < perRegister; k++)
        text = `(v128.load${size}_lane ${immediates(access, 0)}${k} ${at(r * perRegister + k)} ${text})`;
      return text;
    };
    const set = (text: (r: number) => string) => (): void => {
      for (const [r, name] of names.entries()) this.#body.set(name, text(r));
    };
    this.#asPiece(access, mask, set(piece), set(lanes));
  }

  /**
   * Accesses consecutive lanes as one piece if all of them are active. An index that wraps at 2^32 between two lanes is not
   * contiguous.
   */
  #asPiece({ index, base }: MemoryAccess, mask: Operand | undefined, piece: () => void, lanes: () => void): void {
    const body = this.#body;
    const neighbours = body.gang.consecutive.has(index.node) && !base?.varying;
    if (!neighbours || this.#checked || mask?.node.op !== 'active') {
      lanes();
      return;
    }
    const last = watLiteral('u32', 2 ** 32 - body.lanes);
    body.branch(`(i32.and (local.get $whole) (i32.le_u ${laneText(index, 0)} ${last}))`, piece, lanes);
  }

  /** Reads one value for all lanes. */
  #readOne(access: MemoryAccess, results: readonly Node[], origin: Origin): void {
    const body = this.#body;
    const address = uniformAddress(this.#body, access, true);
    const names = results.map((node) => body.define(node)[0] ?? '');
    const load = (k: number): string => `(${wasmType(access.type)}.load ${immediates(access, k)}${address})`;
    const site = this.#checked ? this.#site(origin) : 0;
    if (this.#checked)
      for (const name of names) body.set(name, watLiteral(access.type, access.type === 'u64' ? 0n : 0));
    this.#eachLane(undefined, access, site, () => {
      for (const [k, name] of names.entries()) body.set(name, load(k));
    });
  }

  #readChecked(
    access: MemoryAccess,
    results: readonly Node[],
    mask: Operand | undefined,
    at: (lane: number) => string,
    site: number,
  ): void {
    const body = this.#body;
    const size = bytesOf[access.type] * 8;
    const perRegister = 128 / size;
    const names = results.map((node) => body.define(node));
    for (const name of names.flat()) body.set(name, '(v128.const i32x4 0 0 0 0)');
    this.#eachLane(mask, access, site, (lane) => {
      const [register, k] = [Math.floor(lane / perRegister), lane % perRegister];
      names.forEach((registers, element) => {
        const name = registers[register] ?? '';
        body.set(name, `(v128.load${size}_lane ${immediates(access, element)}${k} ${at(lane)} ${get(name)})`);
      });
    });
  }

  /** Reads whole quads, one per lane, and transposes them to elements. */
  #readQuads(access: MemoryAccess, results: readonly Node[], at: (lane: number) => string): void {
    const body = this.#body;
    const registers = (4 * bytesOf[access.type]) / 16;
    const quads = Array.from({ length: body.lanes }, (_, lane) =>
      Array.from({ length: registers }, (_part, part) =>
        body.newVariable(`(v128.load ${offset(access.offset + 16 * part)}${at(lane)})`),
      ),
    );
    const elements = transposed(access.type, quads, (text) => body.newVariable(text));
    results.forEach((node, k) => {
      body.define(node).forEach((name, r) => {
        body.set(name, elements[k]?.[r] ?? '');
      });
    });
  }

  #store(statement: Extract<EffectStatement, { kind: 'store' }>, mask: Operand | undefined): void {
    const body = this.#body;
    const access = this.#accessOf(statement.place, statement.values.length);
    const values = statement.values.map((node) => body.toAtom(body.operand(node)));
    const site = this.#checked ? this.#site(statement.origin) : 0;
    if (!mask) this.#storeOne(access, values, site);
    else if (values.length === 4) this.#storeQuads(access, values, mask, site);
    else this.#storeLanes(access, values[0] as Operand, mask, site);
  }

  #storeOne(access: MemoryAccess, values: readonly Operand[], site: number): void {
    const address = uniformAddress(this.#body, access, true);
    this.#eachLane(undefined, access, site, () => {
      for (const [k, value] of values.entries())
        this.#body.line(`(${wasmType(access.type)}.store ${immediates(access, k)}${address} ${value.texts[0]})`);
    });
  }

  #storeLanes(access: MemoryAccess, value: Operand, mask: Operand, site: number): void {
    const at = laneAddresses(this.#body, access, undefined);
    const size = bytesOf[access.type] * 8;
    const perRegister = 128 / size;
    const piece = (): void => {
      for (const [r, text] of this.#body.inLanes(value).entries())
        this.#body.line(`(v128.store ${offset(16 * r)}${at(0)} ${text})`);
    };
    const lanes = (): void =>
      this.#eachLane(mask, access, site, (lane) => {
        const register = value.texts[Math.floor(lane / perRegister)];
        this.#body.line(
          value.varying
            ? `(v128.store${size}_lane ${lane % perRegister} ${at(lane)} ${register})`
            : `(${wasmType(access.type)}.store ${at(lane)} ${value.texts[0]})`,
        );
      });
    this.#asPiece(access, mask, piece, lanes);
  }

  #storeQuads(access: MemoryAccess, values: readonly Operand[], mask: Operand, site: number): void {
    const body = this.#body;
    const at = laneAddresses(this.#body, access, undefined);
    const keep = (text: string): string => body.newVariable(text);
    const elements = values.map((value) => body.inLanes(value));
    const quads = transposed(access.type, elements, keep, 'back');
    this.#eachLane(mask, access, site, (lane) => {
      quads[lane]?.forEach((register, part) => {
        body.line(`(v128.store ${offset(16 * part)}${at(lane)} ${register})`);
      });
    });
  }

  #atomic(statement: Extract<EffectStatement, { kind: 'atomic' }>, mask: Operand | undefined): void {
    const body = this.#body;
    const { op, result, place } = statement;
    const { type } = place.buffer;
    const perRegister = 16 / bytesOf[type];
    const access = this.#accessOf(place, 1);
    const operands = operandsOf(statement).map((node) => body.toAtom(body.operand(node)));
    const names = result ? body.define(result) : [];
    const at = mask ? laneAddresses(this.#body, access, undefined) : () => uniformAddress(this.#body, access, true);
    const site = this.#checked ? this.#site(statement.origin) : 0;
    if (mask) for (const name of names) body.set(name, '(v128.const i32x4 0 0 0 0)');
    else if (this.#checked) for (const name of names) body.set(name, `(${wasmType(type)}.const 0)`);
    this.#eachLane(mask, access, site, (lane) => {
      const target = names[Math.floor(lane / perRegister)] ?? '';
      const call = atomicCall(op, type, [at(lane), ...operands.map((operand) => laneText(operand, lane))].join(' '));
      const replaced = `(${shapeOf(type)}.replace_lane ${lane % perRegister} ${get(target)} ${call})`;
      if (op === 'store') body.line(call);
      else if (!result) body.line(`(drop ${call})`);
      else body.set(target, mask ? replaced : call);
    });
  }

  /** Prints a native body with names of variables; for a value in several registers, with their common prefix. */
  #native(statement: Extract<EffectStatement, { kind: 'native' }>): void {
    const body = this.#body;
    const lanes = body.isVarying(statement.results[0] as Node) ? body.lanes : 1;
    if (statement.body.prelude) this.preludes.add(statement.body.prelude);
    const nameIn = (text: string): string => text.slice('(local.get '.length, -1).replace(/\.\d+$/, '');
    const args = statement.args.map((node) => {
      const operand = body.operand(node);
      const texts = lanes > 1 ? body.inLanes(operand) : operand.texts;
      const named = /^\(local\.get \S+\)$/.test(texts[0] ?? '');
      const plain: Operand = { node, varying: lanes > 1, texts, isAtom: named };
      return nameIn(body.toAtom(plain).texts[0] ?? '');
    });
    const results = statement.results.map((node) => (body.define(node)[0] ?? '').replace(/\.\d+$/, ''));
    for (const text of statement.body.text({ lanes, args, results }).trim().split('\n')) body.line(text);
  }

  /** Calls `act` for each lane of the mask (once if there are no lanes) whose access is in bounds. */
  #eachLane(mask: Operand | undefined, access: MemoryAccess, site: number, act: (lane: number) => void): void {
    const body = this.#body;
    const guarded = (lane: number): void => {
      if (!this.#checked) act(lane);
      else body.branch(boundsCheck(access, lane, site), () => act(lane));
    };
    if (!mask) guarded(0);
    for (let lane = 0; mask && lane < body.lanes; lane++) {
      const here = mask.varying ? `(i32x4.extract_lane ${lane & 3} ${mask.texts[lane >> 2]})` : (mask.texts[0] ?? '');
      body.branch(here, () => guarded(lane));
    }
  }

  #site(origin: Origin): number {
    return this.sites.push(origin) - 1;
  }
}

/** Wasm's names of read-modify-write instructions that are not those of the operations. */
const instructionNames: Partial<Record<AtomicOp, string>> = { exchange: 'xchg', compareExchange: 'cmpxchg' };

/** `operands` begin with the address. */
function atomicCall(op: AtomicOp, type: Scalar, operands: string): string {
  const on = wasmType(type);
  switch (op) {
    case 'load':
    case 'store':
      return `(${on}.atomic.${op} ${operands})`;
    case 'min':
    case 'max':
      return `(call $atomic_${op}${type === 'u32' ? '' : `_${type}`} ${operands})`;
    default:
      return `(${on}.atomic.rmw.${instructionNames[op] ?? op} ${operands})`;
  }
}
