/** The parts of a rule of ESLint, which is not a dependency of this package. */
interface Rule {
  readonly meta: object;
  create(context: RuleContext): { CallExpression(call: object): void };
}

export interface RuleContext {
  report(mistake: {
    readonly node: object;
    readonly messageId: string;
    readonly data: { readonly what: string; readonly instead: string };
  }): void;
}

declare const plugin: {
  readonly meta: { readonly name: string };
  readonly rules: { readonly 'no-native-operators': Rule };
  /** For `eslint.config.js`: `export default [millrace.configs.recommended]`. */
  readonly configs: { readonly recommended: { readonly name: string; readonly rules: Record<string, 'error'> } };
};
export default plugin;
