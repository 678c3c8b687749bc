import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import type { Diagnostic } from '../../device/registry.js';
import type { Section } from './command.js';

/**
 * Checks what GPU drivers install on a Linux system: device files, and the files by which Vulkan's loader finds drivers.
 */
export function graphicsFindings(hasWebGpu: boolean): Section[] {
  if (process.platform !== 'linux') return [];
  return [
    { title: 'device files', findings: nodeFindings() },
    { title: 'Vulkan drivers', findings: vulkanFindings(hasWebGpu) },
  ];
}

function nodeFindings(): Diagnostic[] {
  const files = [
    ...namesIn('/dev')
      .filter((name) => /^nvidia/.test(name))
      .map((name) => `/dev/${name}`),
    ...namesIn('/dev/dri').map((name) => `/dev/dri/${name}`),
    ...namesIn('/dev')
      .filter((name) => name === 'kfd' || name === 'dxg')
      .map((name) => `/dev/${name}`),
  ].filter((path) => statSync(path, { throwIfNoEntry: false })?.isCharacterDevice());
  if (files.length === 0) {
    const advice = "install the GPU's kernel driver; in a container, use docker's --gpus all or --device /dev/dri";
    return [{ what: 'GPU', state: 'missing', found: 'no /dev/nvidia* and no /dev/dri/*', advice }];
  }
  return files.map(nodeFinding);
}

function nodeFinding(path: string): Diagnostic {
  const { mode, gid } = statSync(path);
  const found = `mode ${(mode & 0o777).toString(8)}, group ${groupOf(gid)}`;
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return { what: path, state: 'ok', found };
  } catch {
    const advice = `this user may not open it: sudo usermod -aG ${groupOf(gid)} $USER, and log in again`;
    // The card's own file is for displays; kernels use the render node.
    return /\/card\d+$|modeset/.test(path)
      ? { what: path, state: 'ok', found: `${found}, not accessible to this user, which does not matter` }
      : { what: path, state: 'warning', found, advice };
  }
}

function groupOf(gid: number): string {
  const line = textOf('/etc/group')
    .split('\n')
    .find((entry) => entry.split(':')[2] === String(gid));
  return line?.split(':')[0] ?? String(gid);
}

const SWIFTSHADER = '/usr/lib/chromium/vk_swiftshader_icd.json';

/** Each .json file names a library; the variables replace the default folders. */
function vulkanFindings(hasWebGpu: boolean): Diagnostic[] {
  const { VK_DRIVER_FILES: newer = '', VK_ICD_FILENAMES: older = '' } = process.env;
  const configured = (newer || older).split(delimiter).filter((path) => path !== '');
  const folders = [
    '/etc/vulkan/icd.d',
    '/usr/local/share/vulkan/icd.d',
    '/usr/share/vulkan/icd.d',
    join(homedir(), '.local/share/vulkan/icd.d'),
  ];
  const files =
    configured.length > 0
      ? configured
      : folders.flatMap((folder) =>
          namesIn(folder)
            .filter((name) => name.endsWith('.json'))
            .map((name) => join(folder, name)),
        );
  if (files.length > 0) return files.map((path) => driverFinding(path, hasWebGpu));
  const advice = existsSync('/dev/nvidiactl')
    ? `write ${folders[0]}/nvidia_icd.json, which names NVIDIA's driver libEGL_nvidia.so.0`
    : existsSync(SWIFTSHADER)
      ? `for tests, use Chromium's software driver: VK_ICD_FILENAMES=${SWIFTSHADER}`
      : "install the GPU's Vulkan driver; for tests, the package chromium has a software driver";
  return [{ what: 'Vulkan', state: 'missing', found: `no driver in ${folders.join(', ')}`, advice }];
}

const libraryIn = (json: string): string => /"library_path"\s*:\s*"([^"]+)"/.exec(json)?.[1] ?? '';

function driverFinding(file: string, hasWebGpu: boolean): Diagnostic {
  const what = basename(file);
  const library = libraryIn(textOf(file));
  if (library === '')
    return { what, state: 'warning', found: `${file} does not name a library`, advice: 'reinstall its package' };
  // The loader resolves a bare name; only a path can be checked here.
  const path = library.startsWith('.') ? join(dirname(file), library) : library;
  if (path.startsWith('/') && !existsSync(path)) {
    const advice = 'reinstall the package, or remove the file if the package is gone';
    return { what, state: 'warning', found: `${library} does not exist`, advice };
  }
  if (!hasWebGpu && library.startsWith('libGLX_nvidia')) {
    const advice =
      'it does not start without a desktop: name libEGL_nvidia.so.0 in a copy of the file, and the copy in VK_ICD_FILENAMES';
    return { what, state: 'warning', found: library, advice };
  }
  return { what, state: 'ok', found: library };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
