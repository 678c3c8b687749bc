import { MillraceError } from './error.js';
import { withRing } from './harness.js';
import { type Hoisted, innerBlocks, type NativeBody, type Program } from './ir.js';
import type { Origin } from './origin.js';
import { fold } from './passes/fold.js';
import { gang } from './passes/gang.js';
import { hoist } from './passes/hoist.js';
import { pipes } from './passes/pipes.js';
import { place } from './passes/place.js';
import { ternary } from './passes/ternary.js';
import { wide } from './passes/wide.js';
import { renderC } from './render/c.js';
import { renderIr } from './render/ir.js';
import type { Kernel } from './signature.js';

/** What the generated code may count on. */
export interface CpuFeatures {
  readonly arch: 'x86' | 'arm' | 'other';
  /** Names as /proc/cpuinfo has them on x86; `neon`, `sha2`, `aes` on ARM. */
  readonly features: ReadonlySet<string>;
}

export interface LowerOptions {
  readonly target: 'c';
  readonly lanes: number;
  readonly hoist: boolean;
  readonly checked: boolean;
  readonly cpu: CpuFeatures;
  readonly nativeBodies: boolean;
  /** Forces the 32-bit forms of u64, as targets without it get them: for tests. */
  readonly wide?: boolean;
  /** The share of additions written as multiply-adds, 0 to 1. */
  readonly pipes?: number;
}

export interface Lowered {
  readonly program: Hoisted;
  readonly text: string;
  readonly lanes: number;
  readonly statements: number;
  /** Checked builds: where each trap was written. */
  readonly sites: readonly Origin[];
  /** Per line of text, where it comes from. */
  readonly lineOrigins: readonly (Origin | undefined)[];
}

/** From a kernel to text for one target: trace, passes, print. */
export function lower(kernel: Kernel, options: LowerOptions): Lowered {
  checkLanes(kernel, options.lanes);
  const natives = options.nativeBodies ? nativeKeys(options.cpu) : new Set<string>();
  const ternaryLogic = options.cpu.features.has('avx512f') && options.lanes === 16;
  // Parameters are the host's, which has 64 bits: what `wide` changes is the body alone.
  const program = pipes(floatingProgram(kernel.trace({ natives }), options.hoist), options.pipes ?? 0);
  const narrow = options.wide ? wide(program) : program;
  const ganged = gang(place(ternaryLogic ? ternary(narrow) : narrow), options.lanes);
  const text = renderC(ganged, { checked: options.checked, ternaryLogic });
  return { program, lanes: options.lanes, ...text };
}

/** The passes that no target changes: ring, fold, hoist. */
export function floatingProgram(program: Program, compute = true): Hoisted {
  return hoist(fold(withRing(program)), compute);
}

/** Items that one core of this kind best works on at once. */
export function bestLanes(kernel: Kernel, cpu: CpuFeatures): number {
  const natives = nativeKeys(cpu);
  const widest = vectorLanes(cpu);
  if (natives.size === 0) return widest;
  const asked = nativeBodies(kernel.trace({ natives }).body).map(({ lanes = 4 }) => lanes);
  return Math.min(widest, ...asked.filter((lanes) => lanes !== 'widest'));
}

/** Lanes of 32 bits in the widest registers. */
export function vectorLanes({ arch, features }: CpuFeatures): number {
  if (features.has('avx512f')) return 16;
  if (features.has('avx2')) return 8;
  return arch === 'other' ? 1 : 4;
}

/**
 * Native bodies worth using. SHA-256 on x86 (block kernel, MH/s of one Sapphire Rapids core): the SHA instructions give
 * 15.4, plain code 10.9 with AVX2 (8 lanes) but 30.7 with AVX-512 (16 lanes), where they are therefore left alone.
 */
function nativeKeys({ arch, features }: CpuFeatures): Set<string> {
  const keys = new Set<string>();
  if (arch === 'arm' && features.has('sha2')) keys.add('c-neon-sha');
  if (arch === 'x86' && features.has('sha_ni') && features.has('sse4_1') && !features.has('avx512f'))
    keys.add('c-shani');
  if (arch === 'arm' && features.has('aes')) keys.add('c-neon-aes');
  if (arch === 'x86' && features.has('aes') && features.has('sse4_1')) keys.add('c-aesni');
  if (arch === 'x86' && features.has('vaes') && (features.has('avx512f') || features.has('avx2'))) keys.add('c-vaes');
  if (arch !== 'other') keys.add('c-int128');
  return keys;
}

function nativeBodies(block: Program['body']): NativeBody[] {
  return block.flatMap((statement) =>
    statement.kind === 'native' ? [statement.body] : innerBlocks(statement).flatMap(nativeBodies),
  );
}

/** A processor of which nothing is known. */
export const plainCpu: CpuFeatures = { arch: 'other', features: new Set() };

export interface TextOptions {
  readonly target: 'c' | 'ir';
  readonly lanes?: number;
  readonly hoist?: boolean;
  readonly cpu?: CpuFeatures;
}

/** The text that a target gets to see. */
export function kernelText(
  kernel: Kernel,
  { target, lanes, hoist: compute = true, cpu = plainCpu }: TextOptions,
): string {
  if (target === 'ir') return renderIr(place(floatingProgram(kernel.trace(), compute)));
  return lower(kernel, {
    target,
    lanes: lanes ?? bestLanes(kernel, cpu),
    hoist: compute,
    checked: false,
    cpu,
    nativeBodies: true,
  }).text;
}

function checkLanes(kernel: Kernel, lanes: number): void {
  if (Number.isInteger(lanes) && lanes >= 1 && lanes <= 64 && (lanes & (lanes - 1)) === 0) return;
  throw new MillraceError({
    code: 'device-capability',
    message: `kernel ${kernel.name}: a gang cannot have ${lanes} lanes`,
    asked: `lanes: ${lanes}`,
    advice: "give a power of two from 1 to 64, or 'auto'",
  });
}
