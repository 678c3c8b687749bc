// Chooses the Vulkan driver of WebGPU in tests.

import { existsSync, readdirSync } from 'node:fs';

/** The software driver that comes with Debian's chromium. */
const SWIFTSHADER = '/usr/lib/chromium/vk_swiftshader_icd.json';

/**
 * Returns variables that make Vulkan use the software driver; none if there is a GPU or the user has chosen a driver. GPUs
 * are detected by device files, because packages install drivers for absent GPUs.
 * @returns {Record<string, string>}
 */
export function softwareVulkan() {
  const { VK_ICD_FILENAMES: older, VK_DRIVER_FILES: newer } = process.env;
  if (older || newer || hasGpu() || !existsSync(SWIFTSHADER)) return {};
  return { VK_ICD_FILENAMES: SWIFTSHADER };
}

function hasGpu() {
  if (existsSync('/dev/nvidiactl')) return true;
  try {
    return readdirSync('/dev/dri').some((name) => name.startsWith('renderD'));
  } catch {
    return false;
  }
}
