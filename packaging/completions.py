"""Writes what shells complete: completions.py PROGRAM FOLDER makes gradrace.bash, _gradrace (zsh) and gradrace.fish there."""

import pathlib
import sys

from command_help import commands, names_of


def bash_value(option):
    """What completes the word after it."""
    if option.choices:
        return f'kind=words words="{" ".join(option.choices)}"'
    return f"kind={option.kind or 'none'}"


def bash(known, names):
    cases = "\n".join(
        f'    {command.name}) kind={command.kind or "none"} options="{" ".join(option.flag for option in command.options)}" ;;'
        for command in known
    )
    values = "\n".join(
        f'    "{command.name} {option.flag}") options= {bash_value(option)} ;;'
        for command in known
        for option in command.options
        if option.value
    )
    named = "\n".join(f'    {kind}) words="{" ".join(those)}" ;;' for kind, those in names.items())
    return f"""# bash completion of gradrace
_gradrace() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} kind=none options= words=
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "{" ".join(command.name for command in known)} --help --version" -- "$current")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{values}
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    return
  fi
  case $kind in
{named}
  esac
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$current"
    case $kind in
      folder) compgen -d -- "$current" ;;
      file) compgen -f -- "$current" ;;
      scenario) compgen -f -X '!*.json' -- "$current"; compgen -d -- "$current" ;;
    esac
  )
  if [[ $kind == folder || $kind == file || $kind == scenario ]]; then compopt -o filenames; fi
}}
complete -F _gradrace gradrace
"""


def zsh_quoted(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


ZSH = {"": " ", "folder": "_files -/", "file": "_files"}  # by kind; a function completes the others


def zsh_action(kind):
    return ZSH.get(kind, f"_gradrace_{kind}")


def zsh_option(option):
    words = f"({' '.join(option.choices)})" if option.choices else zsh_action(option.kind)
    value = f":{zsh_quoted(option.value)}:{words}" if option.value else ""
    return f"'*{option.flag}[{zsh_quoted(option.text)}]{value}'"


def zsh_case(command):
    options = " ".join(zsh_option(option) for option in command.options)
    operands = f" '*:{command.kind}:{zsh_action(command.kind)}'" if command.kind else ""
    return f"    {command.name}) _arguments {options}{operands} ;;"


def zsh(known, names):
    described = "\n".join(
        f"    '{command.name}:{zsh_quoted(command.summary)}'" for command in known
    )
    cases = "\n".join(map(zsh_case, known))
    files = {"scenario": " 'files:file:_files -g \"*.json(-.)\"'"}
    functions = "\n".join(
        f"_gradrace_{kind}() {{ _alternative 'names:{kind}:({' '.join(those)})'{files.get(kind, '')} }}"
        for kind, those in names.items()
    )
    return f"""#compdef gradrace
{functions}
_gradrace() {{
  local -a known=(
{described}
  )
  if ((CURRENT == 2)); then
    _describe command known
    return
  fi
  local command=${{words[2]}}
  shift words
  ((CURRENT--))
  case $command in
{cases}
  esac
}}
_gradrace "$@"
"""


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


FOLDERS = "'(__fish_complete_directories)'"


def fish_words(kind, names):
    """What else is said of what has that kind: whether files are proposed, and which words."""
    if kind == "folder":
        return f" -f -a {FOLDERS}"
    if kind in names:
        return ("" if kind == "scenario" else " -f") + f" -a {fish_quoted(' '.join(names[kind]))}"
    return "" if kind == "file" else " -f"


def fish_value(option, names):
    if not option.value:
        return ""
    if option.choices:
        return f" -x -a {fish_quoted(' '.join(option.choices))}"
    return " -r" + fish_words(option.kind, names)


def fish(known, names):
    lines = ["# fish completion of gradrace"]
    for command in known:
        lines.append(
            f"complete -c gradrace -n __fish_use_subcommand -f -a {command.name} -d {fish_quoted(command.summary)}"
        )
        begin = f"complete -c gradrace -n '__fish_seen_subcommand_from {command.name}'"
        lines.append(begin + fish_words(command.kind, names))
        for option in command.options:
            lines.append(
                f"{begin} -l {option.flag[2:]}{fish_value(option, names)} -d {fish_quoted(option.text)}"
            )
    return "\n".join(lines) + "\n"


def main(program, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    known, names = commands(program), names_of(program)
    for name, text in (
        ("gradrace.bash", bash(known, names)),
        ("_gradrace", zsh(known, names)),
        ("gradrace.fish", fish(known, names)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
