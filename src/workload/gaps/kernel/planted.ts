import type { Flow, FlowCanary, OpenFlow, Piece } from '../../../engine/index.js';

/**
 * Wraps a flow so that chunks with the canary's values run the planted piece, whatever their indices. The same indices are
 * also part of the job, where its own rules apply.
 */
export function withPlanted<Result>(flow: Flow<Result>, planted: Piece): Flow<Result> {
  return { name: flow.name, open: async (device, options) => wrapped(await flow.open(device, options), planted) };
}

/**
 * A canary for the planted piece. `items` is its cost, in items of the job: the planted piece is short, but its tables are
 * as long as for a whole window.
 */
export const plantedCanary = (items: number, hits: readonly bigint[]): FlowCanary => ({
  start: 0n,
  count: items,
  hits,
  valueSet: PLANTED,
});
const PLANTED = 1;

function wrapped<Result>(open: OpenFlow<Result>, planted: Piece): OpenFlow<Result> {
  return {
    ...open,
    slot: async (stream) => {
      const slot = await open.slot(stream);
      let last = planted;
      return {
        submit: (piece, values = 0) => {
          last = values === PLANTED ? planted : piece;
          return slot.submit(last);
        },
        reap: () => slot.reap(last),
        copiedBytes: slot.copiedBytes,
        cancel: slot.cancel,
        close: () => slot.close(),
      };
    },
  };
}
