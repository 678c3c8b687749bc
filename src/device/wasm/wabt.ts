/** The part of wabt that is used here; its own declaration omits the argument of `validate`. */
export interface Wabt {
  parseWat(file: string, text: string, features: Readonly<Record<string, boolean>>): WabtModule;
}

export interface WabtModule {
  validate(features: Readonly<Record<string, boolean>>): void;
  toBinary(options: Readonly<Record<string, boolean>>): { readonly buffer: Uint8Array };
  destroy(): void;
}
