import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isSoftware, whyUnavailable } from './library.js';

describe('WebGPU is unavailable', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
  });

  it('in a browser without it', () => {
    vi.stubGlobal('process', undefined);
    vi.stubGlobal('navigator', {});
    expect(whyUnavailable()).toContain('navigator.gpu');
    vi.stubGlobal('navigator', { gpu: {} });
    expect(whyUnavailable()).toBeUndefined();
  });

  it.runIf(process.platform === 'linux')('unless one of the named drivers exists', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
    const file = join(folder, 'icd.json');
    vi.stubEnv('VK_DRIVER_FILES', '');
    vi.stubEnv('VK_ADD_DRIVER_FILES', '');
    vi.stubEnv('VK_ICD_FILENAMES', `${join(folder, 'none.json')}:${file}`);
    writeFileSync(file, '{}');
    expect(whyUnavailable()).toBeUndefined();
    rmSync(folder, { recursive: true });
  });
});

describe('software adapters', () => {
  const adapter = (info: object, name?: string) =>
    ({ adapter: { info }, choice: name === undefined ? {} : { name } }) as Parameters<typeof isSoftware>[0];
  it('are recognised by flag, architecture or name', () => {
    expect(isSoftware(adapter({ isFallbackAdapter: true }))).toBe(true);
    expect(isSoftware(adapter({ architecture: 'swiftshader' }))).toBe(true);
    expect(isSoftware(adapter({ vendor: 'mesa' }, 'llvmpipe (LLVM 15.0.6, 256 bits)'))).toBe(true);
    expect(isSoftware(adapter({ vendor: 'nvidia', architecture: 'hopper' }, 'NVIDIA H200'))).toBe(false);
  });
});
