// The part that the two runtimes' processes share: requests come by IPC, one at a time, and are answered in order.

/**
 * @typedef {object} Built what a program needs besides its text
 * @property {string} text
 * @property {string} entry
 * @property {number} workgroup
 * @property {readonly string[]} options
 * @property {readonly string[]} kinds of the bindings, in order
 * @property {boolean} byValue
 */

/**
 * @typedef {object} Runtime
 * @property {() => unknown} info
 * @property {(program: Built) => unknown} build gives a number
 * @property {(bytes: number) => unknown} alloc gives a number
 * @property {(buffer: number) => unknown} free
 * @property {(buffer: number, offset: number, data: Uint8Array) => unknown} write
 * @property {(buffer: number, offset: number, bytes: number) => unknown} read
 * @property {(from: number, fromOffset: number, to: number, toOffset: number, bytes: number) => unknown} copy
 * @property {(program: number, groups: number, bindings: readonly (number | null)[]) => unknown} run
 */

/** @param {Runtime} runtime */
export function serve(runtime) {
  let before = Promise.resolve();
  process.on('message', (/** @type {{ id: number, call: keyof Runtime, args: unknown[] }} */ { id, call, args }) => {
    before = before.then(async () => {
      try {
        process.send?.({ id, result: await /** @type {Function} */ (runtime[call])(...args) });
      } catch (error) {
        process.send?.({ id, error: error instanceof Error ? error.message : String(error) });
      }
    });
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ id: 0, result: 'ready' });
}
