/**
 * Types of the part of the WebGPU interface that is used here: TypeScript has them only together with the rest of the
 * DOM. The same in Node (Dawn) and in pages.
 */
export interface Gpu {
  requestAdapter(options?: { readonly powerPreference?: 'high-performance' }): Promise<Adapter | null>;
}

export interface Adapter {
  readonly info: AdapterInfo;
  readonly limits: Limits;
  readonly features: { has(name: string): boolean };
  requestDevice(wanted: {
    readonly requiredFeatures: readonly string[];
    readonly requiredLimits: Readonly<Record<string, number>>;
  }): Promise<Device>;
}

export interface AdapterInfo {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  readonly isFallbackAdapter?: boolean;
  readonly subgroupMinSize?: number;
  readonly subgroupMaxSize?: number;
}

export interface Limits {
  readonly maxComputeInvocationsPerWorkgroup: number;
  readonly maxComputeWorkgroupSizeX: number;
  readonly maxComputeWorkgroupStorageSize: number;
  readonly maxStorageBuffersPerShaderStage: number;
  readonly maxStorageBufferBindingSize: number;
  readonly maxUniformBufferBindingSize: number;
  readonly maxBufferSize: number;
}

export interface Device {
  readonly queue: GpuQueue;
  readonly lost: Promise<{ readonly reason: string; readonly message: string }>;
  onuncapturederror: ((event: { readonly error: GpuError }) => void) | null;
  createBuffer(wanted: { readonly size: number; readonly usage: number; readonly mappedAtCreation?: boolean }): Buffer;
  createQuerySet(wanted: { readonly type: 'timestamp'; readonly count: number }): QuerySet;
  createShaderModule(wanted: { readonly code: string }): ShaderModule;
  createBindGroupLayout(wanted: { readonly entries: readonly LayoutEntry[] }): BindGroupLayout;
  createPipelineLayout(wanted: { readonly bindGroupLayouts: readonly BindGroupLayout[] }): object;
  createComputePipelineAsync(wanted: {
    readonly layout: object;
    readonly compute: { readonly module: ShaderModule; readonly entryPoint: string };
  }): Promise<Pipeline>;
  createBindGroup(wanted: {
    readonly layout: BindGroupLayout;
    readonly entries: readonly { readonly binding: number; readonly resource: BufferBinding }[];
  }): BindGroup;
  createCommandEncoder(): Encoder;
  pushErrorScope(filter: 'validation' | 'out-of-memory'): void;
  popErrorScope(): Promise<GpuError | null>;
  destroy(): void;
}

export interface GpuError {
  readonly message: string;
}

export interface GpuQueue {
  submit(buffers: readonly object[]): void;
  /** Not from shared memory: Dawn's Node binding ends the process (a segmentation fault) when it is given that. */
  writeBuffer(to: Buffer, offset: number, data: ArrayBufferView, from?: number, size?: number): void;
}

export interface Buffer {
  readonly size: number;
  mapAsync(mode: number): Promise<undefined>;
  getMappedRange(): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

export interface BufferBinding {
  readonly buffer: Buffer;
  readonly offset?: number;
  readonly size?: number;
}

export interface LayoutEntry {
  readonly binding: number;
  readonly visibility: number;
  readonly buffer: {
    readonly type: 'uniform' | 'storage' | 'read-only-storage';
    readonly hasDynamicOffset?: boolean;
  };
}

export interface ShaderModule {
  getCompilationInfo(): Promise<{
    readonly messages: readonly { readonly type: string; readonly lineNum: number; readonly message: string }[];
  }>;
}

export interface Encoder {
  beginComputePass(wanted?: {
    readonly timestampWrites: {
      readonly querySet: QuerySet;
      readonly beginningOfPassWriteIndex?: number;
      readonly endOfPassWriteIndex?: number;
    };
  }): Pass;
  copyBufferToBuffer(from: Buffer, fromOffset: number, to: Buffer, toOffset: number, bytes: number): void;
  clearBuffer(buffer: Buffer, offset: number, bytes: number): void;
  resolveQuerySet(set: QuerySet, first: number, count: number, to: Buffer, offset: number): void;
  finish(): object;
}

export interface Pass {
  setPipeline(pipeline: Pipeline): void;
  setBindGroup(index: number, group: BindGroup, offsets?: readonly number[]): void;
  dispatchWorkgroups(x: number, y?: number): void;
  end(): void;
}

// Objects that are only passed around; `__kind` keeps the types apart.
export interface Pipeline {
  readonly __kind?: 'pipeline';
}
export interface BindGroup {
  readonly __kind?: 'group';
}
export interface BindGroupLayout {
  readonly __kind?: 'layout';
}
export interface QuerySet {
  readonly __kind?: 'queries';
}

/** Buffer flags, as the specification numbers them. */
export const Usage = {
  mapRead: 0x1,
  mapWrite: 0x2,
  copySource: 0x4,
  copyTarget: 0x8,
  uniform: 0x40,
  storage: 0x80,
  queryResolve: 0x200,
} as const;
export const MAP_READ = 1;
export const MAP_WRITE = 2;
export const VISIBLE_IN_COMPUTE = 4;

/** The alignment of dynamic offsets of bindings, on every device. */
export const OFFSET_GRAIN = 256;
