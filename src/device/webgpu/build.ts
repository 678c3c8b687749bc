import type { GridBinding, GridShape } from '../../kernel/abi/grid.js';
import { MillraceError } from '../../kernel/error.js';
import { CompileRefusal, type GpuSource } from '../gpu/worker/driver.js';
import {
  type BindGroupLayout,
  type Device,
  type LayoutEntry,
  type Limits,
  type Pipeline,
  VISIBLE_IN_COMPUTE,
} from './api.js';

/** The result of compiling a text. */
export interface BuiltPipeline {
  readonly pipeline: Pipeline;
  readonly layout: BindGroupLayout;
}

/** Compiles texts, each once as long as programs of it are loaded. */
export class Builder {
  readonly #device: Device;
  readonly #limits: Limits;
  /** Keyed by text; `programs` counts those that use it or wait for it. */
  readonly #built = new Map<string, { readonly pipeline: Promise<BuiltPipeline>; programs: number }>();

  constructor(device: Device, limits: Limits) {
    this.#device = device;
    this.#limits = limits;
  }

  build(source: GpuSource): Promise<BuiltPipeline> {
    const { text } = source;
    const built = this.#built.get(text) ?? { pipeline: this.#compile(source), programs: 0 };
    built.programs++;
    this.#built.set(text, built);
    built.pipeline.catch(() => this.release(text));
    return built.pipeline;
  }

  /** Called when a program of this text has been unloaded. The last one releases the pipeline. */
  release(text: string): void {
    const built = this.#built.get(text);
    if (built && --built.programs === 0) this.#built.delete(text);
  }

  async #compile({ name, text, shape }: GpuSource): Promise<BuiltPipeline> {
    checkBindings(name, shape, this.#limits);
    const device = this.#device;
    device.pushErrorScope('validation'); // otherwise the error would be uncaptured, and end the device
    const module = device.createShaderModule({ code: text });
    const [refused, { messages }] = await Promise.all([device.popErrorScope(), module.getCompilationInfo()]);
    const error = messages.find(({ type }) => type === 'error');
    if (error) throw new CompileRefusal(COMPILER, error.lineNum || undefined, error.message);
    if (refused) throw new CompileRefusal(COMPILER, undefined, refused.message);
    const layout = device.createBindGroupLayout({
      entries: shape.bindings.map((binding, at) => layoutEntry(binding, at, shape)),
    });
    try {
      const pipeline = await device.createComputePipelineAsync({
        layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module, entryPoint: shape.entry },
      });
      return { pipeline, layout };
    } catch (cause) {
      throw new CompileRefusal(COMPILER, undefined, cause instanceof Error ? cause.message : String(cause));
    }
  }
}

const COMPILER = "WebGPU's WGSL compiler";

function layoutEntry({ kind }: GridBinding, binding: number, { launch }: GridShape): LayoutEntry {
  const entry = (type: LayoutEntry['buffer']['type'], hasDynamicOffset = false): LayoutEntry => ({
    binding,
    visibility: VISIBLE_IN_COMPUTE,
    buffer: { type, hasDynamicOffset },
  });
  switch (kind) {
    case 'launch':
      return entry(launch.byValue ? 'uniform' : 'read-only-storage', true);
    case 'cancel':
      return entry('uniform');
    case 'status':
      return entry('storage', true);
    case 'tables':
    case 'read':
      return entry('read-only-storage');
    default:
      return entry('storage');
  }
}

/** Few buffers fit one dispatch: 8 are guaranteed, adapters have 10 or more. */
function checkBindings(name: string, { bindings, launch }: GridShape, limits: Limits): void {
  const needed = bindings.filter(({ kind }) => kind !== 'cancel' && !(kind === 'launch' && launch.byValue)).length;
  if (needed <= limits.maxStorageBuffersPerShaderStage) return;
  throw new MillraceError({
    code: 'device-capability',
    message: `kernel ${name} needs ${needed} storage buffers, but the device has ${limits.maxStorageBuffersPerShaderStage}`,
    asked: `buffers ${bindings.flatMap(({ name: buffer, type }) => (type ? [buffer] : [])).join(', ')}`,
    advice: 'combine several buffers into one; status words and tables take one each',
  });
}
