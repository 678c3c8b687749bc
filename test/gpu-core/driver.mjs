// A simulated runtime, for tests of `src/device/gpu`: memory is an array, a launch takes one microsecond per item, and
// refusals and losses of a real runtime happen on request.
//
// A launch replaces the first word x of its first buffer by 3x + count, so that a wrong order shows in the result.

/** @import { DeviceInfo } from '../../src/device/device.js' */
/** @import { Driver, DriverLaunch, GpuSource, HostBytes, MarkResult } from '../../src/device/gpu/worker/driver.js' */

/**
 * @typedef {object} Script
 * @property {number} [room] Max commands of a line in flight.
 * @property {number} [memory] Bytes that can be allocated.
 * @property {number} [lose] Every nth word that signals a mark's end is never set.
 * @property {true} [tells] The driver notifies the loop when a mark has passed.
 * @property {boolean} [borrow] Host memory cannot be locked; the runtime allocates it.
 * @property {number} [overhead] Microseconds from the end of a mark to its signal.
 *
 * @typedef {{ bytes: Uint8Array<ArrayBuffer>, freed: boolean }} Memory
 * @typedef {{ number: number, until: number, began: number | undefined, ends: number[], incomplete: boolean, trap: number,
 *   program: number, epoch: number }} Line
 * @typedef {{ line: Line, number: number, from: number, end: number, complete: boolean, trap: number, program: number,
 *   released: boolean }} Mark
 */

/** Counts of items that make a launch fail. */
export const COUNT = { refused: 1301, fatal: 1302, trapped: 1303, bug: 1304 };

/**
 * @typedef {object} Tools
 * @property {() => number} now Microseconds.
 * @property {(text: string, name: string) => Error} refusal Makes an error that fails one mark.
 * @property {(text: string) => Error} fatal
 * @property {(address: number, bytes: Uint8Array, toHost: boolean) => void} [copy]
 * @property {(bytes: number) => number} [map] Allocates memory of the runtime.
 * @property {(address: number) => void} [unmap]
 */

/** @implements {Driver<Memory, GpuSource, Line, Mark>} */
export class ScriptedDriver {
  /** @type {DeviceInfo} */
  info = {
    id: 'scripted',
    kind: 'opencl',
    processor: 'cpu',
    name: 'no hardware',
    memoryBytes: 2 ** 30,
    units: 1,
    capabilities: ['u64', 'f64'],
    limits: { bufferBytes: 2 ** 28, lanes: 256 },
    versions: {},
  };
  /** Calls in order: `launch 0 17` is a launch of 17 items on line 0. @type {string[]} */
  log = [];
  /** Lines whose marks have passed, in order. @type {number[]} */
  served = [];
  /** @type {Set<Mark>} */
  inFlight = new Set();
  allocated = 0;
  locked = 0;
  blocks = 0;
  closed = false;
  #marks = 0;

  /**
   * @param {Script} script
   * @param {Tools} tools
   */
  constructor(script, tools) {
    this.script = script;
    this.tools = tools;
    if (script.tells) Object.assign(this, { notifies: true });
  }

  /** @param {Mark} mark */
  signalled({ number, end }) {
    const { lose = 0, overhead = 0 } = this.script;
    return (lose === 0 || number % lose !== 0) && end + overhead <= this.tools.now();
  }

  /** @param {number} bytes */
  alloc(bytes) {
    if (this.allocated + bytes > (this.script.memory ?? Number.POSITIVE_INFINITY)) {
      throw this.tools.refusal(`no room for ${bytes} bytes`, 'device-memory');
    }
    this.allocated += bytes;
    this.log.push(`alloc ${bytes}`);
    return { bytes: new Uint8Array(bytes), freed: false };
  }

  /** @param {Memory} memory */
  free(memory) {
    if (memory.freed) throw new Error('freed twice');
    memory.freed = true;
    this.allocated -= memory.bytes.length;
    this.log.push(`free ${memory.bytes.length}`);
  }

  /** @param {number} bytes */
  lock(bytes) {
    this.locked += bytes;
    if (!this.script.borrow) return { bytes: new Uint8Array(new SharedArrayBuffer(bytes)), address: 0 };
    const address = this.tools.map?.(bytes) ?? 0;
    return { bytes: new Uint8Array(bytes), address };
  }

  /** @param {import('../../dist/device/gpu/native/locked-memory.js').LockedRegion} memory */
  unlock({ bytes, address }) {
    this.locked -= bytes.length;
    this.log.push(`unlock ${bytes.length}`);
    if (address !== 0) this.tools.unmap?.(address);
  }

  /** @param {GpuSource} source */
  load(source) {
    return source;
  }

  /** @param {GpuSource} source */
  unload({ number }) {
    this.log.push(`unload ${number}`);
  }

  /**
   * @param {number} number
   * @returns {Line}
   */
  openLine(number) {
    this.log.push(`open ${number}`);
    const fresh = {
      until: 0,
      began: undefined,
      ends: /** @type {number[]} */ ([]),
      incomplete: false,
      trap: 0,
      program: 0,
      epoch: 0,
    };
    return { number, ...fresh };
  }

  /** @param {Line} line */
  closeLine(line) {
    this.log.push(`close ${line.number}`);
  }

  /** @param {Line} line */
  begin(line) {
    if (line.began !== undefined) throw new Error('begun twice');
    line.until = Math.max(line.until, this.tools.now());
    line.began = line.until;
  }

  /**
   * @param {Line} line
   * @param {string} what
   * @param {number} us
   */
  #take(line, what, us) {
    if (line.began === undefined) throw new Error(`${what} before begin`);
    const now = this.tools.now();
    if (line.ends.length > 0) line.ends = line.ends.filter((end) => end > now);
    const { room } = this.script;
    if (room !== undefined && line.ends.length >= room) return false;
    line.until = Math.max(line.until, now) + us;
    if (room !== undefined) line.ends.push(line.until);
    this.log.push(`${what.split(' ')[0]} ${line.number} ${what.split(' ')[1]}`);
    return true;
  }

  /**
   * @param {Line} line
   * @param {Memory} to
   * @param {number} offset
   * @param {HostBytes} from
   */
  write(line, to, offset, from) {
    if (!this.#take(line, `write ${from.bytes}`, 1)) return false;
    this.#transfer(to, offset, from, false);
    return true;
  }

  /**
   * @param {Line} line
   * @param {Memory} from
   * @param {number} offset
   * @param {HostBytes} into
   */
  read(line, from, offset, into) {
    if (!this.#take(line, `read ${into.bytes}`, 1)) return false;
    this.#transfer(from, offset, into, true);
    return true;
  }

  /**
   * @param {Memory} memory
   * @param {number} offset
   * @param {HostBytes} host
   * @param {boolean} toHost
   */
  #transfer(memory, offset, { address, view, bytes }, toHost) {
    alive(memory);
    const here = memory.bytes.subarray(offset, offset + bytes);
    if (address !== undefined) this.tools.copy?.(address, here, toHost);
    else if (toHost) view?.set(here);
    else if (view) here.set(view);
  }

  /**
   * @param {Line} line
   * @param {Memory} from
   * @param {number} fromOffset
   * @param {Memory} to
   * @param {number} toOffset
   * @param {number} bytes
   */
  copy(line, from, fromOffset, to, toOffset, bytes) {
    if (!this.#take(line, `copy ${bytes}`, 1)) return false;
    alive(to).set(alive(from).subarray(fromOffset, fromOffset + bytes), toOffset);
    return true;
  }

  /**
   * @param {Line} line
   * @param {Memory} memory
   * @param {number} offset
   * @param {number} word
   * @param {number} bytes
   */
  fill(line, memory, offset, word, bytes) {
    if (!this.#take(line, `fill ${bytes}`, 1)) return false;
    new Uint32Array(alive(memory).buffer, offset, bytes / 4).fill(word);
    return true;
  }

  /**
   * @param {Line} line
   * @param {DriverLaunch<Memory, GpuSource>} launch
   */
  launch(line, { program, count, epoch, buffers, countFrom }) {
    const counted = countFrom && new Uint32Array(alive(countFrom.memory).buffer, countFrom.offset, 1)[0];
    const items = Math.min(count, counted ?? count);
    if (items === COUNT.refused) throw this.tools.refusal('the runtime refused the launch', 'device-capability');
    if (items === COUNT.fatal) throw this.tools.fatal('the device is lost');
    if (items === COUNT.bug) throw new RangeError('a bug in the worker');
    if (!this.#take(line, `launch ${items}`, items)) return false;
    line.epoch = epoch;
    if (items === COUNT.trapped) {
      line.trap = 1;
      line.program = program.number;
    }
    const words = new Uint32Array(alive(/** @type {Memory} */ (buffers[0])).buffer);
    words[0] = Math.imul(words[0] ?? 0, 3) + items;
    return true;
  }

  /**
   * @param {Line} line
   * @param {Mark} mark
   */
  wait(line, mark) {
    if (mark.released) throw new Error('wait for a released mark');
    this.log.push(`wait ${line.number} ${mark.line.number}`);
    line.until = Math.max(line.until, mark.end);
    return true;
  }

  /**
   * @param {Line} line
   * @returns {Mark}
   */
  mark(line) {
    if (line.began === undefined) throw new Error('a mark before begin');
    this.log.push(`mark ${line.number}`);
    const { began: from, until: end, trap, program } = line;
    const mark = { line, number: ++this.#marks, from, end, complete: true, trap, program, released: false };
    line.began = undefined;
    line.trap = 0;
    this.inFlight.add(mark);
    return mark;
  }

  /**
   * @param {Mark} mark
   * @returns {MarkResult | undefined}
   */
  poll(mark) {
    if (mark.released) throw new Error('polled after release');
    if (mark.end > this.tools.now()) return undefined;
    const { program, complete } = mark;
    if (mark.trap) return { kind: 'trapped', program, site: 0, index: 7, length: 5 };
    return { kind: 'passed', startedNs: nanoseconds(mark.from), endedNs: nanoseconds(mark.end), complete };
  }

  /** @param {Mark} mark */
  release(mark) {
    if (mark.released) throw new Error('released twice');
    mark.released = true;
    this.inFlight.delete(mark);
    this.served.push(mark.line.number);
  }

  /**
   * Ends running work now. Later work of the same epoch does not run.
   * @param {Line} line
   * @param {number} epoch
   */
  cancel(line, epoch) {
    this.log.push(`cancel ${line.number} ${epoch}`);
    this.onCancel?.(line);
  }

  /** @type {((line: Line) => void) | undefined} */
  onCancel;

  /** @param {Mark} mark */
  block(mark) {
    this.blocks++;
    this.onBlock?.(mark);
  }

  /** @type {((mark: Mark) => void) | undefined} */
  onBlock;

  sensors() {
    return { temperatureC: 42 };
  }

  close() {
    this.closed = true;
  }
}

/** @param {Memory} memory */
function alive({ bytes, freed }) {
  if (freed) throw new Error('memory was freed too early');
  return bytes;
}

/** @param {number} us */
const nanoseconds = (us) => BigInt(Math.round(us * 1000));
