import type { Type, Value } from '../../../kernel/index.js';
import { operations, slotType } from '../values/operations.js';
import { blocksOf, INPUT_LENGTH, type Operand, type Recipe, type RecipeStep } from './recipe.js';
import { INDICES_PER_TILE, usedNearArrays } from './tile-recipe.js';

const byName = new Map(operations.map((operation) => [operation.name, operation]));

/** Prints a recipe as text that reads like its kernel. */
export function print(recipe: Recipe): string {
  const lines: string[] = [];
  const used = new Set(tablesIn(recipe.steps));
  recipe.tables.forEach(({ type, entries, plus }, t) => {
    if (!used.has(t)) return;
    const added = plus === undefined ? '' : ` /* each plus ${literal(plus)} */`;
    lines.push(
      `const table${t} = table(${type}, [${entries.map((entry) => operand(entry, type)).join(', ')}]${added});`,
    );
  });
  const arrays = usedNearArrays(recipe.steps, blocksOf);
  recipe.near?.forEach(({ type, length }, k) => {
    if (arrays.has(k)) lines.push(`const near${k} = near(${type}, ${length}); // filled from input.${type}`);
  });
  block(recipe.steps, { indent: '', types: recipe.types }, lines);
  return lines.join('\n');
}

const tablesIn = (steps: readonly RecipeStep[]): number[] =>
  steps.flatMap((step) => (step.kind === 'lookup' ? [step.table] : blocksOf(step).flatMap(tablesIn)));

interface PrintContext {
  readonly indent: string;
  /** Of the recipe. */
  readonly types: readonly Type[];
}

function block(steps: readonly RecipeStep[], where: PrintContext, lines: string[]): void {
  for (const step of steps) statement(step, where, lines);
}

function statement(step: RecipeStep, { indent, types }: PrintContext, lines: string[]): void {
  const line = (text: string) => lines.push(indent + text);
  const inner = (steps: readonly RecipeStep[]) => block(steps, { indent: `${indent}  `, types }, lines);
  const text = (ref: Operand, type: Type) => operand(ref, type);
  const index = (ref: Operand, length: number, guard: boolean) =>
    guard ? `${text(ref, 'u32')} /* only where below ${length} */` : `${text(ref, 'u32')}.rem(${length})`;
  switch (step.kind) {
    case 'operation': {
      const operation = byName.get(step.name);
      const args = step.args.map((arg, i) =>
        text(arg, operation ? slotType(operation.uses[i] ?? 'a', operation.on) : 'u32'),
      );
      return void line(`const v${step.id} = ${step.name}(${args.join(', ')});`);
    }
    case 'load':
      return void line(`const v${step.id} = input.${step.type}.at(${index(step.index, INPUT_LENGTH, step.guard)});`);
    case 'loadQuad':
      return void line(
        `const v${step.id} = input.${step.type}.slice(${text(step.base, 'u64')}.and(7)).at4(${text(step.index, 'u32')}.and(7))[${step.part}];`,
      );
    case 'byte':
      return void line(`const v${step.id} = bytes.at(${text(step.index, 'u32')}.rem(${INPUT_LENGTH}));`);
    case 'length':
      return void line(`const v${step.id} = input.${step.type}.slice(${text(step.base, 'u64')}).length;`);
    case 'lookup':
      return void line(
        `const v${step.id} = table${step.table}.at(${index(step.index, -1, step.guard).replace('-1', 'its length')});`,
      );
    case 'own':
      return void line(`const v${step.id} = own.${step.type}.at(item.mul(4).add(${step.slot}));`);
    case 'store':
      return void line(`own.${step.type}.set(item.mul(4).add(${step.slot}), ${text(step.value, step.type)});`);
    case 'storeQuad':
      return void line(
        `own.${step.type}.set4(item, [${step.values.map((value) => text(value, step.type)).join(', ')}]);`,
      );
    case 'cell':
      return void line(`const c${step.id} = cell(${step.type}, ${text(step.value, step.type)});`);
    case 'get':
      return void line(`const v${step.id} = c${step.cell}.get();`);
    case 'set':
      return void line(`c${step.cell}.set(${text(step.value, step.type)});`);
    case 'array':
      return void line(
        `const a${step.id} = array(${step.type}, ${step.values.length > 0 ? `[${step.values.map((value) => text(value, step.type)).join(', ')}]` : step.length});`,
      );
    case 'arrayAt':
      return void line(
        `const v${step.id} = a${step.array}.at(${text(step.index, 'u32')} /* ${step.guard ? 'only where inside' : 'wrapped'} */);`,
      );
    case 'arraySet':
      return void line(`a${step.array}.set(${text(step.index, 'u32')} /* wrapped */, ${text(step.value, step.type)});`);
    case 'tally':
      return void line(`tally.${step.type}.${step.op}(${step.op}Word, ${text(step.value, step.type)});`);
    case 'atomic': {
      const expected = step.op === 'compareExchange' ? `${text(step.expected, step.type)} /* itself if odd */, ` : '';
      const what = `tally.${step.type}.${step.op}(ownWord${step.word}, ${expected}${text(step.value, step.type)})`;
      return void line(`const v${step.id} = ${what};`);
    }
    case 'function': {
      const params = step.params.map(({ id, type }) => `v${id}: ${type}`).join(', ');
      line(`const f${step.id} = fn('made-${step.id}', { ${params} }, () => {`);
      inner(step.body);
      line(`  return [${step.values.map((value, i) => text(value, step.types[i] ?? 'u32')).join(', ')}];`);
      return void line('});');
    }
    case 'call':
      return void line(
        `const v${step.id} = f${step.function}(${step.args.map((arg) => text(arg, 'u32')).join(', ')})[${step.result}];`,
      );
    case 'emit':
      return void line(`emit(${step.values.map((value, i) => text(value, types[i] ?? 'u32')).join(', ')});`);
    case 'return':
      return void line(`when(${text(step.condition, 'bool')}, () => returnItem());`);
    case 'break':
      return void line(`breakWhen(${text(step.condition, 'bool')});`);
    case 'when':
      line(`when(${text(step.condition, 'bool')}, () => {`);
      inner(step.body);
      if (step.otherwise.length > 0) {
        line('}).otherwise(() => {');
        inner(step.otherwise);
      }
      return void line('});');
    case 'choose':
      line(`choose(${text(step.which, 'u32')}, [`);
      step.cases.forEach((steps) => {
        line('() => {');
        inner(steps);
        line('},');
      });
      return void line(']);');
    case 'loop':
      line(`loop(min(${text(step.rounds, 'u32')}, ${step.maxRounds}), (v${step.id}) => {`);
      inner(step.body);
      return void line('});');
    case 'while':
      line('whileTrue(() => {');
      inner(step.test);
      line(`  return /* at most ${step.maxRounds} rounds */ ${text(step.condition, 'bool')};`);
      line('}, () => {');
      inner(step.body);
      return void line(step.isLong ? '}, { isLong: true });' : '});');
    case 'hold':
      return void line('whileTrue(() => job.hold.ne(0), () => undefined, { isLong: true });');
    case 'each':
      line(`each(min(${text(step.rounds, 'u32')}, ${step.maxRounds}), (item) => { // own slots: item xor ${step.flip}`);
      inner(step.body);
      return void line('});');
    case 'sum':
      line(`const v${step.id} = sum(${step.type}, min(${text(step.rounds, 'u32')}, ${step.maxRounds}), (item) => {`);
      inner(step.body);
      line(`  return ${text(step.value, step.type)};`);
      return void line('});');
    case 'once':
      line('once(() => {');
      inner(step.body);
      return void line('});');
    case 'scan':
      return void line(`const v${step.id} = scan(${step.length}, near${step.near});`);
    case 'nearAt':
      return void line(
        `const v${step.id} = near${step.near}.at(${text(step.index, 'u32')} /* wrapped; its own where written here */);`,
      );
    case 'nearSet':
      return void line(
        `near${step.near}.set(/* own; in once ${text(step.index, 'u32')} */ ${text(step.value, step.type)});`,
      );
    case 'nearTotal':
      return void line(
        `near${step.near}.${step.op}(${text(step.index, 'u32')} /* wrapped */, ${text(step.value, 'u32')});`,
      );
    case 'far':
      return void line(
        `const v${step.id} = own.${step.type}.at((tile * ${INDICES_PER_TILE} + ${text(step.index, 'u32')} /* wrapped; item where written here */) * 4 + ${step.slot});`,
      );
  }
}

function operand(ref: Operand, type: Type): string {
  switch (ref.kind) {
    case 'value':
      return `v${ref.id}`;
    case 'literal':
      return literal(ref.value);
    case 'item':
      return type === 'u32' ? 'item' : type === 'u64' ? 'index' : `item.to(${type})`;
    case 'job':
      return `job.${type}[${ref.at}]`;
    case 'chunk':
      return `chunk.${type}`;
  }
}

function literal(value: Value): string {
  if (typeof value === 'bigint') return `${value}n`;
  return Object.is(value, -0) ? '-0' : String(value);
}
