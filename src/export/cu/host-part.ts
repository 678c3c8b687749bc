import type { HoistedProgram } from '../../kernel/ir/program.js';
import { renderHost } from '../../kernel/render/c/host.js';

/** The functions that the printed lines call, by their names in the file's own SHA-256. */
const shaFunctions: Readonly<Record<string, string>> = { rotr_u32: 'rotr', bitSelect_u32: 'choose' };

/**
 * Prints the lines that compute a kernel's job words on the host: `words[i] = …;`. A job value is `field[element]`. The text
 * around the lines declares `words` and the fields.
 */
export function hostPart(program: HoistedProgram): readonly string[] {
  const absent = (what: string) => () => {
    throw new TypeError(`the job's words depend on ${what}`);
  };
  const { job } = renderHost(program, {
    field: (_, field, element) => `${program.job[field]?.name}[${element}]`,
    base: 'base',
    ringCapacity: 'ring_capacity',
    size: absent("a buffer's size"),
  });
  return job.map((line) =>
    line
      .replaceAll(/\b\w+_u32(?=\()/g, (name) => shaFunctions[name] ?? absent(name)())
      .replace(/^(words\[\d+\] = )\((.*)\);$/, '$1$2;'),
  );
}
