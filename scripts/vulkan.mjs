// Which Vulkan driver WebGPU is to use in tests.

import { existsSync, readdirSync } from 'node:fs';

/** What comes with Debian's chromium: a driver in software. */
const SWIFTSHADER = '/usr/lib/chromium/vk_swiftshader_icd.json';

/**
 * Variables for a machine without a GPU, by which Vulkan finds a driver in software; none where there is a GPU or
 * somebody has chosen. Going by device files: packages install drivers for GPUs that are not there.
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
