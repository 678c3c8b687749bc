import { needsData, outputBuffer, rowBuffers, type Shape } from '../c/header.js';
import type { CBuffer, CField, Signature } from '../c/signature.js';
import { annotation, type PythonSignature, pythonSignature } from './names.js';

/** The module of one kernel: `__init__.py` and its stub. */
export interface ModuleTexts {
  readonly module: string;
  readonly stub: string;
}

const errors = [
  'AbiError',
  'ArgumentError',
  'CancelledError',
  'CompileError',
  'DeviceError',
  'DeviceNotFoundError',
  'MillraceError',
  'OutOfMemoryError',
];

export function moduleTexts(signature: Signature, version: string, head: string): ModuleTexts {
  const { name, kernel, shapes } = signature;
  const python = pythonSignature(signature);
  const functions = shapes.map((shape) => functionOf(signature, python, shape));
  const types = [...(shapes.includes('search') ? ['Hit'] : []), 'Device', 'DeviceInfo', ...errors];
  const names = [...types, ...functions.map((one) => one.name), 'devices'];
  const module = `${head}
"""The kernel \`\`${kernel}\`\` on CPUs, CUDA and OpenCL.

${functions.map((one) => `:func:\`${one.name}\` ${one.summary}`).join('\n')}
"""

from ._device import Device, DeviceInfo, devices
from ._kernel import Kernel
from ._library import (
${errors.map((error) => `    ${error},`).join('\n')}
)

__all__ = [
${names.map((one) => `    "${one}",`).join('\n')}
]
__version__ = "${version}"

_kernel = Kernel(
    "${name}_kernel",
    "${kernel}",
    job=${table(python.job.map(fieldRow))},
    chunk=${table(python.chunk.map(fieldRow))},
    hit=${table(python.hit.map(fieldRow))},
    buffers=${table(python.buffers.map(bufferRow))},
    rows=${table(rowNames(signature, python).map((one) => `"${one}"`))},
    output=${outputName(signature, python) ?? 'None'},
)
${shapes.includes('search') ? '\n#: What the kernel reports: a named tuple with the index first.\nHit = _kernel.Hit\n' : ''}

${functions.map((one) => one.text).join('\n\n')}`;
  return { module, stub: stubText(python, shapes, functions, head) };
}

interface PythonFunction {
  readonly name: Shape;
  readonly summary: string;
  readonly text: string;
  readonly stub: string;
}

/** The arguments that a task's options become. */
const optionArguments = (signature: PythonSignature): string[] => [
  ...(signature.chunk.length > 0 ? ['chunk'] : []),
  'progress',
];

function functionOf(signature: Signature, python: PythonSignature, shape: Shape): PythonFunction {
  const shared = dataBuffers(signature, python, shape);
  const job = python.job.map(({ name }) => name);
  const options = optionArguments(python);
  const jobText = `{${job.map((name) => `"${name}": ${name}`).join(', ')}}`;
  const dataText = `{${shared.map(({ name }) => `"${name}": ${name}`).join(', ')}}`;
  const optionsText = (...more: string[]): string =>
    `{${[...options.map((name) => `"${name}": ${name}`), ...more].join(', ')}}`;
  const described = [...python.job.map(describeField), ...shared.map(describeShared)];
  const progress = [
    ...(python.chunk.length > 0
      ? [
          `chunk: a function of start and count that returns the values of a launch: ${python.chunk.map(fieldText).join(', ')}`,
        ]
      : []),
    'device: a :class:`Device`, or a name that is opened for this call; by default the one that ``Device()`` opens',
    'progress: a function of done and total; False ends the work',
  ];
  const jobStubs = python.job.map((field) => `${field.name}: ${annotation(field)}`);
  const sharedStubs = shared.map(({ name }) => `${name}: Union[ReadableBuffer, int]`);
  const optionStubs = [
    'device: Union[Device, str, None] = ...',
    ...(python.chunk.length > 0 ? ['chunk: Callable[[int, int], Mapping[str, Any]]'] : []),
    'progress: Optional[Callable[[int, int], Optional[bool]]] = ...',
  ];
  const written = [
    ...job,
    ...shared.map(({ name }) => name),
    'device=None',
    ...(python.chunk.length > 0 ? ['chunk'] : []),
    'progress=None',
  ];
  switch (shape) {
    case 'search': {
      const summary = 'yields the hits of a range of indices, in ascending order.';
      return {
        name: shape,
        summary,
        text: define(
          'search',
          ['start', 'count', '*', ...written, 'ring_hits=0', 'range_size=None'],
          [
            'Yields the hits of [start, start + count), in ascending order.',
            'Hits arrive range by range, while the next range runs. Closing the iterator stops the work.',
          ],
          [
            ...described,
            ...progress,
            'ring_hits: hits of one launch before it is split',
            'range_size: indices of a range; by default ranges take about a quarter of a second',
          ],
          called('search', [
            'start',
            'count',
            jobText,
            dataText,
            'device',
            optionsText('"ring_hits": ring_hits', '"range": range_size'),
          ]),
        ),
        stub: `def search(\n${lines(['start: int', 'count: int', '*', ...jobStubs, ...sharedStubs, ...optionStubs, 'ring_hits: int = ...', 'range_size: Optional[int] = ...'])}\n) -> Iterator[Hit]: ...`,
      };
    }
    case 'generate': {
      const output = outputBuffer(signature);
      const row = output?.rowBytes === undefined ? ['row=1'] : [];
      return {
        name: shape,
        summary: 'makes a row of values for each index.',
        text: define(
          'generate',
          ['start', 'count', '*', ...written, ...row, 'out=None'],
          [
            'Returns an array with a row for each index of [start, start + count).',
            'It is a memoryview, which ``numpy.asarray`` takes without a copy.',
          ],
          [
            ...described,
            ...progress,
            ...(row.length > 0 ? ['row: elements of a row'] : []),
            'out: a writable array for the rows, in place of a new one',
          ],
          called('generate', [
            'start',
            'count',
            jobText,
            dataText,
            row.length > 0 ? 'row' : 'None',
            'out',
            'device',
            optionsText(),
          ]),
        ),
        stub: `def generate(\n${lines(['start: int', 'count: int', '*', ...jobStubs, ...sharedStubs, ...optionStubs, ...(row.length > 0 ? ['row: int = ...'] : []), 'out: Optional[WriteableBuffer] = ...'])}\n) -> memoryview: ...`,
      };
    }
    case 'transform': {
      const reads = python.buffers.filter(({ kind }) => kind !== 'rw');
      const writes = python.buffers.filter(({ kind }) => kind === 'rw');
      const free = writes.filter(({ rowBytes }) => rowBytes === undefined);
      const arrays = [...reads, ...writes].map(({ name }) => `"${name}": ${name}`).join(', ');
      const optional = new Set(shared.map(({ name }) => name));
      const own = written.filter((each) => !optional.has(each));
      return {
        name: shape,
        summary: 'runs the kernel on the rows of arrays.',
        text: define(
          'transform',
          [
            ...reads.map(({ name }) => name),
            '*',
            ...own,
            ...writes.map(({ name }) => `${name}=None`),
            ...free.map(({ name }) => `${name}_row=1`),
          ],
          [
            'Runs the kernel on each row and returns the array that it writes, or a dict of several.',
            'New arrays are memoryviews, which ``numpy.asarray`` takes without a copy.',
          ],
          [
            ...reads.map((buffer) =>
              optional.has(buffer.name) ? describeShared(buffer) : `${buffer.name}: rows of ${buffer.type}`,
            ),
            ...python.job.map(describeField),
            ...progress,
            ...writes.map(({ name, type }) => `${name}: a writable array for rows of ${type}, in place of a new one`),
            ...free.map(({ name }) => `${name}_row: elements of a row of ${name}`),
          ],
          called('transform', [
            `{${arrays}}`,
            jobText,
            `{${free.map(({ name }) => `"${name}": ${name}_row`).join(', ')}}`,
            'device',
            optionsText(),
          ]),
        ),
        stub: `def transform(\n${lines([
          ...reads.map(
            ({ name }) => `${name}: ${optional.has(name) ? 'Union[ReadableBuffer, int]' : 'ReadableBuffer'}`,
          ),
          '*',
          ...jobStubs,
          ...optionStubs,
          ...writes.map(({ name }) => `${name}: Optional[WriteableBuffer] = ...`),
          ...free.map(({ name }) => `${name}_row: int = ...`),
        ])}\n) -> ${writes.length === 1 ? 'memoryview' : 'Dict[str, memoryview]'}: ...`,
      };
    }
  }
}

/** Buffers that are the same for all indices of such a task. */
function dataBuffers(signature: Signature, python: PythonSignature, shape: Shape): readonly CBuffer[] {
  if (!needsData(signature, shape)) return [];
  const output = outputBuffer(signature);
  const rows = shape === 'transform' ? rowBuffers(signature) : shape === 'generate' && output ? [output] : [];
  if (shape === 'transform' && rows.length === 0) return [];
  return python.buffers.filter((_, at) => !rows.includes(signature.buffers[at] as CBuffer));
}

const rowNames = (signature: Signature, python: PythonSignature): string[] =>
  rowBuffers(signature).map((row) => python.buffers[signature.buffers.indexOf(row)]?.name ?? row.name);

function outputName(signature: Signature, python: PythonSignature): string | undefined {
  const output = outputBuffer(signature);
  const name = output && python.buffers[signature.buffers.indexOf(output)]?.name;
  return name === undefined ? undefined : `"${name}"`;
}

const fieldText = (field: CField): string => `${field.name} (${field.type}${field.array ? ` × ${field.length}` : ''})`;
const describeField = (field: CField): string =>
  `${field.name}: ${field.array ? `${field.length} values of type ` : ''}${field.type}`;
const describeShared = ({ name, type }: CBuffer): string =>
  `${name}: an array of ${type} that is the same for all indices, or its number of zero bytes`;

function define(
  name: string,
  parameters: readonly string[],
  about: readonly string[],
  described: readonly string[],
  body: string,
): string {
  return `def ${name}(
${lines(parameters)}
):
    """${about[0]}

    ${about.slice(1).join('\n    ')}

    Arguments:
${described.map((line) => `        ${line}`).join('\n')}
    """
    ${body}
`;
}

const called = (name: string, list: readonly string[]): string =>
  `return _kernel.${name}(\n${list.map((each) => `        ${each},`).join('\n')}\n    )`;

const lines = (list: readonly string[]): string => list.map((line) => `    ${line},`).join('\n');

const table = (rows: readonly string[]): string => (rows.length === 0 ? '()' : `(${rows.join(', ')},)`);
const fieldRow = ({ name, type, length, array }: CField): string =>
  `("${name}", "${type}", ${length}, ${array ? 'True' : 'False'})`;
const bufferRow = ({ name, kind, type, rowBytes }: CBuffer): string =>
  `("${name}", "${kind}", "${type}", ${rowBytes ?? 'None'})`;

function stubText(
  python: PythonSignature,
  shapes: readonly Shape[],
  functions: readonly PythonFunction[],
  head: string,
): string {
  const hit = [
    'index: int',
    ...python.hit.map(
      (field) => `${field.name}: ${annotation(field).replace('Sequence[', 'Tuple[').replace(/\]$/, ', ...]')}`,
    ),
  ];
  return `${head}
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from _typeshed import ReadableBuffer, WriteableBuffer

from ._device import Device as Device, DeviceInfo as DeviceInfo, devices as devices
${errors.map((error) => `from ._library import ${error} as ${error}`).join('\n')}

__version__: str
${shapes.includes('search') ? `\nclass Hit(NamedTuple):\n${hit.map((line) => `    ${line}`).join('\n')}\n` : ''}
${functions.map((one) => one.stub).join('\n')}
`;
}
