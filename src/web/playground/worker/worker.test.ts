import { describe, expect, test } from 'vitest';
import { CODE_FILE, type CompilePart, type TaskData } from '../messages.js';
import { evaluate } from '../sandbox/evaluate.js';
import { readTask } from '../task.js';
import { compileKernel } from './compile.js';
import { stepsOf } from './steps.js';

/** Evaluates code as the sandbox does, and returns its task. */
async function taskOf(code: string): Promise<TaskData> {
  const language = new URL('../../../../dist/kernel/index.js', import.meta.url);
  const url = `data:text/javascript,${encodeURIComponent(code.replace("'millrace'", JSON.stringify(language.href)))}`;
  const before = Error.prepareStackTrace;
  try {
    const evaluation = await evaluate(url, () => import(/* @vite-ignore */ url), []);
    if ('fault' in evaluation) throw new Error(`${evaluation.fault.row}: ${evaluation.fault.message}`);
    return evaluation.task;
  } finally {
    Error.prepareStackTrace = before;
  }
}

const collatz = `import { cell, items, u32, whileTrue, when } from 'millrace';
const kernel = items('collatz', { job: { most: u32 }, hit: { steps: u32 } }, ({ job, index, emit }) => {
  const n = cell(u32, index.lo);
  const steps = cell(u32, 0);
  whileTrue(() => n.ne(1).and(steps.lt(job.most)), () => {
    when(n.and(1).eq(0), () => n.set(n.shr(1))).otherwise(() => n.set(n.mul(3).add(1)));
    steps.set(steps.add(1));
  });
  emit({ steps });
});
export default { kernel, job: { most: 100 }, space: 10 };`;

describe("the playground's worker", () => {
  test('steps through an index with its values and lines', async () => {
    const { steps, hits, isCut } = stepsOf(readTask(await taskOf(collatz)), 6n);
    const set = steps.filter(({ row, what }) => row === 6 && what === 'set').map(({ value }) => Number(value));
    expect(set).toEqual([3, 10, 5, 16, 8, 4, 2, 1]);
    expect(steps.at(-1)).toMatchObject({ row: 9, what: 'emit', value: 'hit steps = 8', depth: 0 });
    expect({ hits, isCut }).toEqual({ hits: 1, isCut: false });
  });

  test('ends an index that does not end', async () => {
    const { isCut, steps } = stepsOf(readTask(await taskOf(collatz.replace('most: 100 }', 'most: 4000000000 }'))), 0n);
    expect(isCut).toBe(true);
    expect(steps.length).toBeGreaterThan(1000);
  });

  test('compiles for every target, the chosen one first, with the rows of the code', async () => {
    const parts: CompilePart[] = [];
    compileKernel((await taskOf(collatz)).kernel, 'c', (part) => parts.push(part));
    const texts = parts.flatMap((part) => ('text' in part ? part.text : []));
    expect(texts.map(({ target }) => target)).toEqual(['c', 'cuda', 'opencl', 'wgsl', 'wat']);
    for (const { target, text, rows, isRefused } of texts) {
      expect(isRefused, target).toBe(false);
      expect(text, target).not.toContain(CODE_FILE);
      // Lines 5 to 7 are the loop.
      expect(
        [5, 6, 7].filter((row) => !rows.includes(row)),
        target,
      ).toEqual([]);
    }
  });

  test('says where the code is wrong', async () => {
    await expect(taskOf(collatz.replace('n.mul(3)', 'n.triple()'))).rejects.toThrow('6: TypeError');
    await expect(taskOf(collatz.replace('n.ne(1).and(', 'n.and('))).rejects.toThrow(/^5: kernel collatz/);
    await expect(taskOf('export default 5;')).rejects.toThrow('the default export is not a kernel');
    const task = await taskOf(collatz);
    expect(() => readTask({ ...task, job: {} })).toThrow('the job value most is missing');
    expect(() => readTask({ ...task, length: 2n ** 65n })).toThrow('between 0 and 2^64');
    expect(() => readTask({ ...task, kernel: task.kernel.slice(0, -1) })).toThrow();
  });
});
