import type { Command } from 'commander';
import { action, type Call } from '../../../console/command/action.js';
import { withExamples } from '../../../console/command/conventions.js';
import { valued, wholeNumber } from '../../../console/options/options.js';
import type { Ending, Output } from '../../../console/output/output.js';
import type { Device } from '../../../device/device.js';
import { MINING_MANNER, type MiningOptions, mine, withMiningOptions } from '../../mining/command.js';
import { checkPayout } from '../../mining/payout/address.js';
import { feedingGiven, type PlanGiven, planGiven, warnWithoutGpu, withPlanOptions } from '../command/plan-options.js';
import { diagnosePiece, diagnosePlan, diagnoseStreams } from '../command/tell.js';
import { Referee } from '../job/referee.js';
import { LEAST_SHIFT, MOST_SHIFT } from '../kernel/reference.js';
import { GAPCOIN_CHAINS } from './chains.js';
import { type GapScan, plantOnce, scanWork } from './scan-work.js';
import { gapcoinNode } from './solo.js';
import { gapStratumOpener } from './stratum.js';
import { candidateText, gapTerms } from './terms.js';

/** Adds `mine` to `millrace gaps`. */
export function addMineCommand(gaps: Command): void {
  const mining = gaps
    .command('mine')
    .description('mine Gapcoin for a node (solo) or for pools, until it is stopped')
    .addOption(
      valued('-f, --shift <n>', `bits behind the hash: a header gives 2^shift numbers`)
        .argParser(wholeNumber(LEAST_SHIFT, MOST_SHIFT))
        .default(DEFAULT_SHIFT),
    );
  withMiningOptions(withPlanOptions(mining), 31397).action(action(mineGaps, MINING_MANNER));
  withExamples(
    mining,
    ['millrace gaps mine --rpc http://127.0.0.1:31397 --cookie ~/.gapcoin/.cookie --payout ADDRESS', 'solo'],
    ['millrace gaps mine --rpc http://127.0.0.1:31397 --user NAME --password-file pw', 'a node that has getwork'],
    ['millrace gaps mine --stratum stratum+tcp://pool:3385 --user WORKER --password-file pw', 'for a pool'],
  );
}

/** 296 bits: as fast as any size from 289 on, and a header lasts an H200 for more than a minute. */
const DEFAULT_SHIFT = 40;

interface MineOptions extends MiningOptions, PlanGiven {
  readonly shift: number;
}

async function mineGaps(call: Call<MineOptions>): Promise<Ending> {
  const { output, options: given } = call;
  const { shift } = given;
  const referee = new Referee();
  try {
    return await mine(call, {
      terms: gapTerms(shift),
      feeding: feedingGiven(given),
      node: (rpc, payout) => {
        if (payout !== undefined) checkPayout(payout, GAPCOIN_CHAINS);
        return gapcoinNode(rpc, payout);
      },
      open: gapStratumOpener,
      scan: async (engine, devices) => {
        warnWithoutGpu(given, output, devices);
        await diagnoseStreams(output, devices, engine.streams);
        const plant = plantOnce(referee);
        const scan = { engine, referee, plant, shift, plan: planGiven(given), ...diagnosing(output) };
        return (work, options) => scanWork(scan, work, options);
      },
    });
  } finally {
    referee.close();
  }
}

function diagnosing(output: Output): Pick<GapScan, 'onPlan' | 'traced' | 'onPiece' | 'onCandidate'> {
  if (!output.diagnose) return {};
  const planned = new Set<Device>();
  return {
    // The plan is the same for every header.
    onPlan: (device, plan) => {
      if (!planned.has(device)) diagnosePlan(output, device, plan);
      planned.add(device);
    },
    traced: true,
    onPiece: (start, piece) => diagnosePiece(output, { start }, piece),
    onCandidate: (share) => output.diagnose?.(candidateText(share)),
  };
}
