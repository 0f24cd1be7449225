#include "sim/reading/no_text.h"

#include <tuple>
#include <utility>

namespace gradrace {

static NoText of_archive(std::string_view content, const std::string& file) {
  for (const auto& [inside, what] : {std::pair{"xl/", "is an Excel workbook"},
                                     {"opendocument.spreadsheet", "is a workbook of LibreOffice"}})
    if (content.find(inside) != std::string_view::npos)
      return {what, "the table saved as CSV in UTF-8"};
  if (content.find("/data.pkl") != std::string_view::npos)
    return {"is a file of PyTorch",
            "a table in CSV, as of pandas.DataFrame(torch.load(...)).to_csv(...)"};
  return {"is a ZIP archive", "what unzip " + file + " makes of it"};
}

/// Which UTF-16 it is by its first two letters, if they are of ASCII; else empty.
static std::string utf_16(std::string_view content) {
  if (content.starts_with("\xFF\xFE") || content.starts_with("\xFE\xFF")) return "UTF-16";
  if (content.size() < 4) return {};
  const auto is_zero = [&](std::size_t at) { return content[at] == '\0'; };
  if (!is_zero(0) && is_zero(1) && !is_zero(2) && is_zero(3)) return "UTF-16LE";
  return is_zero(0) && !is_zero(1) && is_zero(2) && !is_zero(3) ? "UTF-16BE" : "";
}

std::optional<NoText> no_text(std::string_view content, const std::string& file) {
  if (const std::string code = utf_16(content); !code.empty())
    return NoText{"is in " + code, "a file in UTF-8, as of iconv -f " + code + " -t UTF-8 " + file};
  if (content.starts_with("PK\x03\x04")) return of_archive(content, file);
  if (content.starts_with("\xD0\xCF\x11\xE0"))
    return NoText{"is an Excel workbook", "the table saved as CSV in UTF-8"};
  for (const auto& [magic, by, tool] : {std::tuple{"\x1F\x8B", "gzip", "gunzip"},
                                        {"\x28\xB5\x2F\xFD", "zstd", "unzstd"},
                                        {"\xFD"
                                         "7zXZ",
                                         "xz", "unxz"},
                                        {"BZh91AY&SY", "bzip2", "bunzip2"}})
    if (content.starts_with(magic))
      return NoText{std::string("is packed by ") + by,
                    std::string("what ") + tool + " -k " + file + " makes of it"};
  if (content.starts_with("PAR1") && content.find('\0') != content.npos)
    return NoText{"is a table in Parquet",
                  "a table in CSV, as of pandas.read_parquet(...).to_csv(...)"};
  for (const auto& [magic, what, call] :
       {std::tuple{"ARROW1", "is a table in Arrow (Feather)",
                   "pandas.read_feather(...).to_csv(...)"},
        {"\x89HDF", "is a file in HDF5", "pandas.read_hdf(...).to_csv(...)"},
        {"\x93NUMPY", "is an array of NumPy",
         "numpy.savetxt(..., numpy.load(...), delimiter=\",\")"}})
    if (content.starts_with(magic))
      return NoText{what, std::string("a table in CSV, as of ") + call};
  if (content.starts_with("MATLAB ") && content.find('\0') != content.npos)
    return NoText{"is a file of MATLAB", "a table in CSV, as of writematrix, or arrays in .npz"};
  if (content.size() > 262 && content.substr(257, 5) == "ustar")
    return NoText{"is an archive of tar", "a file that tar xf " + file + " makes of it"};
  if (content.size() > 1 && content[0] == '\x80' && content[1] >= 2 && content[1] <= 5)
    return NoText{"is a pickle of Python",
                  "a table in CSV, as of pandas.DataFrame(pandas.read_pickle(...)).to_csv(...)"};
  if (content.substr(0, 100).find("brain.Event:") != std::string_view::npos)
    return NoText{"has events of TensorBoard",
                  "the table in CSV that its page of scalars downloads"};
  if (content.starts_with('<'))
    return NoText{"is HTML or XML", "a table in CSV, as of pandas.read_html(...)[0].to_csv(...)"};
  if (content.starts_with("SQLite format 3"))
    return NoText{"is a database of SQLite",
                  "a table in CSV, as of sqlite3 -csv -header " + file + " \"SELECT ...\""};
  return {};
}

}  // namespace gradrace
