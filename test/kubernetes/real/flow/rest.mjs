// No process of Mooring has work to do that no event has asked for.
import { until } from "../support/program.mjs";

/** In each pod, which has a folder there; see packages/cli/src/process/serve-sleepers.ts. */
const SOCKET = "/tmp/sleepers";
const WORKLOADS = ["deployment/mooring-controller", "daemonset/mooring-node"];
const READ = `require("node:net").connect(${JSON.stringify(SOCKET)}).pipe(process.stdout)`;

/** Has them report that, from their next start on. */
export async function haveRestAsked(kube) {
  await kube.kubectl("-n", "mooring", "set", "env", ...WORKLOADS, `MOORING_SLEEPERS_SOCKET=${SOCKET}`);
}

export async function atRest(kube) {
  const names = await kube.kubectl(
    "-n",
    "mooring",
    "get",
    "pods",
    "-o",
    "jsonpath={.items[*].metadata.name}",
  );
  for (const pod of names.trim().split(/\s+/)) {
    // One that was killed a moment ago does not listen yet.
    const reported = await until(`${pod} to say what it has forgotten`, () =>
      kube.kubectl("-n", "mooring", "exec", pod, "--", "node", "-e", READ),
    );
    const sleepers = JSON.parse(reported);
    if (sleepers.length > 0) throw new Error(`${pod} sleeps: ${JSON.stringify(sleepers)}`);
  }
}
