import { useEffect, useState } from 'preact/hooks';
import { encodeShare } from '../playground/page/share.js';
import { read } from './session.js';

/** Commands whose kernels are examples of the playground. */
const WORKLOADS = ['block', 'encode', 'gaps', 'uhash', 'words'];

interface PlaygroundLinkProps {
  readonly args: readonly string[];
  /** The key of the job whose code the server has; undefined if it has none. */
  readonly codeOf: string | undefined;
}

/** Opens a job's kernel in the playground: its own file as code that waits for a click, or a workload's example. */
export function PlaygroundLink({ args: [command = ''], codeOf }: PlaygroundLinkProps) {
  const [fragment, setFragment] = useState<string>();
  useEffect(() => {
    setFragment(undefined);
    if (codeOf === undefined) return undefined;
    const controller = new AbortController();
    read<{ readonly code: string }>(`/api/jobs/${codeOf}/code`, controller.signal)
      .then(({ code }) => encodeShare(code))
      .then((encoded) => controller.signal.aborted || setFragment(encoded))
      .catch(() => undefined); // the connection's state is shown above
    return () => controller.abort();
  }, [codeOf]);
  const target = fragment ?? (WORKLOADS.includes(command) ? `example=${command}` : undefined);
  return target === undefined ? null : <a href={`/playground#${target}`}>Open the kernel in the playground</a>;
}
