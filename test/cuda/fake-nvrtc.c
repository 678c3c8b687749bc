// An NVRTC for tests. If FAKE_NVRTC_CC names a C compiler, the kernel's source is compiled for the CPU, with
// `fake-device.h` in front of it, and the fake libcuda runs it. Otherwise the output is a kernel that only takes time.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID_OPTION = 5, COMPILATION = 6 };
typedef struct { char *text, *log, *image; size_t image_bytes; int ptx; } Program;
typedef struct { char magic[8]; uint32_t params, first_bytes; uint64_t library_bytes; } Image; // as in fake-cuda.c
#define QUEUE_ENTRY "millrace_queue"

static long fail_line, delay_ms, compiled, newest = 90;
/** `fail_line`: the line of the next compilations' error. `newest`: the newest supported architecture. */
int fake_set(const char *name, int64_t value) {
  if (!strcmp(name, "fail_line")) fail_line = value;
  else if (!strcmp(name, "delay_ms")) delay_ms = value;
  else if (!strcmp(name, "newest")) newest = value;
  else abort();
  return 0;
}
int64_t fake_get(const char *name) { (void)name; return compiled; }

int nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 0; return OK; }
int nvrtcGetNumSupportedArchs(int *count) { *count = 3; return OK; }
int nvrtcGetSupportedArchs(int *list) { list[0] = 75; list[1] = 80; list[2] = newest; return OK; }
const char *nvrtcGetErrorString(int code) { return code == COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR"; }

int nvrtcCreateProgram(Program **out, const char *text, const char *name, int headers, const char **sources, const char **names) {
  (void)name; (void)headers; (void)sources; (void)names;
  *out = calloc(1, sizeof **out);
  (*out)->text = strdup(text);
  (*out)->log = strdup("");
  return OK;
}
int nvrtcDestroyProgram(Program **p) {
  free((*p)->text);
  free((*p)->log);
  free((*p)->image);
  free(*p);
  *p = NULL;
  return OK;
}

static char *replaced(char *text, const char *what, const char *by) {
  for (char *at; (at = strstr(text, what)); ) {
    char *next;
    if (asprintf(&next, "%.*s%s%s", (int)(at - text), text, by, at + strlen(what)) < 0) abort();
    free(text);
    text = next;
  }
  return text;
}

/** Reads the types of the entry's parameters. */
static int parameters(const char *text, const char *entry, char types[64][128]) {
  const char *at = strstr(text, entry);
  if (!at) return 0;
  at += strlen(entry) + 1;
  int count = 0;
  while (count < 64) {
    size_t length = strcspn(at, ",)");
    const char *end = at + length;
    while (end > at && (end[-1] == '_' || (end[-1] >= '0' && end[-1] <= '9') || (end[-1] >= 'A' && end[-1] <= 'Z') || (end[-1] >= 'a' && end[-1] <= 'z'))) end--;
    snprintf(types[count++], 128, "%.*s", (int)(end - at), at);
    if (at[length] == ')') return count;
    at += length + 1;
  }
  return count;
}

static char *contents(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *bytes = ftell(file);
  rewind(file);
  char *data = calloc(1, *bytes + 1);
  if (fread(data, 1, *bytes, file) != *bytes) abort();
  fclose(file);
  return data;
}

/** Compiles with the system's compiler. Returns the library, or NULL and a log in NVRTC's format. */
static char *compile(Program *p, const char *entry, char types[64][128], int count, size_t *bytes) {
  char folder[] = "/tmp/fake-nvrtc-XXXXXX", path[64], command[1024];
  if (!mkdtemp(folder)) abort();
  snprintf(path, sizeof path, "%s/kernel.c", folder);
  char *text = strdup(p->text);
  text = replaced(text, "extern \"C\" ", "");
  text = replaced(text, "extern __shared__ __align__(16) unsigned char near_bytes[];", "unsigned char *near_bytes = fake_near;");
  text = replaced(text, "asm volatile(\"mov.u32 %0, %%smid;\" : \"=r\"", "FAKE_PROCESSOR(");
  text = replaced(text, "asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"", "FAKE_TIME(");
  text = replaced(text, "asm volatile(", "FAKE_ASM(");
  FILE *file = fopen(path, "w");
  fprintf(file, "#define FAKE_BARRIERS %d\n#define FAKE_QUEUE %d\n#include \"%s\"\n#line 1 \"kernel.cu\"\n%s\n", strstr(text, "__syncthreads()") || strstr(text, "__shfl"), !strcmp(entry, QUEUE_ENTRY), getenv("FAKE_NVRTC_HEADER"), text);
  fprintf(file, "static void fake_call(void **p) { %s(", entry);
  for (int i = 0; i < count; i++) fprintf(file, "%s*(%s*)p[%d]", i ? ", " : "", types[i], i);
  fprintf(file, "); }\n");
  fclose(file);
  free(text);
  snprintf(command, sizeof command, "%s -std=gnu11 -O1 -w -shared -fPIC -fno-strict-aliasing -fwrapv -ffp-contract=off -fno-builtin-fma -fno-builtin-fmaf -o %s/kernel.so %s -lm 2> %s/log",
           getenv("FAKE_NVRTC_CC"), folder, path, folder);
  int failed = system(command);
  snprintf(path, sizeof path, "%s/%s", folder, failed ? "log" : "kernel.so");
  char *data = contents(path, bytes);
  if (failed) {
    int line = 0;
    char message[512] = "";
    char *at = strstr(data, "kernel.cu:"), *error = strstr(data, "error: ");
    if (at) sscanf(at, "kernel.cu:%d", &line);
    if (error) sscanf(error, "error: %511[^\n]", message);
    free(p->log);
    if (asprintf(&p->log, "kernel.cu(%d): error: %s\n\n1 error detected in the compilation of \"kernel.cu\".\n", line, message) < 0) abort();
    free(data);
    data = NULL;
  }
  snprintf(command, sizeof command, "rm -rf %s", folder);
  if (system(command)) abort();
  return data;
}

int nvrtcCompileProgram(Program *p, int count, const char **options) {
  int architecture = 0;
  compiled++;
  for (int i = 0; i < count; i++) {
    int number;
    if (sscanf(options[i], "--gpu-architecture=sm_%d", &number) == 1) architecture = number;
    if (sscanf(options[i], "--gpu-architecture=compute_%d", &number) == 1) architecture = number, p->ptx = 1;
  }
  if (!architecture) return INVALID_OPTION;
  if (delay_ms == 0 && getenv("FAKE_NVRTC_DELAY_MS")) delay_ms = atol(getenv("FAKE_NVRTC_DELAY_MS"));
  /* The real one replaces signal handlers like this while it compiles, and restores them without their flags. */
  static const int kept[] = { SIGINT, SIGTERM };
  void (*handlers[2])(int);
  for (int i = 0; i < 2; i++) handlers[i] = signal(kept[i], SIG_DFL);
  usleep(delay_ms * 1000);
  for (int i = 0; i < 2; i++) signal(kept[i], handlers[i]);
  if (fail_line) {
    free(p->log);
    if (asprintf(&p->log, "kernel.cu(%ld): warning #177-D: variable \"w\" was declared but never referenced\n\nkernel.cu(%ld): error: identifier \"nonsense\" is undefined\n\n1 error detected in the compilation of \"kernel.cu\".\n", fail_line - 1, fail_line) < 0) abort();
    return COMPILATION;
  }
  static _Thread_local char types[64][128];
  const char *entry = strstr(p->text, QUEUE_ENTRY) ? QUEUE_ENTRY : "millrace_range";
  int parameters_ = parameters(p->text, entry, types);
  unsigned words = 0;
  const char *launch = strstr(p->text, "struct Launch { u32 words[");
  if (launch) sscanf(launch, "struct Launch { u32 words[%u]", &words);
  Image image = { "", parameters_, (words ? words * 4 : 8) | (strcmp(entry, QUEUE_ENTRY) ? 0 : 0x80000000u), 0 };
  memcpy(image.magic, p->ptx ? "FAKE PTX" : "FAKECUBN", 8);
  char *library = NULL;
  if (getenv("FAKE_NVRTC_CC")) {
    size_t bytes = 0;
    library = compile(p, entry, types, parameters_, &bytes);
    if (!library) return COMPILATION;
    image.library_bytes = bytes;
  }
  p->image_bytes = sizeof image + image.library_bytes;
  p->image = malloc(p->image_bytes);
  memcpy(p->image, &image, sizeof image);
  if (library) memcpy(p->image + sizeof image, library, image.library_bytes);
  free(library);
  return OK;
}
int nvrtcGetProgramLogSize(Program *p, size_t *bytes) { *bytes = strlen(p->log) + 1; return OK; }
int nvrtcGetProgramLog(Program *p, char *out) { strcpy(out, p->log); return OK; }
int nvrtcGetCUBINSize(Program *p, size_t *bytes) { *bytes = p->ptx ? 0 : p->image_bytes; return OK; }
int nvrtcGetCUBIN(Program *p, char *out) { memcpy(out, p->image, p->image_bytes); return OK; }
int nvrtcGetPTXSize(Program *p, size_t *bytes) { *bytes = p->image_bytes; return OK; }
int nvrtcGetPTX(Program *p, char *out) { memcpy(out, p->image, p->image_bytes); return OK; }
