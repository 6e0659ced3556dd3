/** One line to the operator at the terminal; set-up talks on stderr so that `--json` output stays clean. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/** Ends the script with a message that names what failed and the exact next step. */
export function stop(problem, nextStep) {
  say(`\n  ${problem}`);
  if (nextStep !== undefined) say(`  Next: ${nextStep}`);
  process.exit(2);
}
