import { firstLine } from '../../kernel/error.js';
import { whyNotInstalled } from '../packages.js';
import type { Adapter, Gpu } from './api.js';

/** An adapter, and how to find the same one again. */
export interface FoundAdapter {
  /** Held as long as the adapter or its device are used: otherwise Dawn is garbage collected with it. */
  readonly gpu: Gpu;
  readonly adapter: Adapter;
  readonly choice: AdapterChoice;
  /** Versions of the runtime, for reports and cache keys. */
  readonly versions: Readonly<Record<string, string>>;
}

/** Dawn's name of an adapter and its backend; a page leaves the choice to the browser. */
export interface AdapterChoice {
  readonly backend?: string;
  readonly name?: string;
}

export type AdapterList = { readonly adapters: readonly FoundAdapter[] } | { readonly reason: string };

/**
 * True if Dawn's binding spins the event loop while one of its promises is open. It does in Node: a 1.3 s kernel cost
 * 0.8–1.05 s of CPU. Browsers do not.
 */
export const promisesSpin = (): boolean => inNode() !== undefined;

/** Why WebGPU is unavailable here, as far as that is known without starting anything. */
export function whyUnavailable(): string | undefined {
  const node = inNode();
  if (!node) return pageGpu() ? undefined : 'this browser has no WebGPU (navigator.gpu), or hides it from this page';
  return whyNotInstalled('webgpu') ?? (node.platform === 'linux' ? whyNoVulkan(node) : undefined);
}

/**
 * Lists all adapters: in Node one per name that Dawn has (`webgpu:0`, `webgpu:1` …), hardware first; in a page the
 * browser's.
 */
export async function listAdapters(): Promise<AdapterList> {
  const reason = whyUnavailable();
  if (reason !== undefined) return { reason };
  const runtime = await openRuntime();
  if (typeof runtime === 'string') return { reason: runtime };
  const adapters: FoundAdapter[] = [];
  for (const choice of await choices(runtime)) {
    const found = await requestAdapter(runtime, choice);
    if (found) adapters.push(found);
  }
  if (adapters.length === 0) return { reason: inNode() ? noneInNode : 'the browser found no WebGPU adapter' };
  return { adapters: adapters.sort((a, b) => Number(isSoftware(a)) - Number(isSoftware(b))) };
}

const noneInNode = 'Dawn found no adapter: the installed Vulkan driver does not work or is too old (Mesa before 23)';

/** Finds the adapter of an earlier list again. */
export async function findAdapter(choice: AdapterChoice): Promise<FoundAdapter | undefined> {
  const runtime = await openRuntime();
  return typeof runtime === 'string' ? undefined : requestAdapter(runtime, choice);
}

/** True for Vulkan on a CPU: correct, but slow. */
export function isSoftware({ adapter: { info }, choice: { name = '' } }: FoundAdapter): boolean {
  return info.isFallbackAdapter === true || softwareNames.test(searchText(info, name));
}

const softwareNames = /swiftshader|llvmpipe|lavapipe|softpipe|basic render/i;

const searchText = ({ architecture, device, description }: Adapter['info'], name: string): string =>
  [name, architecture, device, description].join(' ');

interface Runtime {
  create(choice: AdapterChoice): Gpu;
  readonly versions: Readonly<Record<string, string>>;
}

async function openRuntime(): Promise<Runtime | string> {
  const node = inNode();
  if (node) return openDawn(node);
  const gpu = pageGpu();
  const { userAgent = '' } = (globalThis as { navigator?: { userAgent?: string } }).navigator ?? {};
  const browser = /(Firefox|Edg|Chrome|Safari)\/[\d.]+/.exec(userAgent)?.[0] ?? userAgent;
  return gpu ? { create: () => gpu, versions: { browser } } : 'this browser has no WebGPU';
}

/** Not a literal: bundlers for pages would include it. */
const PACKAGE = ['web', 'gpu'].join('');

/** Dawn's rounding of times to 0.1 ms: pages need it, measuring does not. */
const ROUNDED_TIMES = 'timestamp_quantization';

/**
 * Zeroing of workgroup memory by the driver. SwiftShader writes each word separately: it compiled for 125 s on an ARM
 * core with 4,096 of them. Without this, Dawn writes a loop, which takes 0.3 s.
 */
const DRIVER_ZEROING = 'use_vulkan_zero_initialize_workgroup_memory_extension';

/**
 * Leaves out Dawn's own checks: the clamp of every index and the counter of every loop. A build that needs checks has
 * those of Millrace (`checked`): the first chunk of a job, and every chunk of a kernel that was decoded. A page's kernels
 * keep the browser's, which cannot be left out.
 */
const UNCHECKED_ACCESS = 'disable_robustness';

async function openDawn(node: NodeJS.Process): Promise<Runtime | string> {
  let dawn: { create(options: string[]): Gpu };
  try {
    dawn = await import(/* webpackIgnore: true */ /* @vite-ignore */ PACKAGE);
  } catch (error) {
    return `the package ${PACKAGE} cannot be loaded on ${node.platform}-${node.arch}: ${firstLine(error)}`;
  }
  const { createRequire } = node.getBuiltinModule('node:module');
  const { version } = createRequire(import.meta.url)(`${PACKAGE}/package.json`) as { version: string };
  return {
    create: ({ backend, name }) =>
      dawn.create([
        ...(backend === undefined ? [] : [`backend=${backend}`]),
        ...(name === undefined ? [] : [`adapter=${name}`]),
        `disable-dawn-features=${ROUNDED_TIMES}${softwareNames.test(name ?? '') ? `,${DRIVER_ZEROING}` : ''}`,
        `enable-dawn-features=${UNCHECKED_ACCESS}`,
      ]),
    versions: { dawn: version, node: node.versions.node },
  };
}

async function requestAdapter({ create, versions }: Runtime, choice: AdapterChoice): Promise<FoundAdapter | undefined> {
  const gpu = create(choice);
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  return adapter ? { gpu, adapter, choice, versions } : undefined;
}

/** Dawn lists its adapters' names when asked for one that does not exist. The same GPU may have several backends. */
async function choices({ create }: Runtime): Promise<AdapterChoice[]> {
  if (!inNode()) return [{}];
  const answer = await create({ name: 'none of them' })
    .requestAdapter()
    .catch((error: Error) => error.message);
  const message = typeof answer === 'string' ? answer : '';
  const known = new Map<string, AdapterChoice>();
  for (const [, backend = '', name = ''] of message.matchAll(/backend: '([^']*)', name: '([^']*)'/g))
    if (backend !== 'null' && !known.has(name)) known.set(name, { backend, name });
  return known.size > 0 ? [...known.values()] : [{}];
}

/** Checks for a driver without asking Dawn, which prints a warning to the process's stderr if there is none. */
function whyNoVulkan(node: NodeJS.Process): string | undefined {
  if (driverFiles(node).length > 0) return undefined;
  return 'no Vulkan driver found in /usr/share/vulkan/icd.d, /etc/vulkan/icd.d or VK_ICD_FILENAMES; install the GPU driver with its Vulkan part';
}

/** The files that list the drivers for Vulkan's loader: those that the environment names, or all in its folders. */
function driverFiles({ env, getBuiltinModule }: NodeJS.Process): string[] {
  const { existsSync, readdirSync } = getBuiltinModule('node:fs');
  const { homedir } = getBuiltinModule('node:os');
  const named = [env.VK_DRIVER_FILES, env.VK_ICD_FILENAMES, env.VK_ADD_DRIVER_FILES]
    .flatMap((list) => list?.split(':') ?? [])
    .filter((file) => file !== '' && existsSync(file));
  if (named.length > 0) return named;
  const roots = [
    env.XDG_CONFIG_HOME ?? `${homedir()}/.config`,
    env.XDG_DATA_HOME ?? `${homedir()}/.local/share`,
    ...(env.XDG_DATA_DIRS ?? '/usr/local/share:/usr/share').split(':'),
    ...['/etc', '/usr/local/etc', '/etc/xdg', '/usr/share'],
  ];
  return [...new Set(roots)].flatMap((root) => {
    try {
      const files = readdirSync(`${root}/vulkan/icd.d`).filter((file) => file.endsWith('.json'));
      return files.map((file) => `${root}/vulkan/icd.d/${file}`);
    } catch {
      return [];
    }
  });
}

/**
 * Keeps the currently loaded Vulkan drivers loaded until the process ends (Linux). Dawn's devices load and unload them,
 * and SwiftShader leaks an open file each time.
 */
export function pinDrivers(): void {
  const node = inNode();
  if (node?.platform !== 'linux') return;
  const { readFileSync } = node.getBuiltinModule('node:fs');
  const { dirname, resolve } = node.getBuiltinModule('node:path');
  for (const file of driverFiles(node)) {
    try {
      const { ICD } = JSON.parse(readFileSync(file, 'utf8')) as { ICD?: { library_path?: string } };
      const library = ICD?.library_path ?? '';
      const path = library.includes('/') ? resolve(dirname(file), library) : library;
      // Always throws, since a driver is not a Node addon; NODELETE takes effect all the same.
      node.dlopen({ exports: {} }, path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    } catch {
      // Also if the file is malformed or its driver is not in use: then there is nothing to keep.
    }
  }
}
const RTLD_NOW = 2;
const RTLD_NOLOAD = 4;
const RTLD_NODELETE = 0x1000;

/** Node's `process`; undefined in a page. */
export function inNode(): NodeJS.Process | undefined {
  const { process } = globalThis as { process?: NodeJS.Process };
  return process?.versions?.node ? process : undefined;
}

const pageGpu = (): Gpu | undefined => (globalThis as { navigator?: { gpu?: Gpu } }).navigator?.gpu;
