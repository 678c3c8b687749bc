import type { DeviceInfo } from '../device.js';
import type { Adapter, Limits } from './api.js';
import { type FoundAdapter, isSoftware, listAdapters } from './library.js';

/** Facts about an adapter that the main thread needs before it opens it. */
export interface AdapterFacts {
  readonly info: DeviceInfo;
  readonly choice: FoundAdapter['choice'];
  /** Bytes of workgroup memory. */
  readonly nearBytes: number;
}

export type AdapterProbeResult = { readonly facts: readonly AdapterFacts[] } | { readonly reason: string };

/** Describes the available adapters as plain data. */
export async function probeAdapters(): Promise<AdapterProbeResult> {
  const found = await listAdapters();
  return 'reason' in found ? found : { facts: found.adapters.map(describeAdapter) };
}

/** Limits that are raised to the adapter's: the default ones are small (128 MiB a binding, 16 KiB of workgroup memory). */
const RAISED_LIMITS = [
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupStorageSize',
  'maxStorageBuffersPerShaderStage',
  'maxStorageBufferBindingSize',
  'maxUniformBufferBindingSize',
  'maxBufferSize',
] as const satisfies readonly (keyof Limits)[];

/** WebGPU features that extend a device, and their names here. */
const FEATURES = { 'timestamp-query': 'timestamps', subgroups: 'subgroups', 'shader-f16': 'f16' } as const;

/** The display of a browser or desktop uses the same device. */
const CHUNK_MS = 20;
/** A GPU cannot stop a chunk: a search waits for the chunks behind its hit. */
const INTERACTIVE_MS = 4;

/** Requests the relevant features and limits of the adapter. */
export function deviceRequest({ limits, features }: Adapter): Parameters<Adapter['requestDevice']>[0] {
  return {
    requiredFeatures: Object.keys(FEATURES).filter((name) => features.has(name)),
    requiredLimits: Object.fromEntries(RAISED_LIMITS.map((name) => [name, limits[name]])),
  };
}

export function describeAdapter(found: FoundAdapter, number: number): AdapterFacts {
  const { adapter, choice, versions } = found;
  const { info, limits, features } = adapter;
  const software = isSoftware(found);
  // A buffer is bound as a whole: larger ones could be created, but not used.
  const bufferBytes = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
  const lanes = Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX);
  const subgroup = info.subgroupMinSize === info.subgroupMaxSize ? info.subgroupMinSize : undefined;
  return {
    choice,
    nearBytes: limits.maxComputeWorkgroupStorageSize,
    info: {
      id: `webgpu:${number}`,
      kind: 'webgpu',
      processor: software ? 'cpu' : 'gpu',
      name:
        choice.name ?? ([info.vendor, info.architecture, info.device].filter(Boolean).join(' ') || 'a WebGPU adapter'),
      memoryBytes: bufferBytes,
      units: 1,
      capabilities: [
        ...['u64', 'atomics'],
        ...Object.entries(FEATURES).flatMap(([name, word]) => (features.has(name) ? [word] : [])),
      ],
      limits: {
        bufferBytes,
        lanes,
        nearBytes: limits.maxComputeWorkgroupStorageSize,
        // The status and the tables are storage buffers too.
        buffers: limits.maxStorageBuffersPerShaderStage - 2,
        chunkMs: CHUNK_MS,
        // In a page, each chunk costs more and goes through another process.
        ...(!software && 'dawn' in versions && { interactiveMs: INTERACTIVE_MS }),
      },
      versions: { ...versions, ...(info.description ? { driver: info.description } : {}) },
      details: {
        ...(info.vendor ? { vendor: info.vendor } : {}),
        ...(info.architecture ? { architecture: info.architecture } : {}),
        ...(choice.backend ? { backend: choice.backend } : {}),
        memory: 'not reported by WebGPU; the size shown is that of the largest buffer',
        'workgroup memory': `${limits.maxComputeWorkgroupStorageSize / 1024} KiB`,
        'storage buffers': `${limits.maxStorageBuffersPerShaderStage} at a time`,
        ...(subgroup ? { subgroup: `${subgroup} threads` } : {}),
      },
    },
  };
}
