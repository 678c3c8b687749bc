import type { FleetJobRow, FleetOverview } from '../../fleet/view/rows.js';
import type { Metric, MetricValue } from './exposition.js';

/** The coordinator's process, besides its fleet. */
export interface CoordinatorProcess {
  readonly version: string;
  readonly cpuSeconds: number;
}

/** Returns the metrics of a fleet. Names end in their unit; counters end in `_total` and begin again with the coordinator. */
export function fleetMetrics(fleet: FleetOverview, { version, cpuSeconds }: CoordinatorProcess): Metric[] {
  const { coordinator, states, jobs } = fleet;
  const one = (type: Metric['type'], name: string, help: string, value: MetricValue['value']): Metric => ({
    ...{ name: `millrace_${name}`, help, type },
    values: [{ value }],
  });
  const gauge = (name: string, help: string, value: MetricValue['value']) => one('gauge', name, help, value);
  const counter = (name: string, help: string, value: MetricValue['value']) =>
    one('counter', `${name}_total`, help, value);
  const perJob = (name: string, help: string, read: (job: FleetJobRow) => number | undefined): Metric => ({
    ...{ name: `millrace_fleet_job_${name}`, help, type: 'gauge' },
    values: jobs
      .filter(({ state }) => state === 'running' || state === 'paused')
      .map((job) => ({ labels: { job: job.id.slice(0, 12), kernel: job.name }, value: read(job) })),
  });
  return [
    {
      ...{ name: 'millrace_build_info', help: 'Version and command of this process.', type: 'gauge' },
      values: [{ labels: { version, command: 'fleet serve' }, value: 1 }],
    },
    gauge('uptime_seconds', 'Time since the coordinator started.', fleet.seconds),
    counter('cpu_seconds', 'CPU time used by this process.', cpuSeconds),
    {
      ...{ name: 'millrace_fleet_workers', help: 'Workers by state.', type: 'gauge' },
      values: Object.entries(states).map(([state, value]) => ({ labels: { state }, value })),
    },
    gauge('fleet_devices', 'Devices of workers that count.', fleet.devices),
    gauge('fleet_fed_ratio', 'Mean share of the time that the devices of working workers had work.', fleet.fed),
    gauge('fleet_leases', 'Leases that workers have.', fleet.leases),
    counter('fleet_leases_granted', 'Leases granted.', coordinator.leasesGranted),
    counter('fleet_results', 'Results received.', coordinator.results),
    counter('fleet_results_refused', 'Results that were wrong.', coordinator.refusedResults),
    gauge('fleet_results_waiting', 'Results that are not in the ledger.', coordinator.resultsWaiting),
    counter('fleet_commits', 'Transactions of the ledger.', coordinator.commits),
    gauge(
      'fleet_commit_lag_seconds',
      'Age of the oldest result that is not in the ledger.',
      coordinator.commitLagSeconds,
    ),
    gauge(
      'fleet_commit_seconds',
      'Time from the arrival of the slowest result of the last commit to the ledger.',
      coordinator.commitSeconds,
    ),
    gauge('fleet_hits', 'Hits in the ledger, of jobs that were open since the coordinator started.', coordinator.hits),
    gauge('fleet_jobs', 'Jobs that are not over.', jobs.filter(({ state }) => /^(running|paused)$/.test(state)).length),
    perJob('items_per_second', 'Rate of the workers that count.', ({ perSecond }) => perSecond),
    perJob('done_ratio', 'Share of the indices that are in the ledger.', ({ fraction }) => fraction),
    perJob('left_seconds', 'Time left at the present rate.', ({ etaSeconds }) => etaSeconds),
    perJob('hits', 'Hits in the ledger.', ({ hits }) => hits),
    perJob('workers', 'Workers that count and have a lease.', ({ workers }) => workers),
    perJob('leases', 'Leases that workers have.', ({ leases }) => leases),
  ];
}
