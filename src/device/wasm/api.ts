/**
 * Types of the part of the engine's WebAssembly interface that is used here: TypeScript has them only together with the
 * rest of the DOM.
 */
export interface WasmMemory {
  readonly buffer: SharedArrayBuffer;
  grow(pages: number): number;
}
export type WasmModule = object;

interface WasmApi {
  readonly Memory: new (size: { initial: number; maximum: number; shared: true }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => WasmModule;
  readonly Global: new (type: { value: 'i32'; mutable: boolean }, value: number) => object;
  readonly Instance: new (
    module: WasmModule,
    imports: object,
  ) => { readonly exports: Readonly<Record<string, unknown>> };
  readonly RuntimeError: new (message?: string) => Error;
  validate(bytes: Uint8Array<ArrayBuffer>): boolean;
  compile(bytes: Uint8Array<ArrayBuffer>): Promise<WasmModule>;
}

export const api: WasmApi = (globalThis as unknown as { WebAssembly: WasmApi }).WebAssembly;
