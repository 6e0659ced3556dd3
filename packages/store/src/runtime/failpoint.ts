/**
 * A named gap between two externally visible steps. `MOORING_FAILPOINT=name` (or `name#3`: the third time it is
 * passed) ends the process there as `kill -9` would, so that tests can crash in every gap. Costs one comparison.
 *
 * Names are `<package>/<controller>/<step just done>`, for example `sidecars/provision/volume-created`. Every name
 * is registered when its module loads, so that a test can list all gaps there are.
 */
const armed = process.env["MOORING_FAILPOINT"];
const [armedName, armedCount = "1"] = armed === undefined ? [] : armed.split("#");
let remaining = Number(armedCount);

const names = new Set<string>();

/** Declares a gap once, at module level, and returns the function to call in it. */
export function failpoint(name: string): () => void {
  names.add(name);
  if (name !== armedName) return () => {};
  return () => {
    remaining -= 1;
    if (remaining === 0) process.kill(process.pid, "SIGKILL");
  };
}

/** All gaps of the modules loaded so far. */
export function failpointNames(): string[] {
  return [...names].sort();
}
