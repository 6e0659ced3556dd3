import { appendFileSync } from "node:fs";

/**
 * A named place between two externally visible steps. `MOORING_FAILPOINT=name` (or `name#3`: the third time it is
 * passed) ends the process there as `kill -9` would, so that tests can crash between any two steps. With
 * `MOORING_FAILPOINTS_PASSED=file` each one's name is added to the file the first time it is passed, one a line. Costs one
 * comparison.
 *
 * Names are `<package>/<controller>/<step just done>`, for example `sidecars/provision/volume-created`. Every name
 * is registered when its module loads, so that a test can list all failpoints there are.
 */
const names = new Set<string>();

/** Called with each failpoint that is passed; absent where no test lists them. */
let passing = killAt(process.env["MOORING_FAILPOINT"]) ?? listInto(process.env["MOORING_FAILPOINTS_PASSED"]);

/** Declares a failpoint once, at module level, and returns the function to call there. */
export function failpoint(name: string): () => void {
  names.add(name);
  return () => passing?.(name);
}

/** All failpoints of the modules loaded so far. */
export function failpointNames(): string[] {
  return [...names].sort();
}

/**
 * From here on `spec` (as in `MOORING_FAILPOINT`) ends the process, counted from now; without one, nothing does. Returns the
 * failpoints that are passed, as they are. For programs of tests whose crash has to come late in their life.
 */
export function armFailpoint(spec: string | undefined): string[] {
  const kill = killAt(spec);
  const passed: string[] = [];
  passing = (name) => {
    passed.push(name);
    kill?.(name);
  };
  return passed;
}

function killAt(spec: string | undefined): ((name: string) => void) | undefined {
  if (spec === undefined) return undefined;
  const [armed, count = "1"] = spec.split("#");
  let remaining = Number(count);
  return (name) => {
    if (name !== armed) return;
    remaining -= 1;
    if (remaining === 0) process.kill(process.pid, "SIGKILL");
  };
}

function listInto(file: string | undefined): ((name: string) => void) | undefined {
  if (file === undefined) return undefined;
  const listed = new Set<string>();
  return (name) => {
    if (listed.has(name)) return;
    listed.add(name);
    appendFileSync(file, `${name}\n`);
  };
}
