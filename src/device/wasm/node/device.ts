import { openWasm, type WasmDevice, type WasmOptions } from '../device.js';
import { DiskModules } from './disk-modules.js';

export { diagnose, probe } from '../device.js';

/** WebAssembly in Node: assembled modules are kept on disk. */
export const open = (id: string, options: WasmOptions = {}): Promise<WasmDevice> =>
  openWasm(id, options, new DiskModules());
