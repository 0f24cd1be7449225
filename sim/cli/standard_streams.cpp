#include "sim/cli/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "sim/reading/characters.h"

namespace gradrace {

namespace {

bool reader_has_gone(int descriptor) {
  pollfd pipe{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return ::poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0;
}

std::string lost_of(std::FILE* stream, const char* name) {
  errno = 0;
  const bool is_flushed = std::fflush(stream) == 0;
  const int error = errno;
  if (is_flushed && std::ferror(stream) == 0) return {};
  if (reader_has_gone(::fileno(stream))) return {};
  return std::string(name) + ": cannot be written" +
         (error == 0 ? "" : ": " + std::string(std::strerror(error)));
}

}  // namespace

void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest number that is free is given, which is this one.
    [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR);
  }
}

std::string lost_output() {
  const std::string lost = lost_of(stdout, "stdout");
  return lost.empty() ? lost_of(stderr, "stderr") : lost;
}

void tell_note(const std::string& note) {
  std::cerr << "gradrace: note: " << printable(note) << '\n';
}

std::optional<std::size_t> terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  if (size.ws_col == 0) return {};
  return size.ws_col;
}

std::string wrapped(std::string_view text, std::size_t from, std::size_t indent,
                    std::size_t width) {
  std::string lines;
  while (from + text.size() > width) {
    const std::size_t space = text.rfind(' ', width > from ? width - from : 0);
    if (space == std::string_view::npos || space == 0) break;
    lines.append(text.substr(0, space)).append(1, '\n').append(indent, ' ');
    text.remove_prefix(space);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    from = indent;
  }
  return lines.append(text) + '\n';
}

}  // namespace gradrace
