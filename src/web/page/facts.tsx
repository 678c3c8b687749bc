import { NONE } from './text.js';

/** `wide` takes two columns. */
export type Fact = readonly [name: string, text: string, width?: 'wide'];

/** Names and values. `main` are what one looks for first. */
export function Facts({ main = [], facts }: { readonly main?: readonly Fact[]; readonly facts: readonly Fact[] }) {
  return (
    <>
      {main.length > 0 && <List facts={main} kind="facts main" />}
      <List facts={facts} kind="facts" />
    </>
  );
}

function List({ facts, kind }: { readonly facts: readonly Fact[]; readonly kind: string }) {
  return (
    <dl class={kind}>
      {facts.map(([name, text, width]) => (
        <div key={name} class={width ?? ''}>
          <dt>{name}</dt>
          <dd data-fact={name}>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A cell of a table that becomes cards on a narrow screen, where values that are not known are left out. */
export function Cell({ name, text }: { readonly name: string | undefined; readonly text: string }) {
  return (
    <td data-label={name} class={text === NONE ? 'none' : ''}>
      {text}
    </td>
  );
}
