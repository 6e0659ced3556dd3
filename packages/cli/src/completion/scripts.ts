import { type Place, wordsOf } from "./places.ts";

/** In single quotes for a shell; what is quoted comes from our own program, and has no line breaks. */
const quoted = (text: string): string => `'${text.replaceAll("'", "’")}'`;

const belowRoot = (places: readonly Place[]): string =>
  places
    .slice(1)
    .map(({ path }) => `"${path}"`)
    .join("|");

/** A line of a `case`: the place, and what to do there. */
const cases = (places: readonly Place[], what: (completions: string) => string): string =>
  places.map((place) => `    "${place.path}") ${what(wordsOf(place).join(" "))} ;;`).join("\n");

function bash(places: readonly Place[]): string {
  return `# mooring for bash: eval "$(mooring completion bash)"
_mooring() {
  local at=mooring word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in
    ${belowRoot(places)}) at="$at $word" ;;
    esac
  done
  case "$at" in
${cases(places, (completions) => `COMPREPLY=($(compgen -W "${completions}" -- "\${COMP_WORDS[COMP_CWORD]}"))`)}
  esac
}
complete -o default -F _mooring mooring
`;
}

function zsh(places: readonly Place[]): string {
  return `#compdef mooring
# mooring for zsh: eval "$(mooring completion zsh)"
_mooring() {
  local at=mooring word
  for word in \${words[2,CURRENT-1]}; do
    case "$at $word" in
    ${belowRoot(places)}) at="$at $word" ;;
    esac
  done
  case "$at" in
${cases(places, (completions) => `compadd -- ${completions}`)}
  esac
  _files
}
compdef _mooring mooring
`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options }) => {
    const here = `complete -c mooring -n ${quoted(`__mooring_at "${path}"`)}`;
    return [
      ...commands.map(({ name, description }) => `${here} -f -a ${name} -d ${quoted(description)}`),
      ...options.map(({ flags, description, takesValue, choices }) => {
        const names = flags.map((flag) =>
          flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        );
        const values = choices.length === 0 ? "" : ` -f -a ${quoted(choices.join(" "))}`;
        return `${here} ${names.join(" ")}${takesValue ? " -r" : ""}${values} -d ${quoted(description)}`;
      }),
    ];
  });
  return `# mooring for fish: mooring completion fish | source
function __mooring_at
    set -l at mooring
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case ${places
              .slice(1)
              .map(({ path }) => quoted(path))
              .join(" ")}
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
${lines.join("\n")}
`;
}

/** By shell. */
export const COMPLETION_SCRIPTS: Readonly<
  Record<"bash" | "zsh" | "fish", (places: readonly Place[]) => string>
> = {
  bash,
  zsh,
  fish,
};
