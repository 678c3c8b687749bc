import { FLAGS, NO_ABI_NOTES } from '../c/project.js';
import type { ExportedFile } from '../request.js';

/** What the build files of a Python package say. */
export interface PythonProject {
  readonly name: string;
  /** C files in the folder `c`. */
  readonly sources: readonly string[];
  readonly headers: readonly string[];
  readonly version: string;
  readonly summary: string;
  readonly readme: string;
}

export function pythonProjectFiles(project: PythonProject, head: string): ExportedFile[] {
  return [
    { path: 'pyproject.toml', text: pyproject(project, head) },
    { path: 'Makefile', text: makefile(project, head) },
    { path: 'README.md', text: project.readme },
  ];
}

const pyproject = ({ name, version, summary }: PythonProject, head: string): string => `${head}
[build-system]
requires = []
build-backend = "build_backend"
backend-path = ["."]

[project]
name = "${name}"
version = "${version}"
description = "${summary}"
requires-python = ">=3.9"
license = { text = "Apache-2.0" }
`;

/** Runtime and interfaces are plain C11; kernels need the flags that define their arithmetic. */
const makefile = ({ name, sources, headers }: PythonProject, head: string): string => `${head}
# make          builds ${name}/lib${name}.so, so that \`import ${name}\` works in this folder
# pip install . does the same and installs the package
CC ?= cc
CFLAGS ?=
KERNEL_FLAGS := -std=gnu11 ${FLAGS} -w ${NO_ABI_NOTES}
OBJECTS = ${sources.map((file) => `build/${file.replace(/\.c$/, '.o')}`).join(' ')}

library: ${name}/lib${name}.so

${name}/lib${name}.so: build/millrace_runtime.o $(OBJECTS)
	$(CC) $(LDFLAGS) -shared -o $@.new build/millrace_runtime.o $(OBJECTS) -lm -ldl -lpthread
	mv $@.new $@

build/%.o: c/%.c ${headers.map((file) => `c/${file}`).join(' ')} c/millrace_runtime.h
	@mkdir -p build
	$(CC) $(CPPFLAGS) $(CFLAGS) $(KERNEL_FLAGS) -c -o $@ $<

build/millrace_runtime.o: c/millrace_runtime.c c/millrace_runtime.h
	@mkdir -p build
	$(CC) $(CPPFLAGS) $(CFLAGS) -std=c11 -O2 -fPIC -c -o $@ c/millrace_runtime.c

clean:
	rm -rf build ${name}/lib${name}.so

.PHONY: library clean
`;
