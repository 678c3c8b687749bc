import { type Command, InvalidArgumentError } from 'commander';
import { action, type Call } from '../../../console/command/action.js';
import { withExamples } from '../../../console/command/conventions.js';
import { valueOption } from '../../../console/options/options.js';
import type { CommandResult } from '../../../console/output/output.js';
import { prepareKernels } from '../../../console/output/preparation.js';
import { MINING_TRAITS, type MiningOptions, mine, miningUsageError, withMiningOptions } from '../../mining/command.js';
import { checkPayout } from '../../mining/payout/address.js';
import { versionKernel, versionsPerItem } from '../kernel/version-rolling.js';
import { BITCOIN_CHAINS } from './chains.js';
import { BITCOIN_DESCRIPTION } from './description.js';
import { scanWork } from './scan-work.js';
import { bitcoinNode } from './solo.js';
import { stratumOpener } from './stratum.js';
import { versionCount } from './work.js';

/** Adds `mine` to `millrace block`. */
export function addMineCommand(block: Command): void {
  const mining = block
    .command('mine')
    .description('mine for a node (solo) or for pools, until it is stopped')
    .addOption(
      valueOption('--version-mask <hex>', 'version bits to roll; 0: none')
        .argParser(parseMaskOption)
        .default(DEFAULT_MASK, '1fffe000, BIP 320'),
    )
    .addOption(
      valueOption('--suggest-difficulty <d>', 'difficulty to suggest to pools').argParser(parseDifficultyOption),
    );
  withMiningOptions(mining, 8332).action(action(mineBlocks, MINING_TRAITS));
  withExamples(
    mining,
    ['millrace block mine --rpc http://127.0.0.1:18443 --cookie ~/.bitcoin/regtest/.cookie --payout ADDRESS', 'solo'],
    ['millrace block mine --stratum stratum+tcp://pool:3333 --user WORKER --password-file pw', 'for a pool'],
  );
}

interface MineCommandOptions extends MiningOptions {
  readonly versionMask: number;
  readonly suggestDifficulty?: number;
}

function mineBlocks(call: Call<MineCommandOptions>): Promise<CommandResult> {
  const { versionMask, suggestDifficulty: suggestedDifficulty } = call.options;
  return mine(call, {
    description: BITCOIN_DESCRIPTION,
    nodeSource: (rpc, payout) => {
      if (payout === undefined) throw miningUsageError('no payout address for solo mining', 'give --payout ADDRESS');
      checkPayout(payout, BITCOIN_CHAINS);
      return bitcoinNode(rpc, payout, versionMask);
    },
    sessionOpener: (agent) => stratumOpener({ agent, mask: versionMask, suggestedDifficulty }),
    prepare: async (output, engine, chain, signal) => {
      const perItem = versionsPerItem(engine, {}, versionCount(versionMask));
      // The other variant is for difficulties below 1: regtest's, and those of pools for small devices.
      await prepareKernels(output, engine, [versionKernel(chain !== 'regtest', perItem)], signal);
      // A pool that changes to the other variant must not wait for the compiler; its errors are reported then. Runs in the
      // next turn, so that an abort during the first compilation takes effect.
      setImmediate(() => {
        if (chain === undefined && !signal.aborted)
          engine.prepare(versionKernel(false, perItem)).catch(() => undefined);
      });
    },
    scan: (engine) => (work, options) => scanWork(engine, work, options),
  });
}

/** The bits that BIP 320 leaves to miners. */
const DEFAULT_MASK = 0x1fffe000;

function parseMaskOption(text: string): number {
  if (!/^(0x)?[0-9a-f]{1,8}$/i.test(text)) throw new InvalidArgumentError('Expected up to eight hex digits.');
  const value = Number.parseInt(text.replace(/^0x/i, ''), 16);
  if (versionCount(value) <= 2 ** 24) return value;
  throw new InvalidArgumentError('At most 24 bits can be rolled.');
}

function parseDifficultyOption(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError('Expected a number above 0.');
}
