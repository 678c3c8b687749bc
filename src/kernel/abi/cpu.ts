import { type Block, innerBlocks, type NativeBody, type Node, type Op, ValueStage } from '../ir/program.js';

/** CPU features that the generated code may use. */
export interface CpuFeatures {
  readonly arch: 'x86' | 'arm' | 'other';
  /** Names as in /proc/cpuinfo on x86; `neon`, `sha2`, `aes` on ARM. */
  readonly features: ReadonlySet<string>;
}

/** A processor with no known features. */
export const plainCpu: CpuFeatures = { arch: 'other', features: new Set() };

/** Lanes of 32 bits in a v128. */
export const WASM_LANES = 4;

/** Lanes of 32 bits in the widest registers. */
export function vectorLanes({ arch, features }: CpuFeatures): number {
  if (features.has('avx512f')) return 16;
  if (features.has('avx2')) return 8;
  return arch === 'other' ? 1 : 4;
}

/**
 * Native bodies worth using. SHA-256 on x86 (block kernel, MH/s of one Sapphire Rapids core): the SHA instructions give
 * 15.4, plain code 10.9 with AVX2 (8 lanes) but 30.7 with AVX-512 (16 lanes). They are therefore not used with AVX-512.
 */
export function nativeKeys({ arch, features }: CpuFeatures, target: 'c' | 'wat' = 'c'): Set<string> {
  if (target === 'wat') return new Set(['wat']);
  const keys = new Set<string>();
  if (arch === 'arm' && features.has('sha2')) keys.add('c-neon-sha');
  if (arch === 'x86' && features.has('sha_ni') && features.has('sse4_1') && !features.has('avx512f'))
    keys.add('c-shani');
  if (arch === 'arm' && features.has('aes')) keys.add('c-neon-aes');
  if (arch === 'arm' && features.has('neon')) keys.add('c-neon');
  if (arch === 'x86' && features.has('f16c')) keys.add('c-f16c');
  if (arch === 'x86' && features.has('aes') && features.has('sse4_1')) keys.add('c-aesni');
  if (arch === 'x86' && features.has('vaes') && (features.has('avx512f') || features.has('avx2'))) keys.add('c-vaes');
  if (arch !== 'other') keys.add('c-int128');
  if (arch === 'x86' && features.has('adx') && features.has('bmi2')) keys.add('c-adx');
  return keys;
}

/**
 * Returns the number of items that one core should process at once, for a traced body. Native bodies state their own.
 * Otherwise: as many as registers hold (`widest`), half of that if most values have 64 bits, and one if the work is mostly
 * 64-bit products, which no vector unit has.
 */
export function bestLanes(body: Block, widest: number): number {
  const preferred = nativeBodies(body).map(({ lanes = 4 }) => lanes);
  if (preferred.length > 0) return Math.min(widest, ...preferred.filter((lanes) => lanes !== 'widest'));
  const nodes = varyingNodes(body);
  const wide = nodes.filter((node) => node.type === 'u64' || node.type === 'f64');
  if (wide.filter((node) => scalarOnly.has(node.op)).length * 8 > nodes.length) return 1;
  return wide.length * 2 > nodes.length ? Math.max(1, widest / 2) : widest;
}

const scalarOnly: ReadonlySet<Op> = new Set(['mulHi', 'wmadHi', 'carry', 'borrow']);

function varyingNodes(block: Block): Node[] {
  return block.flatMap((statement) => {
    if (statement.kind !== 'let') return innerBlocks(statement).flatMap(varyingNodes);
    return statement.node.stage === ValueStage.varying ? [statement.node] : [];
  });
}

function nativeBodies(block: Block): NativeBody[] {
  return block.flatMap((statement) =>
    statement.kind === 'native' ? [statement.body] : innerBlocks(statement).flatMap(nativeBodies),
  );
}
