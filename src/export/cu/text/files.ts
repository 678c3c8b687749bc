/** The course's files: the text formats, and reading and replacing files. */
export const files = String.raw`// A block to solve.
struct Block {
  unsigned char header[80];  // the last four bytes are the nonce
  u32 target[8];             // most significant word first
};

static void set_nonce(Block &block, u32 nonce) {
  for (int i = 0; i < 4; i++) block.header[76 + i] = static_cast<unsigned char>(nonce >> 8 * i);
}

// True if the header with this nonce hashes to a number strictly below the target. The hash is a little-endian number.
static bool is_valid(Block block, u32 nonce) {
  set_nonce(block, nonce);
  const Hash hash = double_sha256(block.header, sizeof block.header);
  for (int i = 0; i < 8; i++) {
    const unsigned char *bytes = &hash[28 - 4 * i];
    const u32 word = u32(bytes[3]) << 24 | u32(bytes[2]) << 16 | u32(bytes[1]) << 8 | u32(bytes[0]);
    if (word != block.target[i]) return word < block.target[i];
  }
  return false;
}

// Returns the root of a tree of hashes. On every level an odd node is paired with itself; a single leaf is the root.
static Hash merkle_root(std::vector<Hash> level) {
  while (level.size() > 1) {
    if (level.size() % 2 == 1) level.push_back(level.back());
    for (size_t i = 0; i < level.size(); i += 2) {
      unsigned char pair[64];
      std::copy(level[i].begin(), level[i].end(), pair);
      std::copy(level[i + 1].begin(), level[i + 1].end(), pair + 32);
      level[i / 2] = double_sha256(pair, sizeof pair);
    }
    level.resize(level.size() / 2);
  }
  return level[0];
}

// Sets the target of a compact value: the top byte is a length in bytes, the rest a signed mantissa. Returns why there is
// none, or an empty text.
static std::string set_target(u32 (&target)[8], u32 bits) {
  const int shift = 8 * (static_cast<int>(bits >> 24) - 3);
  const u64 mantissa = bits & 0x007fffff;
  std::fill(target, target + 8, 0u);
  bool fits = true, is_zero = true;
  for (int bit = 0; bit < 23; bit++) {
    const int place = bit + shift;
    if ((mantissa >> bit & 1) == 0 || place < 0) continue;
    is_zero = false;
    if (place < 256) target[7 - place / 32] |= 1u << place % 32;
    else fits = false;
  }
  if (is_zero) return "a target of zero, which no hash is below";
  if (bits & 0x00800000) return "a negative target";
  return fits ? "" : "a target of more than 256 bits";
}

// Reads a file line by line. Lines end in LF or CRLF. An error names the line, what is expected and what was found.
class LineReader {
 public:
  LineReader(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}

  // A decimal of at most ten digits, 1 or more.
  u64 number(const std::string &what) {
    const std::string expected = what + ", a decimal number, 1 or more", line = next(expected);
    const bool is_decimal = !line.empty() && line.size() <= 10 &&
                            line.find_first_not_of("0123456789") == std::string::npos;
    const u64 value = is_decimal ? std::stoull(line) : 0;
    if (value == 0) refuse(expected, quote(line));
    return value;
  }

  // The bytes of hex digits, from the last to the first: a header has them in the reverse of the order that people read.
  template <size_t size>
  std::array<unsigned char, size> bytes(const std::string &what) {
    const std::string expected = what + ", " + std::to_string(2 * size) + " hex digits", line = next(expected);
    if (line.size() != 2 * size || line.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
      refuse(expected, quote(line));
    std::array<unsigned char, size> value;
    for (size_t i = 0; i < size; i++)
      value[size - 1 - i] = static_cast<unsigned char>(std::stoul(line.substr(2 * i, 2), nullptr, 16));
    last_ = line;
    return value;
  }

  // Refuses the line that was read last.
  [[noreturn]] void refuse_value(const std::string &expected, const std::string &reason) {
    refuse(expected, quote(last_) + " (" + reason + ")");
  }

  void end() {
    if (at_ < text_.size()) refuse("the end of the file", quote(next("")));
  }

 private:
  std::string next(const std::string &expected) {
    line_++;
    if (at_ >= text_.size()) refuse(expected, "the end of the file");
    const size_t end = text_.find('\n', at_), stop = std::min(end, text_.size());
    std::string line = text_.substr(at_, stop - at_);
    at_ = stop + 1;
    if (end != std::string::npos && !line.empty() && line.back() == '\r') line.pop_back();
    return line;
  }

  // Shortens a line, and escapes it for a terminal.
  static std::string quote(const std::string &line) {
    if (line.empty()) return "an empty line";
    std::string shown;
    for (const unsigned char c : line.substr(0, 72)) {
      char code[8];
      std::snprintf(code, sizeof code, c < 0x20 || c > 0x7e ? "\\x%02x" : "%c", c);
      shown += code;
    }
    const std::string count = std::to_string(line.size()) + (line.size() == 1 ? " character" : " characters");
    return "\"" + shown + (line.size() > 72 ? "…" : "") + "\" (" + count + ")";
  }

  [[noreturn]] void refuse(const std::string &expected, const std::string &found) const {
    throw Failure{BAD_FILE, name_ + ", line " + std::to_string(line_) + ": expected " + expected + "; found " + found};
  }

  std::string name_, text_, last_;
  size_t at_ = 0, line_ = 0;
};

static Block parse_block(LineReader &lines, const std::string &which) {
  Block block = {};
  const auto put = [&block](size_t at, const auto &bytes) { std::copy(bytes.begin(), bytes.end(), block.header + at); };
  put(0, lines.bytes<4>("the version " + which));
  put(4, lines.bytes<32>("the previous hash " + which));
  put(68, lines.bytes<4>("the time " + which));
  const auto bits = lines.bytes<4>("the nbits " + which);
  put(72, bits);
  const std::array<unsigned char, 4> digits = {bits[3], bits[2], bits[1], bits[0]};
  const u32 value = load_word(digits.data());
  const std::string refusal = set_target(block.target, value);
  if (!refusal.empty()) {
    char shown[16];
    std::snprintf(shown, sizeof shown, "%08x", value);
    lines.refuse_value("the nbits " + which + ", a valid compact target", std::string("nbits ") + shown + " is " + refusal);
  }
  const u64 count = lines.number("the number of transactions " + which);
  std::vector<Hash> leaves;
  while (leaves.size() < count) {
    const std::string number = std::to_string(leaves.size() + 1) + " of " + std::to_string(count);
    leaves.push_back(lines.bytes<32>("transaction " + number + " " + which));
  }
  put(36, merkle_root(std::move(leaves)));
  return block;
}

static std::vector<Block> parse_blocks(const std::string &name, std::string text) {
  LineReader lines(name, std::move(text));
  const u64 count = lines.number("the number of blocks");
  std::vector<Block> blocks;
  while (blocks.size() < count) {
    const std::string number = std::to_string(blocks.size() + 1) + " of " + std::to_string(count);
    blocks.push_back(parse_block(lines, "of block " + number));
  }
  lines.end();
  return blocks;
}

// A nonce as its four bytes in the header: the number 0xb01fb2ed is edb21fb0.
static std::string nonce_text(u32 nonce) {
  char text[16];
  std::snprintf(text, sizeof text, "%02x%02x%02x%02x", nonce & 255, nonce >> 8 & 255, nonce >> 16 & 255, nonce >> 24);
  return text;
}

namespace fs = std::filesystem;

static Failure file_failure(const std::string &what, const fs::path &path, const std::string &why) {
  return {BAD_FILE, "cannot " + what + " " + path.string() + ": " + why};
}

static std::string read_file(const fs::path &path) {
  std::error_code error;
  if (fs::is_directory(path, error)) throw file_failure("read", path, "it is a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw file_failure("read", path, std::strerror(errno));
  return text;
}

// The output file. It is written under another name and then renamed, so that it is there as a whole or not at all.
// What is not a plain file (a pipe, /dev/null) is written in place.
class OutputFile {
 public:
  // Throws if the file cannot be written: before the search, not after it.
  explicit OutputFile(const fs::path &path) : path_(path) {
    std::error_code error;
    if (fs::exists(path, error)) path_ = fs::canonical(path);  // follows links
    if (fs::is_directory(path_, error)) throw file_failure("write", path, "it is a folder");
    is_plain_ = !fs::exists(path_, error) || fs::is_regular_file(path_, error);
    if (!is_plain_) return;
    part_ = path_;
    part_ += "." + std::to_string(std::random_device{}()) + ".part";
    write(part_, "");
    fs::remove(part_, error);
  }

  void replace(const std::string &text) const {
    if (!is_plain_) return write(path_, text);
    std::error_code error, ignored;
    try {
      write(part_, text);
      fs::rename(part_, path_, error);
      if (error) throw file_failure("write", path_, error.message());
    } catch (...) {
      fs::remove(part_, ignored);
      throw;
    }
  }

 private:
  void write(const fs::path &path, const std::string &text) const {
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw file_failure("write", path_, std::strerror(errno));
  }

  fs::path path_, part_;
  bool is_plain_ = true;
};`;
