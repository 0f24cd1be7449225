"""Writes what shells complete: completions.py PROGRAM FOLDER makes gradrace.bash, _gradrace (zsh) and gradrace.fish there."""

import pathlib
import sys

from command_help import commands


def bash(known):
    cases = "\n".join(
        f'    {command.name}) options="{" ".join(option.flag for option in command.options)}" ;;'
        for command in known
    )
    choices = "\n".join(
        f'    "{command.name} {option.flag}") words="{" ".join(option.choices)}" ;;'
        for command in known
        for option in command.options
        if option.choices
    )
    return f"""# bash completion of gradrace
_gradrace() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} options= words=
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "{" ".join(command.name for command in known)} --help --version" -- "$current")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{choices}
  esac
  if [[ $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -F _gradrace gradrace
"""


def zsh_quoted(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_option(option):
    words = f"({' '.join(option.choices)})" if option.choices else "_files"
    value = f":{zsh_quoted(option.value)}:{words}" if option.value else ""
    return f"'*{option.flag}[{zsh_quoted(option.text)}]{value}'"


def zsh(known):
    described = "\n".join(
        f"    '{command.name}:{zsh_quoted(command.summary)}'" for command in known
    )
    cases = "\n".join(
        f"    {command.name}) _arguments {' '.join(zsh_option(option) for option in command.options)} '*:file:_files' ;;"
        for command in known
    )
    return f"""#compdef gradrace
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


def fish(known):
    lines = ["# fish completion of gradrace"]
    for command in known:
        lines.append(
            f"complete -c gradrace -n __fish_use_subcommand -f -a {command.name} -d {fish_quoted(command.summary)}"
        )
        for option in command.options:
            takes = " -r" if option.value else ""
            if option.choices:
                takes = f" -x -a {fish_quoted(' '.join(option.choices))}"
            lines.append(
                f"complete -c gradrace -n '__fish_seen_subcommand_from {command.name}' -l {option.flag[2:]}{takes}"
                f" -d {fish_quoted(option.text)}"
            )
    return "\n".join(lines) + "\n"


def main(program, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    known = commands(program)
    for name, text in (
        ("gradrace.bash", bash(known)),
        ("_gradrace", zsh(known)),
        ("gradrace.fish", fish(known)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
