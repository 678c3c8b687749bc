import type { Command } from 'commander';
import { action, type Call } from '../../../console/command/action.js';
import { withExamples } from '../../../console/command/conventions.js';
import { valueOption, wholeNumberParser } from '../../../console/options/options.js';
import type { CommandResult, Output } from '../../../console/output/output.js';
import type { Device } from '../../../device/device.js';
import { MINING_TRAITS, type MiningOptions, mine, withMiningOptions } from '../../mining/command.js';
import { checkPayout } from '../../mining/payout/address.js';
import {
  type PlanCommandOptions,
  pipelineOptionsOf,
  planOptionsOf,
  warnWithoutGpu,
  withPlanOptions,
} from '../command/plan-options.js';
import { diagnosePiece, diagnosePlan, diagnoseStreams } from '../command/report.js';
import { GapVerifier } from '../job/verifier.js';
import { MAX_SHIFT, MIN_SHIFT } from '../kernel/reference.js';
import { GAPCOIN_CHAINS } from './chains.js';
import { candidateText, gapcoinDescription } from './description.js';
import { type GapMinerOptions, serverOf, withGapMinerOptions } from './gapminer-options.js';
import { type GapScan, plantOnce, scanWork } from './scan-work.js';
import { gapcoinNode } from './solo.js';
import { gapStratumOpener } from './stratum.js';

/** Adds `mine` to `millrace gaps`. */
export function addMineCommand(gaps: Command): void {
  const mining = gaps
    .command('mine')
    .description('mine Gapcoin for a node (solo) or for pools, until it is stopped')
    .addOption(
      valueOption('-f, --shift <n>', 'bits after the hash: a header gives 2^shift numbers')
        .argParser(wholeNumberParser(MIN_SHIFT, MAX_SHIFT))
        .default(DEFAULT_SHIFT),
    );
  withMiningOptions(withPlanOptions(mining), 31397).action(action(mineGaps, MINING_TRAITS));
  withGapMinerOptions(mining);
  withExamples(
    mining,
    ['millrace gaps mine --rpc http://127.0.0.1:31397 --cookie ~/.gapcoin/.cookie --payout ADDRESS', 'solo'],
    ['millrace gaps mine --rpc http://127.0.0.1:31397 --user NAME --password-file pw', 'a node that has getwork'],
    ['millrace gaps mine --stratum stratum+tcp://pool:3385 --user WORKER --password-file pw', 'for a pool'],
  );
}

/** 296 bits: as fast as any size from 289 on, and a header lasts an H200 for 18 s. */
const DEFAULT_SHIFT = 40;

interface MineCommandOptions extends MiningOptions, PlanCommandOptions, GapMinerOptions {
  readonly shift: number;
}

async function mineGaps(call: Call<MineCommandOptions>): Promise<CommandResult> {
  const { output, options: opts } = call;
  const { shift } = opts;
  const verifier = new GapVerifier();
  try {
    return await mine(call, {
      description: gapcoinDescription(shift),
      pipelineOptions: pipelineOptionsOf(opts),
      server: serverOf(opts),
      nodeSource: (rpc, payout) => {
        if (payout !== undefined) checkPayout(payout, GAPCOIN_CHAINS);
        return gapcoinNode(rpc, payout);
      },
      sessionOpener: gapStratumOpener,
      scan: async (engine, devices) => {
        warnWithoutGpu(opts, output, devices);
        await diagnoseStreams(output, devices, engine.streams);
        const plant = plantOnce(verifier);
        const scan = { engine, verifier, plant, shift, plan: planOptionsOf(opts), ...diagnosticHooks(output) };
        return (work, options) => scanWork(scan, work, options);
      },
    });
  } finally {
    verifier.close();
  }
}

function diagnosticHooks(output: Output): Pick<GapScan, 'onPlan' | 'traced' | 'onPiece' | 'onCandidate'> {
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
