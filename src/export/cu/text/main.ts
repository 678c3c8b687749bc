/** The GPU and its properties. */
export const gpu = `// The first GPU that CUDA lists. CUDA_VISIBLE_DEVICES chooses another one.
struct Gpu {
  Gpu() {
    CUDA(cudaSetDevice(0));
    cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, 0));
    name = properties.name;
    processors = attribute(cudaDevAttrMultiProcessorCount);
    limits_run_time = attribute(cudaDevAttrKernelExecTimeout) != 0;
    int blocks = 0;
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, search_nonces, THREADS, 0));
    resident_blocks = static_cast<u32>(blocks) * processors;
  }

  std::string name;
  u32 processors;
  u32 resident_blocks;   // thread blocks of the kernel that the GPU holds at a time
  bool limits_run_time;  // a display: launches that take some seconds are ended

 private:
  static u32 attribute(cudaDeviceAttr which) {
    int value = 0;
    CUDA(cudaDeviceGetAttribute(&value, which, 0));
    return static_cast<u32>(value);
  }
};`;

/** The entry point of the program. */
export const main = String.raw`// Solves the blocks of a file. Returns the exit status.
static int run(const fs::path &in, const fs::path &out) {
  const std::vector<Block> blocks = parse_blocks(in.string(), read_file(in));
  std::error_code error;
  if (fs::equivalent(in, out, error)) throw Failure{BAD_USAGE, "IN and OUT are the same file"};
  const OutputFile output(out);

  const Gpu gpu;
  std::vector<Search> searches;
  searches.reserve(blocks.size());
  for (const Block &block : blocks) searches.emplace_back(block, searches.size());
  const Total total = solve(searches, gpu);

  std::string text = std::to_string(blocks.size()) + "\n";
  size_t solved = 0;
  for (const Search &search : searches) {
    const bool has_nonce = search.best() < NONCES;
    text += nonce_text(has_nonce ? static_cast<u32>(search.best()) : 0) + "\n";
    solved += has_nonce;
  }
  output.replace(text);
  std::fprintf(stderr, "%zu of %zu blocks solved on %s: %llu nonces in %.3f s, %.3f GH/s\n", solved, blocks.size(),
               gpu.name.c_str(), total.nonces, total.seconds, static_cast<double>(total.nonces) / total.seconds / 1e9);
  return solved == blocks.size() ? 0 : NO_NONCE;
}

int main(int count, char **arguments) {
  try {
    if (count != 3) throw Failure{BAD_USAGE, "usage: block IN OUT"};
    return run(arguments[1], arguments[2]);
  } catch (const Failure &failure) {
    std::fprintf(stderr, "error: %s\n", failure.text.c_str());
    return failure.status;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return INTERNAL;
  }
}`;
