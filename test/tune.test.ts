import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CompileOptions, Device, DeviceInfo } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { saveTuning, setTuningStore } from '../src/engine/tune/tuning-store.js';
import type { Kernel } from '../src/kernel/index.js';
import { LedgerTunings } from '../src/store/client/tunings.js';
import { mineHeader } from '../src/workload/block/job/mine.js';
import { blockTunable } from '../src/workload/block/job/tune.js';
import { millrace, millraceProcess, type Ran } from './command-line.js';
import { type Event, eventsOf } from './events.js';
import { byTier, isShort } from './tier.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-tune-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Uses WebAssembly, which is always available. The budget is enough for one axis. */
async function tune(...more: string[]): Promise<Omit<Ran, 'stdout'>> {
  const given = [
    'tune',
    'words',
    '--device',
    'wasm',
    '--threads',
    '1',
    '--data-dir',
    folder,
    '--budget',
    '0.2s',
    '--json',
  ];
  const { status, stdout, stderr } = await millrace([...given, ...more]);
  return { status, stderr, events: eventsOf(stdout) };
}

const named = (events: readonly Event[], name: string): Event[] => events.filter(({ event }) => event === name);

describe('millrace tune', () => {
  it('measures once, stores and shows every timing, measures again and resets', async () => {
    const unknown = await tune('--show');
    expect(unknown.status).toBe(0);
    expect(named(unknown.events, 'tuned')).toEqual([]);

    const first = await tune();
    expect(first.status).toBe(0);
    expect(named(first.events, 'tuning').length).toBeGreaterThan(0);
    const [made] = named(first.events, 'tuned');
    expect(made).toMatchObject({ device: 'wasm', workload: 'words', unit: 'B', isKnown: false, isWhole: false });
    const axes = made?.axes as { candidates: { samples: unknown[] }[] }[];
    expect(axes[0]?.candidates[0]?.samples.length).toBeGreaterThan(0);

    const shown = await tune('--show');
    expect(named(shown.events, 'tuning')).toEqual([]);
    expect(named(shown.events, 'tuned')).toEqual([{ ...made, isKnown: true }]);

    // An incomplete tuning is measured again anyway, and with --retune any is, in npm run test:all.
    if (!isShort) expect(named((await tune('--retune')).events, 'tuning').length).toBeGreaterThan(0);

    expect((await tune('--reset')).status).toBe(0);
    expect(named((await tune('--show')).events, 'tuned')).toEqual([]);
  });

  it('rejects contradictory options, unknown workloads and unknown kinds of tuning', async () => {
    const { status, stderr } = await millrace(['block', 'solve', 'in', 'out', '--tuning', 'fast']);
    expect({ status, stderr }).toMatchObject({ status: 64, stderr: expect.stringContaining('known, off') });
    expect((await tune('--reset', '--retune')).status).toBe(64);
    expect((await tune('--show', '--reset')).status).toBe(64);
    expect((await millrace(['tune', 'sums'])).status).toBe(64);
  });
});

describe('--tuning auto, which 0.1.0 had', () => {
  const words = ['words', '?d?d', '--device', 'interpreter'];

  it('is accepted in a config file', async () => {
    const config = join(folder, 'config.json');
    writeFileSync(config, JSON.stringify({ tuning: 'auto', block: { solve: { tuning: 'auto' } } }));
    const ran = await millrace([...words, '--config', config, '--data-dir', folder]);
    expect(ran).toMatchObject({ status: 0, stderr: expect.not.stringMatching(/tuning|auto/) });
    expect(ran.stdout.split('\n')).toHaveLength(101);
  });

  it.skipIf(isShort)('is accepted in a stored job and in its environment; the help does not show it', async () => {
    const place = join(folder, 'stored');
    const [flag, env] = [['--tuning', 'auto'], { MILLRACE_TUNING: 'auto' }];
    const first = await millrace([...words, ...flag, '-o', join(folder, 'words'), '--data-dir', place], { env });
    expect(first.status).toBe(0);
    expect((await millrace(['jobs', 'show', 'last', '--data-dir', place])).stdout).toContain('--tuning auto');
    const resumed = millraceProcess(['jobs', 'resume', 'last', '--data-dir', place]);
    expect(resumed).toMatchObject({ status: 0, stderr: expect.stringContaining('millrace words') });
    expect((await millrace(['words', '--help'])).stdout).toMatch(
      /--tuning <how>[^(]*\(known, off;\s+default:\s+known\)/,
    );
  });
});

describe('a stored tuning', () => {
  /** Wraps the device and records the options of each compilation. */
  function watched(device: Device, info: DeviceInfo = device.info): { device: Device; asked: CompileOptions[] } {
    const asked: CompileOptions[] = [];
    const proxy = new Proxy(device, {
      get(target, name) {
        if (name === 'info') return info;
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name === 'compile')
          return (kernel: Kernel, options = {}) => asked.push(options) && target.compile(kernel, options);
        return value.bind(target);
      },
    });
    return { device: proxy, asked };
  }

  it('sets how jobs are compiled, until the driver changes', async () => {
    const device = await openDevice('wasm', { threads: 1 });
    const tunings = new LedgerTunings(join(folder, 'library'));
    setTuningStore(tunings);
    try {
      const setting = { lanes: 1, perThread: 2 };
      const record = { unit: 'H', setting, gain: 1.1, rate: 1, isWhole: true, axes: [] };
      await saveTuning(device, blockTunable, record);
      const header = Uint8Array.from({ length: 80 }, (_, at) => at);
      const solve = async ({ device: on, asked }: ReturnType<typeof watched>) => {
        const found = await mineHeader(header, 1n << 248n, { devices: on });
        return { nonce: found?.nonce, asked };
      };
      const tuned = await solve(watched(device));
      expect(tuned.asked).toEqual([{ lanes: 1 }]);
      if (isShort) return; // the rest compiles again; src/engine/tune/tune.test.ts tests it with a fake device
      const newer = { ...device.info, versions: { ...device.info.versions, v8: '99.0' } };
      const untuned = await solve(watched(device, newer));
      expect(untuned.asked).toEqual([{}]);
      expect(tuned.nonce).toBe(untuned.nonce);
    } finally {
      setTuningStore(undefined);
      await device.close();
    }
  });

  it('is ignored with --tuning off and with --no-ledger', async () => {
    const input = join(folder, 'easy.in');
    const block = ['00000001', '11'.repeat(32), '5f5e1000', '2000ffff', '1', 'aa'.repeat(32)];
    writeFileSync(input, `1\n${block.join('\n')}\n`);
    const empty = join(folder, 'empty');
    for (const tuning of byTier(['off'], ['off', 'known'])) {
      const out = join(folder, `${tuning}.out`);
      const given = ['--device', 'wasm', '--threads', '1', '--data-dir', empty, '--no-ledger', '--tuning', tuning];
      expect(await millrace(['block', 'solve', input, out, ...given])).toMatchObject({ status: 0 });
      expect((await millrace(['block', 'verify', input, out])).status).toBe(0);
    }
    // Looking for a tuning does not create a ledger.
    expect(existsSync(empty)).toBe(false);
  });
});
