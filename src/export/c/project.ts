import type { ExportedFile } from '../request.js';
import { type CFunction, functions } from './header.js';
import type { Signature } from './signature.js';

/** What the build files say. */
export interface Project {
  readonly signature: Signature;
  /** Names of the generated C files, without the runtime and the example. */
  readonly sources: readonly string[];
  /** Headers of the kernel's own interface. */
  readonly headers: readonly ExportedFile[];
  readonly version: string;
  readonly abi: number;
  readonly digest: string;
  readonly command: string;
  readonly targets: readonly string[];
  readonly hasPrivateHeader?: boolean;
}

/** Exact IEEE arithmetic and wrapping integers, as kernels are defined. */
export const FLAGS = '-O3 -fPIC -fno-strict-aliasing -fwrapv -ffp-contract=off -fno-math-errno';

/**
 * The compilers' notes on how vectors are passed to functions, which kernels are full of: callers are compiled with the same
 * flags. Empty for a compiler that does not know the option.
 */
export const NO_ABI_NOTES = '$(shell $(CC) -Werror -Wno-psabi -E -x c /dev/null >/dev/null 2>&1 && echo -Wno-psabi)';

const pathsOf = (files: readonly ExportedFile[]): string[] => files.map(({ path }) => path);

export function projectFiles(project: Project, head: (begin: string) => string): ExportedFile[] {
  const { name } = project.signature;
  return [
    { path: 'Makefile', text: makefile(project, head('#')) },
    { path: 'CMakeLists.txt', text: cmake(project, head('#')) },
    { path: `${name}.pc.in`, text: pkgConfig(project, head('#')) },
    { path: 'README.md', text: readme(project) },
  ];
}

const makefile = ({ signature: { name }, sources, headers }: Project, head: string): string => `${head}
# make          builds lib${name}.a, lib${name}.so and the example, and runs it on the CPU
# make install  installs to PREFIX (default /usr/local)
CC ?= cc
PREFIX ?= /usr/local
DESTDIR ?=
CFLAGS ?= -Wall -Wextra
KERNEL_FLAGS := -std=gnu11 ${FLAGS} ${NO_ABI_NOTES}
OBJECTS = millrace_runtime.o ${sources.map((file) => file.replace(/\.c$/, '.o')).join(' ')}

all: lib${name}.a lib${name}.so example.out

lib${name}.a: $(OBJECTS)
	$(AR) rcs $@ $(OBJECTS)

lib${name}.so: $(OBJECTS)
	$(CC) $(LDFLAGS) -shared -o $@ $(OBJECTS) -lm -ldl -lpthread

%.o: %.c ${[`${name}.h`, `${name}_kernel.h`, ...pathsOf(headers)].join(' ')} millrace_runtime.h
	$(CC) $(CPPFLAGS) $(CFLAGS) $(KERNEL_FLAGS) -c -o $@ $<

millrace_runtime.o: millrace_runtime.c millrace_runtime.h
	$(CC) $(CPPFLAGS) $(CFLAGS) -std=c11 -O2 -fPIC -c -o $@ millrace_runtime.c

example: example.c lib${name}.a
	$(CC) $(CPPFLAGS) $(CFLAGS) -std=c11 -O2 -o $@ example.c lib${name}.a $(LDFLAGS) -lm -ldl -lpthread

example.out: example
	./example cpu > $@.new
	mv $@.new $@
	cat $@

${name}.pc: ${name}.pc.in
	sed 's|@prefix@|$(PREFIX)|' ${name}.pc.in > $@

install: lib${name}.a lib${name}.so ${name}.pc
	mkdir -p $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include
	cp ${[`${name}.h`, ...pathsOf(headers)].join(' ')} millrace_runtime.h $(DESTDIR)$(PREFIX)/include
	cp lib${name}.a lib${name}.so $(DESTDIR)$(PREFIX)/lib
	cp ${name}.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig

clean:
	rm -f $(OBJECTS) lib${name}.a lib${name}.so example example.out ${name}.pc

.PHONY: all install clean
`;

const cmake = ({ signature: { name }, sources, headers }: Project, head: string): string => `${head}
cmake_minimum_required(VERSION 3.13)
project(${name} C)
find_package(Threads REQUIRED)
include(CheckCCompilerFlag)
check_c_compiler_flag(-Wno-psabi HAS_NO_PSABI)
add_library(${name} millrace_runtime.c ${sources.join(' ')})
set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON C_STANDARD 11 C_EXTENSIONS ON)
set_source_files_properties(${sources.join(' ')} PROPERTIES COMPILE_OPTIONS
  "${FLAGS.replaceAll(' ', ';')};$<$<BOOL:\${HAS_NO_PSABI}>:-Wno-psabi>")
target_include_directories(${name} PUBLIC \${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(${name} PUBLIC Threads::Threads m \${CMAKE_DL_LIBS})
add_executable(${name}_example example.c)
target_link_libraries(${name}_example PRIVATE ${name})
enable_testing()
add_test(NAME example COMMAND ${name}_example cpu)
install(TARGETS ${name} DESTINATION lib)
install(FILES ${[`${name}.h`, ...pathsOf(headers)].join(' ')} millrace_runtime.h DESTINATION include)
set(prefix \${CMAKE_INSTALL_PREFIX})
configure_file(${name}.pc.in ${name}.pc @ONLY)
install(FILES \${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION lib/pkgconfig)
`;

const pkgConfig = ({ signature: { name, kernel }, version }: Project, head: string): string => `${head}
prefix=@prefix@
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: ${name}
Description: The kernel ${kernel} on CPU, CUDA and OpenCL
Version: ${version.replace(/\+.*/, '')}
Cflags: -I\${includedir}
Libs: -L\${libdir} -l${name}
Libs.private: -lm -ldl -lpthread
`;

function readme({ signature, headers, version, abi, digest, command, targets }: Project): string {
  const { name, kernel, shapes } = signature;
  const entry = ({ text, comment }: CFunction): string =>
    `\`\`\`c\n${text};\n\`\`\`\n\n${comment.replaceAll(/\n +/g, ' ')}\n`;
  return `# ${name}

The kernel \`${kernel}\` as a C library for ${targets.join(', ')}. Written by \`${command}\` (Millrace ${version}); it needs
neither Millrace nor Node. License: Apache-2.0. ABI version ${abi}, kernel digest \`${digest}\`.

\`make\` builds \`lib${name}.a\` and \`lib${name}.so\`, and runs the example on the CPU; \`make install PREFIX=…\` installs them with a
pkg-config file. With CMake: \`cmake -B build && cmake --build build && ctest --test-dir build\`, and
\`-DBUILD_SHARED_LIBS=ON\` for a shared library. Compiling all C files with GCC or clang and the flags in the Makefile does, too.

The device is chosen when the program runs: by the argument of \`mr_open\`, or by the environment variable \`MILLRACE_DEVICE\`
(\`cpu\`, \`cpu:4\`, \`cuda\`, \`cuda:1\`, \`opencl\`, several separated by commas, \`all\`). CUDA needs the driver and NVRTC, OpenCL its
loader; both are loaded when such a device is opened. Compiled programs are cached in \`$XDG_CACHE_HOME/millrace-export\`.

\`\`\`c
mr_device *device;
if (mr_open(NULL, &device) != MR_OK) fprintf(stderr, "%s\\n", mr_error(NULL));
\`\`\`

## Functions

${headers.map(interfaceText).join('')}${functions(signature).map(entry).join('\n')}
Functions return \`MR_OK\` (0) or a negative \`mr_status\`; \`mr_error(device)\` is the text. ${
    shapes.length > 0
      ? 'A task is waited for by `mr_task_wait`, watched by `mr_task_progress`, stopped by `mr_task_cancel` and freed by `mr_task_close`.'
      : ''
  } \`millrace_runtime.h\` describes devices, memory, streams and options.
`;
}

/** The functions that a hand-written header declares. */
function interfaceText({ path, text }: ExportedFile): string {
  const declared = [...text.matchAll(/^(?!typedef)\w[^;{}()#]*\([^;{}]*\);/gm)].map(([line]) => line);
  return `\`${path}\` declares these, with comments:

\`\`\`c
${declared.join('\n')}
\`\`\`

Below are the functions of the kernel alone.

`;
}
