import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete';

/** Made of the package's types when it is built (`scripts/bundle-playground.mjs`). */
export interface CompletionData {
  /** Names that `millrace` exports. */
  readonly names: readonly CompletionName[];
  /** Members of exported objects by name; under `''` those of values, buffers, cells and arrays. */
  readonly members: Readonly<Record<string, readonly CompletionName[]>>;
}

export interface CompletionName {
  readonly name: string;
  readonly kind: 'function' | 'constant' | 'class' | 'type' | 'method' | 'property';
  /** The declaration, shortened. */
  readonly detail: string;
  readonly about: string;
}

export function completionSource(load: () => Promise<CompletionData>): CompletionSource {
  return async (context) => {
    const data = await load();
    return memberResult(context, data) ?? nameResult(context, data);
  };
}

/** After a dot: the members of the object before it, if that is an export, else those that values have. */
function memberResult(context: CompletionContext, { members }: CompletionData): CompletionResult | undefined {
  const before = context.matchBefore(/[\w$)\]]{1,100}\s{0,20}\.\s{0,20}\w{0,100}/);
  if (!before) return undefined;
  const [, object = '', typed = ''] = /^([\w$)\]]+)\s*\.\s*(\w*)$/.exec(before.text) ?? [];
  const found = Object.hasOwn(members, object) ? members[object] : members[''];
  return { from: before.to - typed.length, options: (found ?? []).map(optionOf), validFor: /^\w*$/ };
}

function nameResult(context: CompletionContext, { names }: CompletionData): CompletionResult | null {
  const before = context.matchBefore(/[A-Za-z_$][\w$]*/);
  if (!before && !context.explicit) return null;
  return { from: before?.from ?? context.pos, options: names.map(optionOf), validFor: /^[\w$]*$/ };
}

function optionOf({ name, kind, detail, about }: CompletionName): Completion {
  const info = about === '' ? detail : `${detail}\n\n${about}`;
  return { label: name, type: kind, ...(info !== '' && { info }) };
}
