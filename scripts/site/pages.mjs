// The pages of the site: which document becomes which page, and where it stands in the menu.

/** @typedef {{ readonly source: string, readonly path: string, readonly title: string }} Page */

/** @param {string} source @param {string} title @returns {Page} */
const page = (source, title, path = source.replace(/\.md$/, '.html')) => ({ source, path, title });
/** @param {string} name @returns {Page} */
const workload = (name) => page(`src/workload/${name}/README.md`, name, `docs/workload/${name}.html`);
/** @param {string} name */
const measurements = (name) => page(`docs/measurements/${name}.md`, `Measurements: ${name}`);

/** @type {readonly (readonly [string, readonly Page[]])[]} */
export const sections = [
  [
    'Start',
    [
      page('README.md', 'Millrace', 'index.html'),
      page('docs/guide.md', 'Guide'),
      page('docs/platforms.md', 'Platforms'),
    ],
  ],
  [
    'Kernels',
    [
      page('docs/language.md', 'Language'),
      page('docs/api.md', 'Imports'),
      page('docs/kernels-as-data.md', 'Kernels as data'),
    ],
  ],
  [
    'Jobs',
    [
      page('docs/engine.md', 'Engine'),
      page('docs/command.md', 'Command'),
      page('docs/ledger.md', 'Ledger'),
      page('docs/dashboard.md', 'Dashboard'),
      page('docs/telemetry.md', 'Telemetry'),
      page('docs/tuning.md', 'Tuning'),
    ],
  ],
  [
    'Elsewhere',
    [
      page('docs/fleet.md', 'Fleet'),
      page('docs/export.md', 'Export to C and CUDA'),
      page('docs/python.md', 'Export to Python'),
      page('docs/browser.md', 'Browser'),
      page('docs/playground.md', 'About the playground'),
    ],
  ],
  ['Workloads', [...['block', 'uhash', 'words', 'encode', 'gaps'].map(workload), page('docs/network.md', 'Mining')]],
  [
    'Performance',
    [
      page('docs/PERFORMANCE.md', 'Performance'),
      page('docs/benchmarks.md', 'How it is measured'),
      page('docs/peers.md', 'Beside the originals'),
      ...['h200', 'block', 'uhash', 'words', 'encode', 'gaps'].map(measurements),
    ],
  ],
  [
    'Project',
    [
      page('CONTRIBUTING.md', 'Contributing'),
      page('SECURITY.md', 'Security'),
      page('CHANGELOG.md', 'Changes'),
      page('docs/releases/0.2.0.md', 'Release 0.2.0'),
      page('docs/releases/0.1.0.md', 'Release 0.1.0'),
      page('docs/dependencies.md', 'Dependencies'),
      page('docs/licences.md', 'Licences'),
    ],
  ],
];

export const pages = sections.flatMap(([, list]) => list);
