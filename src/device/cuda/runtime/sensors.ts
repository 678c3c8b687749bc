import type { Sensors } from '../../device.js';
import { OutParameters } from '../../gpu/native/api.js';
import { addressOf } from '../../native/libc.js';
import { type BoundFunctions, bind, cString, textIn } from './api.js';
import { findLibrary } from './library.js';

const wide = 'uint64_t';
const word = 'uint32_t';

const symbols = {
  nvmlInit: ['nvmlInit_v2'],
  nvmlShutdown: ['nvmlShutdown'],
  nvmlSystemGetDriverVersion: ['nvmlSystemGetDriverVersion', wide, word],
  nvmlDeviceGetHandleByPciBusId: ['nvmlDeviceGetHandleByPciBusId_v2', wide, wide],
  nvmlDeviceGetTemperature: ['nvmlDeviceGetTemperature', wide, word, wide],
  nvmlDeviceGetPowerUsage: ['nvmlDeviceGetPowerUsage', wide, wide],
  nvmlDeviceGetEnforcedPowerLimit: ['nvmlDeviceGetEnforcedPowerLimit', wide, wide],
  nvmlDeviceGetUtilizationRates: ['nvmlDeviceGetUtilizationRates', wide, wide],
  nvmlDeviceGetClockInfo: ['nvmlDeviceGetClockInfo', wide, word, wide],
  nvmlDeviceGetMemoryInfo: ['nvmlDeviceGetMemoryInfo', wide, wide],
  nvmlDeviceGetTotalEnergyConsumption: ['nvmlDeviceGetTotalEnergyConsumption', wide, wide],
  nvmlDeviceGetCurrPcieLinkGeneration: ['nvmlDeviceGetCurrPcieLinkGeneration', wide, wide],
  nvmlDeviceGetCurrPcieLinkWidth: ['nvmlDeviceGetCurrPcieLinkWidth', wide, wide],
  nvmlDeviceGetMaxPcieLinkGeneration: ['nvmlDeviceGetMaxPcieLinkGeneration', wide, wide],
  nvmlDeviceGetMaxPcieLinkWidth: ['nvmlDeviceGetMaxPcieLinkWidth', wide, wide],
} as const;

/** NVML's constants: the chip's own sensor; the clocks of the multiprocessors and the memory. */
const CHIP = 0;
const CLOCK_SM = 1;
const CLOCK_MEMORY = 2;

/**
 * NVIDIA's management library: reads a GPU's sensors without a context, while any process uses it. Each value is read
 * separately: many cards and virtual machines know only some.
 */
export class Nvml {
  readonly #api: BoundFunctions<typeof symbols>;
  readonly #out = new OutParameters();

  private constructor(api: BoundFunctions<typeof symbols>) {
    this.#api = api;
  }

  /** Undefined if the library is missing or does not start. */
  static open(): Nvml | undefined {
    const found = findLibrary('nvml');
    if ('reason' in found) return undefined;
    try {
      const api = bind(found.path, symbols);
      return api.nvmlInit() === 0 ? new Nvml(api) : undefined;
    } catch {
      return undefined; // an NVML without one of these functions is older than any supported driver
    }
  }

  close(): void {
    this.#api.nvmlShutdown();
  }

  /** "580.95.05". */
  driverVersion(): string | undefined {
    const text = new Uint8Array(96);
    // SAFETY: at most `text.length` bytes are written, the zero included.
    const code = this.#api.nvmlSystemGetDriverVersion(addressOf(text), text.length);
    return code === 0 ? textIn(text) : undefined;
  }

  /** Returns the GPU with this PCI bus id, in the driver API's notation. */
  device(busId: string): number | undefined {
    const name = cString(busId);
    // SAFETY: the name ends with a zero and outlives the call; the handle is 8 bytes of `OutParameters`.
    return this.#api.nvmlDeviceGetHandleByPciBusId(addressOf(name), this.#out.address) === 0
      ? this.#out.wide()
      : undefined;
  }

  /** "PCIe 5 × 16", and the card's maximum if that is more: idle cards lower their link. */
  link(device: number): string | undefined {
    const api = this.#api;
    const generation = this.#word(api.nvmlDeviceGetCurrPcieLinkGeneration(device, this.#out.address));
    const width = this.#word(api.nvmlDeviceGetCurrPcieLinkWidth(device, this.#out.address));
    const best = this.#word(api.nvmlDeviceGetMaxPcieLinkGeneration(device, this.#out.address));
    const widest = this.#word(api.nvmlDeviceGetMaxPcieLinkWidth(device, this.#out.address));
    if (generation === undefined || width === undefined) return undefined;
    const more = best !== undefined && widest !== undefined && (best > generation || widest > width);
    return `PCIe ${generation} × ${width}${more ? `, at most ${best} × ${widest}` : ''}`;
  }

  read(device: number): Sensors {
    const api = this.#api;
    const at = this.#out.address;
    const temperatureC = this.#word(api.nvmlDeviceGetTemperature(device, CHIP, at));
    const milliwatts = this.#word(api.nvmlDeviceGetPowerUsage(device, at));
    const limit = this.#word(api.nvmlDeviceGetEnforcedPowerLimit(device, at));
    const clockMHz = this.#word(api.nvmlDeviceGetClockInfo(device, CLOCK_SM, at));
    const memoryClockMHz = this.#word(api.nvmlDeviceGetClockInfo(device, CLOCK_MEMORY, at));
    // SAFETY: two words (GPU, memory), in per cent, then three 8-byte counts (total, free, used): both fit in `OutParameters`.
    const busy =
      api.nvmlDeviceGetUtilizationRates(device, at) === 0 ? [this.#out.word(0), this.#out.word(1)] : undefined;
    const used = api.nvmlDeviceGetMemoryInfo(device, at) === 0 ? this.#out.wide(2) : undefined;
    const millijoules = api.nvmlDeviceGetTotalEnergyConsumption(device, at) === 0 ? this.#out.wide() : undefined;
    return {
      ...optional('temperatureC', temperatureC),
      ...optional('powerW', milliwatts, 1e-3),
      ...optional('powerLimitW', limit, 1e-3),
      ...optional('utilisation', busy?.[0], 1e-2),
      ...optional('memoryUtilisation', busy?.[1], 1e-2),
      ...optional('clockMHz', clockMHz),
      ...optional('memoryClockMHz', memoryClockMHz),
      ...optional('memoryUsedBytes', used),
      ...optional('energyJ', millijoules, 1e-3),
    };
  }

  #word(code: number): number | undefined {
    return code === 0 ? this.#out.word(0) : undefined;
  }
}

const optional = (name: keyof Sensors, value: number | undefined, unit = 1): Partial<Sensors> =>
  value === undefined ? {} : { [name]: value * unit };
