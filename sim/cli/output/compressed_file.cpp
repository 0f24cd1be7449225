#include "sim/cli/output/compressed_file.h"

#include <zlib.h>
#include <zstd.h>

#include <array>
#include <new>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "sim/cli/output/disk.h"

namespace gradrace {

namespace {

constexpr std::size_t part_size = 1 << 18;

class Gzip final : public StreamCompressor {
 public:
  Gzip() {
    constexpr int level = 6, largest_window = 15, with_gzip_header = 16, memory = 8;
    if (deflateInit2(&stream_, level, Z_DEFLATED, largest_window + with_gzip_header, memory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Gzip() override { deflateEnd(&stream_); }

  void write(std::string_view part, bool is_last, std::ostream& out) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream_.avail_in = static_cast<uInt>(part.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(ready_.data());
      stream_.avail_out = static_cast<uInt>(ready_.size());
      deflate(&stream_, is_last ? Z_FINISH : Z_NO_FLUSH);
      out.write(ready_.data(), static_cast<std::streamsize>(ready_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_{};
  std::array<char, 1 << 16> ready_;
};

class Zstd final : public StreamCompressor {
 public:
  Zstd() {
    if (!context_) throw std::bad_alloc();
    constexpr int level = 3;
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void write(std::string_view part, bool is_last, std::ostream& out) override {
    ZSTD_inBuffer in{part.data(), part.size(), 0};
    std::size_t left = 0;
    do {
      ZSTD_outBuffer ready{ready_.data(), ready_.size(), 0};
      left =
          ZSTD_compressStream2(context_.get(), &ready, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left))
        throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(left));
      out.write(ready_.data(), static_cast<std::streamsize>(ready.pos));
    } while (is_last ? left > 0 : in.pos < in.size);
  }

 private:
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_{ZSTD_createCCtx(), ZSTD_freeCCtx};
  std::array<char, 1 << 16> ready_;
};

std::unique_ptr<StreamCompressor> make_compressor(Compression compression) {
  if (compression == Compression::gzip) return std::make_unique<Gzip>();
  if (compression == Compression::zstd) return std::make_unique<Zstd>();
  return nullptr;
}

}  // namespace

std::string_view ending_of(Compression compression) {
  constexpr std::string_view endings[] = {"", ".gz", ".zst"};
  return endings[static_cast<std::size_t>(compression)];
}

std::size_t compressed_size(std::string_view text, Compression compression) {
  const auto compressor = make_compressor(compression);
  if (!compressor) return text.size();
  std::ostringstream compressed;
  compressor->write(text, true, compressed);
  return compressed.view().size();
}

CompressedFile::CompressedFile(std::filesystem::path path, Compression compression)
    : path_(std::move(path)),
      stream_(path_, std::ios::binary),
      compressor_(make_compressor(compression)) {}

void CompressedFile::check() const {
  if (!stream_.good()) fail_on_disk(path_, "written");
}

void CompressedFile::append(std::string_view text) {
  if (!compressor_) {
    stream_ << text;
    return check();
  }
  while (waiting_.size() + text.size() >= part_size) {
    const std::size_t taken = part_size - waiting_.size();
    waiting_ += text.substr(0, taken);
    text.remove_prefix(taken);
    compressor_->write(waiting_, false, stream_);
    waiting_.clear();
  }
  waiting_ += text;
  check();
}

void CompressedFile::close() {
  if (compressor_) compressor_->write(waiting_, true, stream_);
  stream_.close();
  check();
}

}  // namespace gradrace
