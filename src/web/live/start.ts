import type { CommandDashboard } from '../../console/live/dashboard-loader.js';
import type { EventHub } from '../../console/live/event-hub.js';
import type { Address } from '../../console/telemetry/options.js';
import { playgroundPages } from '../playground/pages.js';
import { startWebServer } from '../server/server.js';
import { storedToken } from '../server/token.js';
import { Dashboard, type DashboardOptions } from './dashboard.js';
import { dashboardRoutes } from './routes.js';
import { watchThisProcess } from './watched-process.js';

/** Starts the dashboard of `--dashboard`: the page of this process. */
export function startCommandDashboard(
  address: Address,
  hub: EventHub,
  directory: string | undefined,
): Promise<CommandDashboard> {
  return startDashboard(address, { own: watchThisProcess(hub), directory }, '--dashboard');
}

/** Starts a server of the dashboard's page and its data. */
export async function startDashboard(
  address: Address,
  options: DashboardOptions,
  asked: string,
): Promise<CommandDashboard> {
  const dashboard = new Dashboard(options);
  const server = await startWebServer({
    address,
    pages: { '/': { file: 'dashboard.html' }, ...playgroundPages('/playground', '/') },
    routes: dashboardRoutes(dashboard),
    first: () => dashboard.state(),
    asked,
    ...(options.directory !== undefined && { token: storedToken(options.directory) }),
  }).catch(async (error: unknown) => {
    await dashboard.close();
    throw error;
  });
  return {
    url: server.url,
    close: async () => {
      await dashboard.close();
      await server.close();
    },
  };
}
