/**
 * Types of the part of the engine's WebAssembly interface that is used here: TypeScript has them only together with the
 * rest of the DOM.
 */
export interface Memory {
  readonly buffer: SharedArrayBuffer;
  grow(pages: number): number;
}
export type Module = object;

interface Api {
  readonly Memory: new (size: { initial: number; maximum: number; shared: true }) => Memory;
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => Module;
  readonly Global: new (type: { value: 'i32'; mutable: boolean }, value: number) => object;
  readonly Instance: new (module: Module, imports: object) => { readonly exports: Readonly<Record<string, unknown>> };
  readonly RuntimeError: new (message?: string) => Error;
  validate(bytes: Uint8Array<ArrayBuffer>): boolean;
  compile(bytes: Uint8Array<ArrayBuffer>): Promise<Module>;
}

export const api: Api = (globalThis as unknown as { WebAssembly: Api }).WebAssembly;
