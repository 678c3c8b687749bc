/**
 * Optional packages and what needs them. npm installs them unless it is called with `--omit=optional`.
 */
export const optionalPackages = {
  koffi: 'cuda, opencl and locks on temporary files',
  webgpu: 'webgpu',
  wabt: 'wasm',
  libsql: 'the ledger',
  '@nats-io/transport-node': 'fleets',
  '@nats-io/jetstream': 'fleets',
  '@nats-io/jwt': 'serving fleets',
} as const;

export type OptionalPackage = keyof typeof optionalPackages;

/** Says that a package is not installed and how to install it; undefined if it is. A page's files contain what they need. */
export function whyNotInstalled(name: OptionalPackage): string | undefined {
  const { process } = globalThis as { process?: NodeJS.Process };
  const node = process?.getBuiltinModule?.('node:module');
  if (node === undefined || isFound(node.createRequire(import.meta.url), name)) return undefined;
  return `the package ${name} is not installed: npm install ${name}`;
}

function isFound({ resolve }: NodeJS.Require, name: string): boolean {
  return [`${name}/package.json`, name].some((id) => {
    try {
      resolve(id);
      return true;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
    }
  });
}
