/**
 * Reads machine code for compute capability 9.0 from a cubin, as far as the model of the pipes needs it. Needs no NVIDIA
 * tool except the compiler. An instruction has 16 bytes. The decoded fields were compared with cuobjdump's output for the
 * kernels of this folder.
 */
export type Pipe = 'alu' | 'fma' | 'other';

export interface Instruction {
  readonly name: string;
  readonly pipe: Pipe;
  /** Clocks for which a warp occupies its pipe: both have 16 lanes; 64-bit products run at half the rate. */
  readonly clocks: number;
  /** Clocks until the warp's next instruction may start, by the compiler. */
  readonly stall: number;
  readonly branches: boolean;
  /** Registers read, by operand position; `reuse` keeps the value in the reuse cache of that position. */
  readonly reads: readonly { readonly slot: number; readonly register: number; readonly reuse: boolean }[];
}

/**
 * Keyed by the low nine bits of an instruction. The compiler's stalls show the pipe of each: two clocks between neighbours
 * on one pipe, one if the pipes differ (VIADD is on the multiply-add pipe; LEA on the integer pipe).
 */
const known: Readonly<Record<number, { name: string; pipe: Pipe; clocks?: number }>> = {
  12: { name: 'ISETP', pipe: 'alu' },
  16: { name: 'IADD3', pipe: 'alu' },
  17: { name: 'LEA', pipe: 'alu' },
  18: { name: 'LOP3', pipe: 'alu' },
  22: { name: 'PRMT', pipe: 'alu' },
  25: { name: 'SHF', pipe: 'alu' },
  36: { name: 'IMAD', pipe: 'fma' },
  37: { name: 'IMAD.WIDE', pipe: 'fma', clocks: 4 },
  39: { name: 'IMAD.HI', pipe: 'fma', clocks: 4 },
  54: { name: 'VIADD', pipe: 'fma' },
};
const branches: ReadonlySet<number> = new Set([0x141, 0x145, 0x147, 0x148, 0x14d]); // BSYNC, BSSY, BRA, WARPSYNC, EXIT
const NO_REGISTER = 255;

/** Returns all instructions of a kernel. */
export function instructions(cubin: Uint8Array, entry: string): Instruction[] {
  const text = sections(cubin).get(`.text.${entry}`);
  if (!text) throw new Error(`no code for ${entry}`);
  const view = new DataView(text.buffer, text.byteOffset, text.byteLength);
  return Array.from({ length: text.byteLength / 16 }, (_, i) => {
    const words = [0, 4, 8, 12].map((at) => view.getUint32(16 * i + at, true)) as [number, number, number, number];
    return decode(words);
  });
}

/** Returns the longest run without a branch, which every item executes. */
export function hotPath(all: readonly Instruction[]): Instruction[] {
  let best: readonly Instruction[] = [];
  let start = 0;
  [...all, { branches: true }].forEach((one, i) => {
    if (!one.branches) return;
    if (i - start > best.length) best = all.slice(start, i);
    start = i + 1;
  });
  return [...best];
}

function decode([low, second, third, high]: readonly [number, number, number, number]): Instruction {
  const operation = low & 0x1ff;
  const form = (low >> 9) & 7;
  const { name, pipe, clocks = 2 } = known[operation] ?? { name: `0x${operation.toString(16)}`, pipe: 'other' };
  const control = (high >>> 9) & 0x1f_ffff;
  const reuse = control >> 17;
  // Form 1 has three registers; 2, 3 and 7 have another operand in the third position and move the second register there.
  const last = form === 2 || form === 3 || form === 7 ? 1 : 2;
  const fields = [
    { slot: 0, register: low >>> 24 },
    ...(form === 1 ? [{ slot: 1, register: second & 0xff }] : []),
    ...(name === 'VIADD' || name === 'ISETP' ? [] : [{ slot: last, register: third & 0xff }]),
  ];
  const reads = pipe === 'other' ? [] : fields.filter(({ register }) => register !== NO_REGISTER);
  return {
    name,
    pipe,
    clocks,
    stall: control & 15,
    branches: branches.has(operation),
    reads: reads.map((read) => ({ ...read, reuse: ((reuse >> read.slot) & 1) === 1 })),
  };
}

/** Returns an ELF file's sections by name. */
function sections(file: Uint8Array): Map<string, Uint8Array> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const table = Number(view.getBigUint64(0x28, true));
  const [size, count, names] = [0x3a, 0x3c, 0x3e].map((at) => view.getUint16(at, true)) as [number, number, number];
  const header = (i: number) => ({
    name: view.getUint32(table + i * size, true),
    from: Number(view.getBigUint64(table + i * size + 0x18, true)),
    length: Number(view.getBigUint64(table + i * size + 0x20, true)),
  });
  const strings = header(names).from;
  const nameAt = (at: number) => {
    const end = file.indexOf(0, strings + at);
    return new TextDecoder().decode(file.subarray(strings + at, end));
  };
  return new Map(
    Array.from({ length: count }, (_, i) => header(i)).map(({ name, from, length }) => [
      nameAt(name),
      file.subarray(from, from + length),
    ]),
  );
}
