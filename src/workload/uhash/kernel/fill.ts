import { aes, cells, type Expr, items, lit, loop, type Near, rw, tiles, u32, when } from '../../../kernel/index.js';
import type { FillTile, Variant } from './kernel.js';
import { firstQuadOf, type Pad, padBufferIndex, padBuffers, padIn, padOf } from './pads.js';
import { put, stateAt } from './state.js';

type Word = Expr<'u32'>;

/**
 * Fills blocks `from` to `from + blocks` of every scratchpad: two states of a chain of AES rounds, twice. The second state
 * is the next block's first, so a later launch can resume from the last block of the one before.
 */
export const fill = (variant: Variant) => (variant.tile ? fillTiles(variant, variant.tile) : fillItems(variant));

/** Chunk values of the launches. */
const fillChunk = { from: u32, blocks: u32, perPad: u32 } as const;

/** Each item fills one scratchpad: the fastest on a CPU. On a GPU neighbours write 16 bytes each, far from each other. */
const fillItems = ({ copies, tables, pads: count }: Variant) =>
  items(
    'uhash-fill',
    { chunk: fillChunk, buffers: { state: rw(u32), ...padBuffers(count) } },
    ({ chunk, item, buffers }) => {
      const seed = stateAt(buffers.state, item);
      const four = fourRounds(seed.slice(0, 4), { copies, tables }, item);
      const pad = padOf({ buffers, count, perPad: chunk.perPad }, item);
      const state = cells('u32', seed.slice(4));
      when(chunk.from.eq(0), () => put(state, four(seed.slice(4)))).otherwise(() =>
        put(state, pad.read(chunk.from.sub(1).mul(4)).slice(4, 8)),
      );
      loop(chunk.blocks, (i) => {
        const now = state.map((word) => word.get());
        const next = four(now);
        pad.write(chunk.from.add(i).mul(4), [now, next, now, next]);
        put(state, next);
      });
    },
  );

/**
 * A workgroup fills one scratchpad per thread. The states of some blocks go to workgroup memory first, one chain a thread;
 * then neighbours write neighbouring quads of one scratchpad. On an H200 stores of 16 bytes, each to a different line, took
 * 35 ms, against 8 ms at memory bandwidth.
 */
const fillTiles = ({ pads: count }: Variant, { chains, blocks, copies, tables }: FillTile) =>
  tiles(
    'uhash-fill',
    { chunk: { ...fillChunk, slots: u32 }, buffers: { state: rw(u32), ...padBuffers(count) } },
    ({ chunk, tile, near, each, buffers }) => {
      const first = tile.mul(chains);
      // All scratchpads of a tile are in one buffer (`perPadOf`).
      const pads = { buffers, count, perPad: chunk.perPad };
      const part = padBufferIndex(pads, first);
      const padOfSlot = (slot: Word): Pad => padIn(pads, part, firstQuadOf(pads, slot, part));
      // Odd, so that the quads of one chain are in different banks, as are the quads of different chains at one index.
      const row = chains + 1;
      const keys = near('u32', 4 * row);
      const states = near('u32', (blocks + 1) * 4 * row);
      const get = (from: Near<'u32'>, chain: Word, index: Word | number): Word[] =>
        WORDS.map((word) => from.at(quadAt(index).add(word).mul(row).add(chain)));
      const set = (into: Near<'u32'>, chain: Word, index: Word | number, words: readonly Word[]): void =>
        words.forEach((value, word) => {
          into.set(quadAt(index).add(word).mul(row).add(chain), value);
        });
      const eachChain = (act: (chain: Word, slot: Word) => void): void =>
        each(chains, (chain) => {
          const slot = first.add(chain);
          when(slot.lt(chunk.slots), () => act(chain, slot));
        });

      eachChain((chain, slot) => {
        const seed = stateAt(buffers.state, slot);
        const state = cells('u32', seed.slice(4));
        when(chunk.from.eq(0), () =>
          put(state, fourRounds(seed.slice(0, 4), { copies, tables }, chain)(seed.slice(4))),
        ).otherwise(() => put(state, padOfSlot(slot).read(chunk.from.sub(1).mul(4)).slice(4, 8)));
        set(keys, chain, 0, seed.slice(0, 4));
        set(
          states,
          chain,
          blocks,
          state.map((word) => word.get()),
        );
      });
      loop(chunk.blocks.div(blocks), (i) => {
        eachChain((chain) => {
          const four = fourRounds(get(keys, chain, 0), { copies, tables }, chain);
          const state = cells('u32', get(states, chain, blocks));
          set(
            states,
            chain,
            0,
            state.map((word) => word.get()),
          );
          loop(blocks, (n) => {
            const next = four(state.map((word) => word.get()));
            set(states, chain, n.add(1), next);
            put(state, next);
          });
        });
        // Writes chains / quads scratchpads at a time, a run of quads each.
        const quads = blocks * 4;
        each(chains, (thread) => {
          const quad = thread.rem(quads);
          loop(quads, (k) => {
            const chain = thread.div(quads).add(k.mul(chains / quads));
            const slot = first.add(chain);
            when(slot.lt(chunk.slots), () => {
              const words = get(states, chain, quad.shr(2).add(quad.and(1)));
              padOfSlot(slot).write(chunk.from.add(i.mul(blocks)).mul(4).add(quad), [words]);
            });
          });
        });
      });
    },
  );

const WORDS = [0, 1, 2, 3] as const;
const quadAt = (index: Word | number): Word => (typeof index === 'number' ? lit('u32', index * 4) : index.mul(4));

const fourRounds =
  (key: readonly Word[], { copies, tables }: Pick<Variant, 'copies' | 'tables'>, item: Word) =>
  (state: readonly Word[]): Word[] =>
    aes.rounds(state, [key, key, key, key], { copies, tables, lane: item.and(copies - 1) });
