import { describe, expect, test } from 'vitest';
import { build } from '../src/device/conformance/fuzz/build.js';
import { runGang } from '../src/device/conformance/fuzz/gang-machine.js';
import { generate } from '../src/device/conformance/fuzz/generate.js';
import { passesDifference, passSequenceNames } from '../src/device/conformance/fuzz/passes.js';
import { print } from '../src/device/conformance/fuzz/print.js';
import { blocksOf, type Recipe, type RecipeStep, stepCount } from '../src/device/conformance/fuzz/recipe.js';
import { fuzzDevice, fuzzPasses } from '../src/device/conformance/fuzz/run.js';
import { shrink } from '../src/device/conformance/fuzz/shrink.js';
import { difference, interpretInputs, randomTileInputs } from '../src/device/conformance/fuzz/trial.js';
import { Random } from '../src/device/conformance/model/random.js';
import { regressionKernels } from '../src/device/conformance/values/regressions.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import { virtualDevices } from '../src/engine/index.js';
import { MillraceError } from '../src/kernel/error.js';
import { breakWhen, items, loop, whileTrue } from '../src/kernel/index.js';
import { floatingProgram } from '../src/kernel/passes/floating.js';
import { makeGang } from '../src/kernel/passes/shape/gang.js';
import { placeNodes } from '../src/kernel/passes/shape/place-nodes.js';
import { byTier, isShort, patience } from './tier.js';

/** The first seed. A failure names its own seed; add its shrunk kernel to `regressionKernels`. */
const SEED = 20_090_103;
const minutes = (n: number): number => patience(n * 60_000);

const { absent } = await listDevices();

describe('random kernels', () => {
  test('mean the same before and after the passes', { timeout: minutes(30) }, async () => {
    const { passed, firstFailure } = await fuzzPasses({
      seed: SEED,
      ...(isShort ? { count: 4 } : { seconds: byTier(0, 3, 600) }),
    });
    expect(firstFailure).toBeUndefined();
    expect(passed).toBeGreaterThan(1); // items and tiles take turns
  });

  /**
   * Seconds on a machine with two cores, and kernels of a short run. The others have their own compilers, where less can go
   * wrong in a gang.
   */
  describe.each([
    ['native', 5, 2],
    ['wasm', 4, 3],
    ['cuda', 5, 4],
    ['opencl', 4, 2],
    ['webgpu', 4, 2],
  ] as const)('on %s', (name, seconds, count) => {
    test('match the interpreter', { timeout: minutes(40) }, async ({ skip }) => {
      const missing = absent.find(({ id }) => id === name);
      if (missing) return skip(missing.reason);
      const device = await openDevice(name);
      try {
        const much = isShort ? { count } : { seconds: byTier(0, seconds, 900) };
        // SwiftShader takes three seconds longer for the first kernels of the other seed, which are large.
        const seed = isShort && name === 'webgpu' ? SEED + 2000 : SEED;
        const { passed, firstFailure } = await fuzzDevice(device, { seed, ...much });
        expect(firstFailure).toBeUndefined();
        expect(passed).toBeGreaterThan(1);
      } finally {
        await device.close();
      }
    });
  });
});

describe('random tiles', () => {
  test('have no races: indices in lockstep give the same as one after the other', { timeout: minutes(5) }, () => {
    for (let seed = SEED; seed < SEED + byTier(10, 40); seed++) {
      const random = new Random(seed);
      const program = build(generate(random, 'tiles')).trace();
      const inputs = randomTileInputs(random, undefined, 2);
      const together = runGang(makeGang(placeNodes(floatingProgram(program)), 64), inputs);
      expect(difference(inputs, interpretInputs(program, inputs), together), `seed ${seed}`).toBeUndefined();
    }
  });

  test('are plain data, and shrink to the step that matters', { timeout: minutes(5) }, async () => {
    const scans = (steps: readonly RecipeStep[]): boolean =>
      steps.some((step) => step.kind === 'scan' || blocksOf(step).some(scans));
    const recipes = Array.from({ length: 200 }, (_, i) => generate(new Random(SEED + i), 'tiles'));
    const recipe = recipes.find(({ steps }) => scans(steps)) as Recipe;
    expect(structuredClone(recipe)).toEqual(recipe);
    const fails = (candidate: Recipe) => build(candidate).trace().near.length > 0 && scans(candidate.steps);
    const small = await shrink(recipe, fails, 3000);
    expect(stepCount(small.steps)).toBe(1);
    expect(print(small)).toMatch(/^const near\d = near\(u32, \d+\);.*\nconst v\d+ = scan\(\d+, near\d\);$/);
  });
});

describe('a failure', () => {
  test.skipIf(isShort)('is reported with its seed, the smallest kernel that shows it, and the launch', async () => {
    const behind = await openDevice('interpreter');
    // It changes a bit of the first word of every read.
    const [wrong] = virtualDevices(behind, [{ garblesAt: 0 }]);
    try {
      const { failed, firstFailure } = await fuzzDevice(wrong!, { seed: SEED, count: 1, kind: 'items' });
      expect(failed).toBe(1);
      expect(firstFailure).toContain(`seed ${SEED}`);
      expect(firstFailure).toMatch(/^job +\{ /m);
    } finally {
      await behind.close();
    }
  });

  test.skipIf(isShort)('does not count a kernel that the device refuses', async () => {
    const behind = await openDevice('interpreter');
    const [device] = virtualDevices(behind, [{}]);
    device!.compile = () => Promise.reject(new MillraceError({ code: 'kernel-budget', message: 'too large' }));
    const reasons: unknown[] = [];
    const onResult = ({ reason }: { reason?: string }): void => void reasons.push(reason);
    try {
      expect(await fuzzDevice(device!, { seed: SEED, count: 1, onResult })).toEqual({
        passed: 0,
        failed: 0,
        skipped: 1,
      });
      expect(reasons).toEqual(['too large']);
    } finally {
      await behind.close();
    }
  });

  test('can be printed for every kernel', () => {
    for (const kind of ['items', 'tiles'] as const) {
      for (let seed = SEED; seed < SEED + 20; seed++) {
        const recipe = generate(new Random(seed), kind);
        const lines = print(recipe).split('\n');
        expect(lines.length, `seed ${seed}`).toBeGreaterThanOrEqual(recipe.steps.length);
        expect(lines.filter((line) => /(?<!=> )undefined|\[object/.test(line))).toEqual([]);
      }
    }
  });
});

describe('an earlier failure', () => {
  test.each(Object.entries(regressionKernels))('%s: the passes keep its results', (_, { kernel, inputs }) => {
    expect(
      passesDifference(kernel, passSequenceNames, [inputs], [interpretInputs(kernel.trace(), inputs)]),
    ).toBeUndefined();
  });

  test('a break in the condition of a loop is rejected: the loop has not begun', () => {
    const kernel = items('early-break', {}, ({ item }) => {
      loop(3, (i) => {
        const condition = () => {
          breakWhen(i.eq(1));
          return item.eq(i);
        };
        whileTrue(condition, () => undefined);
      });
    });
    expect(() => kernel.trace()).toThrow(/outside a loop/);
  });
});
