import { type Command, InvalidArgumentError } from 'commander';
import { action, type Call } from '../../../console/command/action.js';
import { withExamples } from '../../../console/command/conventions.js';
import { valued } from '../../../console/options/options.js';
import type { Ending } from '../../../console/output/output.js';
import { prepareKernels } from '../../../console/output/preparation.js';
import { MINING_MANNER, type MiningOptions, mine, miningUsage, withMiningOptions } from '../../mining/command.js';
import { checkPayout } from '../../mining/payout/address.js';
import { versionKernel, versionsPerItem } from '../kernel/versions.js';
import { BITCOIN_CHAINS } from './chains.js';
import { scanWork } from './scan-work.js';
import { bitcoinNode } from './solo.js';
import { stratumOpener } from './stratum.js';
import { BLOCK_TERMS } from './terms.js';
import { versionsOf } from './work.js';

/** Adds `mine` to `millrace block`. */
export function addMineCommand(block: Command): void {
  const mining = block
    .command('mine')
    .description('mine for a node (solo) or for pools, until it is stopped')
    .addOption(
      valued('--version-mask <hex>', 'version bits that are rolled; 0: none')
        .argParser(mask)
        .default(USUAL_MASK, '1fffe000, BIP 320'),
    )
    .addOption(valued('--suggest-difficulty <d>', 'difficulty that is asked for at pools').argParser(difficulty));
  withMiningOptions(mining, 8332).action(action(mineBlocks, MINING_MANNER));
  withExamples(
    mining,
    ['millrace block mine --rpc http://127.0.0.1:18443 --cookie ~/.bitcoin/regtest/.cookie --payout ADDRESS', 'solo'],
    ['millrace block mine --stratum stratum+tcp://pool:3333 --user WORKER --password-file pw', 'for a pool'],
  );
}

interface MineOptions extends MiningOptions {
  readonly versionMask: number;
  readonly suggestDifficulty?: number;
}

function mineBlocks(call: Call<MineOptions>): Promise<Ending> {
  const { versionMask, suggestDifficulty: suggested } = call.options;
  return mine(call, {
    terms: BLOCK_TERMS,
    node: (rpc, payout) => {
      if (payout === undefined) throw miningUsage('nobody would be paid', 'give --payout ADDRESS');
      checkPayout(payout, BITCOIN_CHAINS);
      return bitcoinNode(rpc, payout, versionMask);
    },
    open: (agent) => stratumOpener({ agent, mask: versionMask, suggested }),
    prepare: async (output, engine, chain, signal) => {
      const perItem = versionsPerItem(engine, {}, versionsOf(versionMask));
      // The other variant is for difficulties below 1: regtest's, and those of pools for small devices.
      await prepareKernels(output, engine, [versionKernel(chain !== 'regtest', perItem)], signal);
      // A pool that changes to the other variant must not wait for the compiler; its errors are reported then. Runs in the
      // next turn, so that a signal that came during the first compilation is seen before.
      setImmediate(() => {
        if (chain === undefined && !signal.aborted)
          engine.prepare(versionKernel(false, perItem)).catch(() => undefined);
      });
    },
    scan: (engine) => (work, options) => scanWork(engine, work, options),
  });
}

/** The bits that BIP 320 leaves to miners. */
const USUAL_MASK = 0x1fffe000;

function mask(text: string): number {
  if (!/^(0x)?[0-9a-f]{1,8}$/i.test(text)) throw new InvalidArgumentError('Up to eight digits of hex are needed.');
  const value = Number.parseInt(text.replace(/^0x/i, ''), 16);
  if (versionsOf(value) <= 2 ** 24) return value;
  throw new InvalidArgumentError('At most 24 bits can be rolled.');
}

function difficulty(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError('A number above 0 is needed.');
}
