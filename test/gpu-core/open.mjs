// Opens the scripted driver for the workers of the simulated device, with the real clock.
import { FatalError } from '../../dist/device/gpu/worker/driver.js';
import { koffi } from '../../dist/device/native/koffi.js';
import { addressOf, copyBytes, mapPages } from '../../dist/device/native/libc.js';
import { MillraceError } from '../../dist/kernel/error.js';
import { ScriptedDriver } from './driver.mjs';

/** @import { Script } from './driver.mjs' */

/**
 * `closeMs`: how long the driver's `close` stays in a call of the system.
 * @typedef {Script & { asynchronous?: boolean, refuse?: string, closeMs?: number }} Start
 */

/** @param {number} ms */
const hold = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/**
 * @param {Start} start
 * @param {import('../../dist/device/gpu/worker/driver.js').DriverHost} host
 */
export function open(start, host) {
  if (start.refuse) {
    throw new MillraceError({ code: 'device-absent', message: start.refuse, asked: 'a device', advice: 'plug it in' });
  }
  const driver = new ScriptedDriver(start, {
    now: () => performance.now() * 1000,
    refusal: (message, code) =>
      new MillraceError({ code: /** @type {import('../../src/kernel/index.js').ErrorCode} */ (code), message }),
    fatal: (message) => new FatalError(new MillraceError({ code: 'device-failed', message })),
    // SAFETY: the main thread holds its array until a later mark has passed, and checked the ranges.
    copy: (address, here, toHost) => {
      if (toHost) copyBytes(address, addressOf(here), here.length);
      else copyBytes(addressOf(here), address, here.length);
    },
    map: mapPages,
    unmap: (address) => host.log(`unmap ${address !== 0}`),
  });
  driver.onCancel = (line) => {
    for (const mark of driver.inFlight) {
      if (mark.line === line)
        Object.assign(mark, { end: Math.min(mark.end, performance.now() * 1000), complete: false });
    }
    line.until = 0;
  };
  driver.onBlock = ({ end }) => {
    for (let ms = 0; ms >= 0; ms = end / 1000 - performance.now()) hold(ms);
  };
  if (start.closeMs) {
    const sleep = koffi().load(null).func('int usleep(uint32_t microseconds)');
    driver.close = () => void sleep(1000 * (start.closeMs ?? 0));
  }
  const api = host.calls.wrap({ scriptedLaunch: () => undefined });
  const launch = driver.launch.bind(driver);
  driver.launch = (line, what) => {
    api.scriptedLaunch();
    return launch(line, what);
  };
  host.log('open, handle 0x5ca1ab1e');
  if (!start.asynchronous) return driver;
  return new Promise((resolve) => setTimeout(() => resolve(promising(driver)), 5));
}

/**
 * Makes the driver's methods return promises.
 * @param {ScriptedDriver} driver
 */
function promising(driver) {
  const { alloc, load, sensors } = driver;
  return Object.assign(driver, {
    alloc: async (/** @type {number} */ bytes) => alloc.call(driver, bytes),
    load: async (/** @type {import('../../src/device/gpu/worker/driver.js').GpuSource} */ source) =>
      load.call(driver, source),
    sensors: async () => sensors.call(driver),
  });
}
