import {
  type CpuFeatures,
  type GpuOptions,
  type GridShape,
  type HoistedProgram,
  type Kernel,
  type LowerOptions,
  lower,
  lowerGpu,
} from '../../kernel/index.js';
import type { ExportRequest, ExportVariant } from '../request.js';

/** The kernel's text for one kind of device or one instruction set. */
export interface Variant {
  /** Part of file and function names: `cpu_avx2`. */
  readonly id: string;
  readonly kind: 'cpu' | 'cuda' | 'opencl';
  readonly text: string;
  readonly program: HoistedProgram;
  /** Lanes of a gang, threads of a workgroup. */
  readonly lanes: number;
  readonly use: ExportVariant;
  /** GPUs. */
  readonly shape?: GridShape;
  /** CPUs. */
  readonly set?: InstructionSet;
  /** What the device must have, checked when the kernel is loaded. */
  readonly needs: readonly string[];
}

/** Instruction sets that a variant for CPUs is compiled for. */
export interface InstructionSet {
  readonly id: string;
  /** The condition of the preprocessor under which the file has any code. */
  readonly when: string;
  readonly cpu: CpuFeatures;
  /** For GCC's `target` pragma; empty: the compiler's default. */
  readonly target: string;
  /** What the processor must have, checked when a device is opened. */
  readonly needs: readonly string[];
}

const X86 = 'defined(__x86_64__)';
const ARM = 'defined(__aarch64__)';
const avx2 = ['sse4_1', 'popcnt', 'aes', 'fma', 'avx2', 'bmi1', 'bmi2'];
const avx512 = [...avx2, 'adx', 'avx512f', 'avx512bw', 'avx512dq', 'avx512vl'];

const x86 = (id: string, features: readonly string[]): InstructionSet => ({
  id,
  when: X86,
  cpu: { arch: 'x86', features: new Set(['sse2', ...features]) },
  target: targetOf(features),
  needs: features,
});

/** GCC's names differ from those of /proc/cpuinfo in a few cases. 16 lanes are written for registers of 512 bits. */
function targetOf(features: readonly string[]): string {
  const names: Readonly<Record<string, string>> = { sse4_1: 'sse4.1', bmi1: 'bmi', sha_ni: 'sha' };
  const list = features.map((name) => names[name] ?? name);
  return [...list, ...(features.includes('avx512f') ? ['prefer-vector-width=512'] : [])].join(',');
}

/**
 * From the most to the least demanding, since the first that fits a processor is used. Sets that give the same text as one
 * below them are left out.
 */
const instructionSets: readonly InstructionSet[] = [
  x86('avx512_vaes', [...avx512, 'vaes']),
  x86('avx512', avx512),
  x86('avx2_sha', [...avx2, 'adx', 'sha_ni']),
  x86('avx2', avx2),
  x86('x86', []),
  {
    id: 'arm_sha2',
    when: ARM,
    cpu: { arch: 'arm', features: new Set(['neon', 'aes', 'sha2']) },
    target: '+crypto',
    needs: ['neon', 'aes', 'sha2'],
  },
  { id: 'arm', when: ARM, cpu: { arch: 'arm', features: new Set(['neon']) }, target: '', needs: [] },
  {
    id: 'portable',
    when: `!${X86} && !${ARM}`,
    cpu: { arch: 'other', features: new Set() },
    target: '',
    needs: [],
  },
];

/** Lowers the kernel for all targets of the request. */
export function variantsOf({ kernel, targets }: ExportRequest, options: VariantOptions = {}): Variant[] {
  return targets.flatMap((target) => {
    if (target === 'cpu') return cpuVariants(kernel, options);
    const { checked = false, hoist = true, nativeBodies = true, workgroup } = options;
    const made = (id: string, own: Pick<GpuOptions, 'pipes' | 'workgroup'>, needs: readonly string[] = []): Variant => {
      const { text, program, lanes, shape } = lowerGpu(kernel.gpu.kernel, {
        target,
        checked,
        hoist,
        nativeBodies,
        ...own,
        ...(workgroup !== undefined && { workgroup }),
        ...(options.pipes !== undefined && { pipes: options.pipes }),
      });
      return { id, kind: target, text, program, lanes, use: kernel.gpu, shape, needs };
    };
    if (target === 'cuda') return [made('cuda', { pipes: 'nvidia' })];
    // NVIDIA's OpenCL gets the same shares of multiply-adds as CUDA, as in Node.
    const [forNvidia, plain] = [made('opencl_nvidia', { pipes: 'nvidia' }, ['nvidia']), made('opencl', {})];
    // On a CPU a workgroup has one thread: PoCL 3.1 runs several incorrectly if a barrier is inside a loop.
    const forCpu = made('opencl_cpu', { workgroup: 1 }, ['cpu']);
    return [...(forNvidia.text === plain.text ? [] : [forNvidia]), forCpu, plain];
  });
}

/** For tests, which export kernels as devices compile them. */
export interface VariantOptions {
  readonly checked?: boolean;
  readonly hoist?: boolean;
  readonly nativeBodies?: boolean;
  readonly lanes?: number | 'auto';
  readonly workgroup?: number;
  readonly wide?: boolean;
  readonly pipes?: LowerOptions['pipes'];
  /** Only instruction sets of this processor, to save time. */
  readonly arch?: CpuFeatures['arch'];
}

function cpuVariants(kernel: ExportRequest['kernel'], options: VariantOptions): Variant[] {
  const { checked = false, hoist = true, nativeBodies = true, lanes = 'auto', wide = false, arch } = options;
  const made = instructionSets
    .filter(({ cpu }) => arch === undefined || cpu.arch === arch)
    .map((set): Variant => {
      const use = (set.id === 'arm_sha2' ? kernel.armSha2 : undefined) ?? kernel.cpu;
      const lowered = lower(use.kernel as Kernel, {
        target: 'c',
        lanes,
        hoist,
        checked,
        cpu: set.cpu,
        nativeBodies,
        wide,
        ...(options.pipes !== undefined && { pipes: options.pipes }),
      });
      return { id: `cpu_${set.id}`, kind: 'cpu', set, use, needs: set.needs, ...lowered };
    });
  // The compiler makes better code for AVX2 than for SSE2 from the same text, but not from more instruction sets yet.
  const isBase = ({ set }: Variant): boolean => set?.id === 'avx2' || set?.needs.length === 0;
  return made.filter((variant, at) => isBase(variant) || !made.slice(at + 1).some((other) => isSame(variant, other)));
}

/** True if the other variant, for fewer instruction sets of the same processor, is the same. */
const isSame = (variant: Variant, { set, text, lanes }: Variant): boolean =>
  set?.when === variant.set?.when && set?.id !== 'x86' && text === variant.text && lanes === variant.lanes;
