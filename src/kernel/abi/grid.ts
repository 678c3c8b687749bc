import type { BufferKind } from '../ir/program.js';
import type { Scalar } from '../language/types.js';

/**
 * A launch on a GPU: the shape that the texts for `cuda`, `opencl` and `wgsl` share and that their devices fill in.
 *
 * The entry `millrace_range` is launched as a grid of any number of workgroups (at most one per block of items, best as many
 * as are resident at once; on WGSL folded into two dimensions past 65,535). A workgroup strides over the blocks, or tiles,
 * from the header's first to its last: the whole launch, or a slice of it. Its bindings, in this order, each only if the
 * shape lists it:
 *
 *   launch   the launch block, below. CUDA, OpenCL: a struct by value if `byValue` is set, else a pointer or buffer;
 *            WGSL: a uniform buffer, or storage if it is large
 *   counted  CUDA, OpenCL: null, or the address of a u32 with the number of items (never more than in the launch
 *            block). On WGSL the device copies that word into the launch block instead
 *   cancel   a u32 that differs from the launch's epoch once the launch is cancelled. In the device's memory; 16 bytes
 *            of a uniform buffer on WGSL
 *   status   STATUS_WORDS words that the host zeroes and reads
 *   tables   the words `tables` of the shape; the same for all launches
 *   …        the kernel's buffers in the order of their declaration, and the ring if the kernel emits
 *
 * The launch block is the header, then per buffer its size in bytes (low word, high word; including the ring if there is
 * one), then the parameter words as `JobParameters` returns them, padded to 16 bytes.
 */
export interface GridShape {
  readonly entry: string;
  /** Threads of a workgroup, in one dimension. */
  readonly workgroup: number;
  /** Items that one workgroup processes at a time: one per thread, or one tile. */
  readonly itemsPerGroup: number;
  /** Workgroup memory. `dynamicBytes` is requested at launch (CUDA, past 48 KiB); the rest is declared in the text. */
  readonly nearBytes: number;
  readonly dynamicBytes: number;
  readonly bindings: readonly GridBinding[];
  readonly launch: {
    readonly words: number;
    readonly sizesAt: number;
    readonly parametersAt: number;
    readonly byValue: boolean;
  };
  /** Contents of the binding `tables`. */
  readonly tables: Uint32Array;
  /** Options for the driver's compiler. */
  readonly compilerOptions: readonly string[];
}

export type GridBindingKind =
  | 'launch'
  | 'counted'
  | 'cancel'
  | 'status'
  | 'tables'
  | Exclude<BufferKind, 'near' | 'array'>;

export interface GridBinding {
  readonly name: string;
  readonly kind: GridBindingKind;
  /** For a kernel's buffer: its position in the program's list and its element type. */
  readonly slot?: number;
  readonly type?: Scalar;
}

/** Words of the launch block's header. */
export const LaunchHeader = {
  /** The number of the last item: the count minus one. A launch is never empty. */
  last: 0,
  epoch: 1,
  /** WGSL: the number of items if it is given by a buffer, and then 1 in `isCounted`; otherwise both are 0. */
  count: 2,
  isCounted: 3,
  /** The number of the first item or tile, since a launch may run in slices. For items, a multiple of `itemsPerGroup`. */
  first: 4,
} as const;
/** A multiple of four words, so that the words after the header stay aligned to 16 bytes. */
export const LAUNCH_HEADER_WORDS = 8;

/** Words of `status`. */
export const LaunchStatus = {
  /** 1 if a workgroup stopped early because the launch was cancelled. */
  incomplete: 0,
  /** Checked builds: 1 if an access was out of bounds; then its site, its index and the number of elements (low, high). */
  trapped: 1,
  site: 2,
  index: 3,
  length: 5,
} as const;
export const STATUS_WORDS = 8;

/** The maximum number of parameter words passed by value; more are passed in a buffer. */
export const MAX_VALUE_WORDS = 900;
/** The bytes of arguments that every OpenCL device accepts. */
export const OPENCL_ARGUMENT_BYTES = 1024;

/**
 * Makes the launch block of one launch, or of its items from `first` on; `count` is that of the whole launch. `bytes` are
 * the sizes of the kernel's buffers in the order of the shape.
 */
export function launchBlock(
  { launch }: GridShape,
  { count, epoch, bytes, first = 0 }: { count: number; epoch: number; bytes: readonly number[]; first?: number },
  parameters: Uint32Array,
): Uint32Array {
  const block = new Uint32Array(launch.words);
  block[LaunchHeader.first] = first;
  block[LaunchHeader.last] = count - 1;
  block[LaunchHeader.epoch] = epoch;
  bytes.forEach((size, i) => {
    block[launch.sizesAt + 2 * i] = size;
    block[launch.sizesAt + 2 * i + 1] = Math.floor(size / 2 ** 32);
  });
  block.set(parameters, launch.parametersAt);
  return block;
}

/**
 * Returns the number of workgroups for `count` items of a launch or slice: at most one per block of items, and at most
 * `maxGroups`.
 */
export function gridSize({ itemsPerGroup }: GridShape, count: number, maxGroups: number): number {
  return Math.max(1, Math.min(maxGroups, Math.ceil(count / itemsPerGroup)));
}

/**
 * Returns the number of workgroups for a GPU that holds `resident` of them at a time: up to 64 times as many, so that the
 * last ones end together, but none with fewer than 16 blocks of items, since each begins by filling its tables.
 */
export function balancedGridSize(shape: GridShape, count: number, resident: number): number {
  const blocks = Math.ceil(count / shape.itemsPerGroup);
  const spread = Math.min(resident * MAX_WAVES, Math.floor(blocks / MIN_ROUNDS));
  return gridSize(shape, count, Math.max(resident, spread));
}
const MAX_WAVES = 64;
const MIN_ROUNDS = 16;

/** WebGPU's limit of workgroups in one dimension; larger grids are folded into two. */
export const MAX_GRID_DIMENSION = 65_535;
export function foldGrid(groups: number): readonly [number, number] {
  if (groups <= MAX_GRID_DIMENSION) return [groups, 1];
  const rows = Math.ceil(groups / MAX_GRID_DIMENSION);
  return [Math.ceil(groups / rows), rows];
}
