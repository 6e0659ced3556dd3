const OPTIONS = `
  --changed[=REF]    only those that what differs from REF can reach (default: from the branch that it will land on)
  --part=PART        everyday: those of \`npm test\`; rest: what that leaves to \`npm run test:rest\`; all: both
  --jobs=N           as many files side by side as N processors can do
  --in-turn          of the rest every second file that has no turn of its own, the others tomorrow
  --spare-until=S    files of another day as well, as long as these seconds since 1970 are not over
  --record           write docs/conformance-results.json
  --keep-times       write scripts/lib/tests/times.json, by which a new clone begins its longest files first
  --show             show what every file prints, not only what failed
  --help             this

Everything else that begins with \`--\` goes to node, such as --test-name-pattern='...'.
MOORING_DEEP=1 makes the long forms of all tests: see docs/reference/long-runs.md.
`;

/** Prints what `command` takes, and ends, when that is what it is asked for: before anything is installed or built. */
export function helpIfAsked(command, args) {
  if (!args.includes("--help") && !args.includes("-h")) return;
  const between = command.startsWith("npm") ? " --" : "";
  process.stdout.write(`${command}${between} [OPTION]... [FILE|FOLDER]...

Runs the tests below the files and folders, as they are in the sources; without any, all of packages/, test/ and examples/.
${OPTIONS}`);
  process.exit(0);
}
