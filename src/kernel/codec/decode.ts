import { MillraceError } from '../error.js';
import type { KernelLimits } from '../ir/limits.js';
import { type Field, type Program, type TableDecl, ValueStage } from '../ir/program.js';
import {
  haveEveryAnswer,
  MAX_BODIES,
  type RecordedBody,
  type RecordedBuffer,
  type RecordedFunction,
  type Recording,
  storedAs,
} from '../ir/recording.js';
import { checkName } from '../language/signature.js';
import { bytesOf, wordsOf } from '../language/types.js';
import { malformed } from './bytes.js';
import { BodyDecoder } from './decode-body.js';
import { DecodeContext, overLimit } from './decode-context.js';
import {
  bufferKindNumbers,
  bufferTypeNumbers,
  byNumber,
  Feature,
  fieldTypeNumbers,
  functionKinds,
  kindNumbers,
  knownFeatures,
  MAGIC,
  VERSION,
} from './numbers.js';

const bufferTypes = byNumber(bufferTypeNumbers);
const fieldTypes = byNumber(fieldTypeNumbers);
const bufferKinds = byNumber(bufferKindNumbers);
const kinds = byNumber<Program['kind']>(kindNumbers);

const NAME_LENGTH = 200;

/** A recording that came as bytes, with its functions. A function's callees come before it. */
export interface DecodedRecording extends Recording {
  readonly functions: readonly RecordedFunction[];
  /** The statements of a function after expanding its calls. */
  readonly sizes: ReadonlyMap<RecordedFunction, number>;
}

/**
 * Reads an encoded kernel. This checks the format and the limits; the rules of the language are checked when a trace is made
 * of the result. The bytes may come from anywhere: memory and time are bounded by their length and the limits.
 */
export function decodeRecording(bytes: Uint8Array, limits: KernelLimits): DecodedRecording {
  if (bytes.length > limits.bytes) throw overLimit('bytes', bytes.length, limits.bytes);
  return new Decoder(bytes, limits).recording();
}

/** Reads a kernel from its first byte to its last. */
class Decoder extends DecodeContext {
  /** Words of the job, the chunk and the hit. */
  #words = 0;

  recording(): DecodedRecording {
    const { reader } = this;
    if (MAGIC.some((byte) => reader.byte() !== byte)) throw malformed('it does not begin with MRK');
    const version = reader.byte();
    if (version !== VERSION) throw unsupported(`version ${version}`, `version ${VERSION}`);
    const features = reader.number();
    if ((features & ~knownFeatures) !== 0) throw unsupported(`features ${features}`, `features ${knownFeatures}`);
    const hasOrigins = (features & Feature.origins) !== 0;
    this.strings = this.list(() => reader.text());
    const name = this.string();
    const kind = this.pick(kinds, reader.byte(), 'kind of kernel');
    const lanes = reader.number();
    if (lanes > 64 || (lanes & (lanes - 1)) !== 0) throw malformed(`${lanes} lanes`);
    const job = this.#fieldList('job');
    const chunk = this.#fieldList('chunk');
    const hit = this.#fieldList('hit');
    const buffers = this.#bufferList();
    this.tables = this.#tableList();
    const functionCount = reader.count();
    if (functionCount > this.limits.functions) throw overLimit('functions', functionCount, this.limits.functions);
    const hasOwn = (features & Feature.functions) !== 0;
    while (this.functions.length < functionCount) this.#function(hasOwn && this.#isOwn(), hasOrigins);
    const bodies = this.#bodies(hasOrigins);
    if (reader.left > 0) throw malformed(`${reader.left} bytes follow it`);
    const { functions, sizes } = this;
    const signature = { name, kind, job, chunk, hit, buffers, ...(lanes === 0 ? {} : { lanes }) };
    return { ...signature, bodies, hasOrigins, functions, sizes };
  }

  #fieldList(kind: 'job' | 'chunk' | 'hit'): Field[] {
    const fields = this.list((): Field => {
      const name = this.#name();
      const type = this.pick(fieldTypes, this.reader.byte(), 'type of a field');
      const length = this.reader.number();
      this.#words += Math.max(1, length) * wordsOf(type);
      if (this.#words > this.limits.parameterWords)
        throw overLimit('parameter words', this.#words, this.limits.parameterWords);
      return { name, type, length: Math.max(1, length), array: length > 0 };
    });
    checkDistinct(fields);
    this.fields[kind] = fields;
    return fields;
  }

  #bufferList(): RecordedBuffer[] {
    const buffers = this.list((): RecordedBuffer => {
      const name = this.#name();
      const kind = this.pick(bufferKinds, this.reader.byte(), 'kind of buffer');
      const type = this.pick(bufferTypes, this.reader.byte(), 'type of a buffer');
      if (kind === 'atomic' && type !== 'u32' && type !== 'u64') throw malformed(`buffer ${name} is ${kind} ${type}`);
      return { name, kind, type };
    });
    checkDistinct(buffers);
    if (buffers.length > this.limits.buffers) throw overLimit('buffers', buffers.length, this.limits.buffers);
    for (const [slot, buffer] of buffers.entries()) this.buffers.push({ name: buffer.name, ...storedAs(buffer), slot });
    return buffers;
  }

  #name(): string {
    const name = this.string();
    if (name.length > NAME_LENGTH) throw malformed(`a name of ${name.length} characters`);
    return name;
  }

  #tableList(): TableDecl[] {
    const tables = this.list((id): TableDecl => {
      const type = this.type();
      const values = this.list(() => this.constant(type));
      return { id, type, values, stage: ValueStage.constant };
    });
    if (tables.length > this.limits.tables) throw overLimit('tables', tables.length, this.limits.tables);
    const bytes = tables.reduce((sum, { type, values }) => sum + values.length * bytesOf[type], 0);
    if (bytes > this.limits.tableBytes) throw overLimit('bytes of tables', bytes, this.limits.tableBytes);
    return tables;
  }

  #isOwn(): boolean {
    return this.pick(byNumber(functionKinds), this.reader.byte(), 'kind of function') === 'own';
  }

  #function(isOwn: boolean, hasOrigins: boolean): void {
    const body = new BodyDecoder(this, isOwn && hasOrigins);
    const name = this.#name();
    if (isOwn) checkName('function', name); // it appears in generated text
    const params = this.list(() => body.define(this.node('local', this.type(), [], ValueStage.varying)));
    const events = body.block(0);
    const results = this.list(() => body.operand());
    const callee: RecordedFunction = { name, params, events, results, ...(isOwn && { isOwn }) };
    this.functions.push(callee);
    this.sizes.set(callee, body.size);
    this.depths.set(callee, body.depth);
  }

  #bodies(hasOrigins: boolean): RecordedBody[] {
    const bodies = this.list((): RecordedBody => {
      const natives = new Map(
        this.list(() => {
          const code = this.reader.number();
          return [this.stringAt(code >>> 1), (code & 1) === 1] as const;
        }),
      );
      const body = new BodyDecoder(this, hasOrigins);
      return { natives, events: body.block(0) };
    });
    if (bodies.length === 0 || bodies.length > MAX_BODIES) throw malformed(`it has ${bodies.length} bodies`);
    if (!haveEveryAnswer(bodies)) throw malformed('some targets have no body, or several');
    return bodies;
  }
}

function checkDistinct(named: readonly { readonly name: string }[]): void {
  const names = new Set<string>();
  for (const { name } of named) {
    if (names.has(name)) throw malformed(`the name ${name} is used twice`);
    names.add(name);
  }
}

const unsupported = (has: string, supported: string): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `an encoded kernel of ${has}; this version of Millrace reads ${supported}`,
    advice: 'update Millrace, or encode the kernel with the same version',
  });
