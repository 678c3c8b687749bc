export type Fact = readonly [name: string, text: string];

/** Names and values. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-fact={name}>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
