import type { Flow, FlowCanary, OpenFlow, Piece } from '../../../engine/index.js';

/**
 * A flow that takes chunks with other values than the job's for its planted piece, whatever their indices: those are in
 * the middle of the job's own, and are searched by its own rules otherwise.
 */
export function withPlanted<Result>(flow: Flow<Result>, planted: Piece): Flow<Result> {
  return { name: flow.name, open: async (device, how) => wrapped(await flow.open(device, how), planted) };
}

/**
 * `items` is what it costs, in the items that devices are paid by: the planted piece is short, but tables are as long as
 * for a whole window.
 */
export const plantedCanary = (items: number, hits: readonly bigint[]): FlowCanary => ({
  start: 0n,
  count: items,
  hits,
  values: PLANTED,
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
        moved: slot.moved,
        cancel: slot.cancel,
        close: () => slot.close(),
      };
    },
  };
}
