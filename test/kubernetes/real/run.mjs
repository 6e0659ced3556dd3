#!/usr/bin/env node
// `npm run test:kubernetes`: Mooring on a real Kubernetes. First an API server with RBAC, NodeRestriction and an audit log, the
// chart by helm, and both processes with their own rights; `--short` ends there. Then a cluster with a kubelet and pods.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundle } from "../../../scripts/lib/bundle.mjs";
import { apiServerStep } from "./api-server.mjs";
import { buildPrograms } from "./support/components.mjs";

const { values } = parseArgs({ options: { short: { type: "boolean", default: false } } });
const say = (text) => process.stdout.write(`${text}\n`);

async function step(name, run) {
  const from = Date.now();
  say(`\n=== ${name}`);
  await run();
  say(`=== ${name}: ${Math.round((Date.now() - from) / 1000)} s`);
}

await bundle();
const bin = await buildPrograms(["etcd", "kube-apiserver"], say);
const folder = await mkdtemp(join(tmpdir(), "mooring-kubernetes-"));
try {
  await step("API server", () => apiServerStep({ folder: join(folder, "api"), bin, say }));
} finally {
  if (process.env.MOORING_KEEP === undefined) await rm(folder, { recursive: true, force: true });
  else say(`kept: ${folder}`);
}
say(values.short ? "short: without a kubelet" : "");
