import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerName } from "@mooring/sidecars";
import { Command } from "commander";
import {
  type NodeDeploymentFlags,
  nodeDeploymentSettings,
  withNodeDeploymentFlags,
} from "./node-deployment-options.ts";

type Beside = Parameters<typeof nodeDeploymentSettings>[1];

function parse(args: string[], beside: Partial<Beside> = {}) {
  const command = withNodeDeploymentFlags(new Command("controller")).exitOverride();
  command.configureOutput({ writeErr: () => {} });
  const flags = command.parse(args, { from: "user" }).opts<NodeDeploymentFlags>();
  return nodeDeploymentSettings(flags, { nodeName: "n1", leaderElection: false, ...beside });
}

test("without flags one control plane is for all nodes; with them each node has its own, with upstream's delays", () => {
  assert.deepEqual(parse([]), { distributedSnapshots: false });
  assert.deepEqual(parse(["--enable-distributed-snapshotting"]), { distributedSnapshots: true });
  assert.deepEqual(parse(["--node-deployment=true"]).nodeDeployment, {
    ...{ immediateBinding: true, baseDelayMs: 20_000, maxDelayMs: 60_000 },
  });
  const all = ["--node-deployment", "--node-deployment-immediate-binding=false"];
  const delays = ["--node-deployment-base-delay=1s", "--node-deployment-max-delay=4s"];
  assert.deepEqual(parse([...all, ...delays]).nodeDeployment, {
    ...{ immediateBinding: false, baseDelayMs: 1_000, maxDelayMs: 4_000 },
  });
});

test("what does not fit to a control plane for one node is refused, with what to do", () => {
  const refused: [Partial<Beside>, RegExp][] = [
    [{ engine: true }, /know the volumes of their own node/],
    [{ nodeName: undefined as unknown as string }, /none is named/],
    [{ leaderElection: true }, /would leave one/],
    [{ controllers: ["provision", "group-snapshot"] as ControllerName[] }, /^group-snapshot asks one driver/],
  ];
  for (const [beside, message] of refused)
    assert.throws(
      () => parse(["--node-deployment"], beside),
      (error: Error) => message.test(error.message),
    );
  assert.throws(() => parse(["--node-deployment", "--node-deployment-max-delay=1s"]), /is shorter than/);
  assert.doesNotThrow(() => parse([], { leaderElection: true, controllers: ["group-snapshot"] }));
});
