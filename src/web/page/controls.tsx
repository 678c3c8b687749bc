import { useState } from 'preact/hooks';
import type { JobDetail, ProcessState } from '../live/state.js';
import { connection } from './connection.js';
import { ask } from './session.js';

/** Controls of a job that a process runs. */
export function Controls({ process }: { readonly process: ProcessState }) {
  const [message, setMessage] = useState('');
  const send = async (body: object): Promise<void> => setMessage(await ask(`/api/jobs/${process.key}/control`, body));
  const isPaused = process.progress?.state === 'paused';
  const isOver = process.exit !== undefined || process.progress?.state === 'stopping' || connection.value === 'ended';
  return (
    <fieldset class="actions">
      <legend class="hidden">Controls</legend>
      <button type="button" disabled={isOver || isPaused} onClick={() => void send({ action: 'pause' })}>
        Pause
      </button>
      <button type="button" disabled={isOver || !isPaused} onClick={() => void send({ action: 'resume' })}>
        Resume
      </button>
      <button type="button" disabled={isOver} onClick={() => void send({ action: 'stop' })}>
        Stop
      </button>
      {process.canPrioritize && (
        <PriorityForm
          priority={process.priority ?? 0}
          isDisabled={isOver}
          set={(priority) => void send({ action: 'priority', priority })}
        />
      )}
      <output class="dim">{message}</output>
    </fieldset>
  );
}

interface StoredControlsProps {
  readonly job: JobDetail;
  readonly onChange: () => void;
}

/** Controls of a job that no process of this machine runs. To resume it is to start its command, which the page cannot do. */
export function StoredControls({ job, onChange }: StoredControlsProps) {
  const [message, setMessage] = useState('');
  const send = async (body: object): Promise<void> => {
    setMessage(await ask(`/api/jobs/${job.id}/control`, body));
    onChange();
  };
  if (job.isOver && message === '') return null;
  return (
    <fieldset class="actions">
      <legend class="hidden">Controls</legend>
      <button type="button" disabled={job.isOver} onClick={() => void send({ action: 'cancel' })}>
        Cancel
      </button>
      <PriorityForm
        priority={job.priority}
        isDisabled={job.isOver}
        set={(priority) => void send({ action: 'priority', priority })}
      />
      <output class="dim">{message}</output>
    </fieldset>
  );
}

interface PriorityFormProps {
  readonly priority: number;
  readonly isDisabled: boolean;
  readonly set: (priority: number) => void;
}

export function PriorityForm({ priority, isDisabled, set }: PriorityFormProps) {
  const [typed, setTyped] = useState<string>();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        set(Number(typed ?? priority));
      }}
    >
      <label>
        Priority{' '}
        <input
          type="number"
          min={-9999}
          max={9999}
          value={typed ?? priority}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={isDisabled}>
        Set
      </button>
    </form>
  );
}
