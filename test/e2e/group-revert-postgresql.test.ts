import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { thorough } from "@mooring/store/testing";
import { postgresqlFolder } from "../group/support/postgresql.ts";
import { eventually } from "../support/eventually.ts";
import { world } from "../support/world.ts";

const example = (path: string) => fileURLToPath(new URL(`../../examples/${path}.yaml`, import.meta.url));
const skip =
  postgresqlFolder() === undefined ? "PostgreSQL is not installed: apt-get install postgresql" : false;

test("the example: PostgreSQL is wrecked, and both its claims go back in place to a group snapshot", {
  ...thorough(),
  ...(skip === false ? {} : { skip }),
}, async () => {
  const { up, kubectl, shows } = await world();
  const acknowledged = async (): Promise<number> => {
    const log = await kubectl.run("logs", "database", "-c", "load", "--tail=5");
    const lines = log.split("\n").filter((line) => /^\d+$/.test(line));
    return Number(lines.at(-1) ?? 0);
  };
  await kubectl.run("apply", "-f", example("group-postgresql/database"));
  await kubectl.run("wait", "--for=condition=Ready", "pod/database", "--timeout=120s");
  await eventually("100 orders", async () => (await acknowledged()) > 100);
  const before = await acknowledged();
  await kubectl.run("apply", "-f", example("group-postgresql/snapshot"));
  await shows(["volumegroupsnapshot", "noon"], "{.status.readyToUse}", "true");
  await kubectl.run("apply", "-f", example("group-revert-postgresql/accident"));
  await shows(["pod", "accident"], "{.status.phase}", "Succeeded");
  await kubectl.run("apply", "-f", example("group-revert-postgresql/revert"));
  await shows(["volumegrouprevert", "back"], "{.status.message}", /held by pod database, ticket csi-/);
  await kubectl.run("delete", "pod", "database", "accident");
  await kubectl.run("wait", "--for=condition=Complete", "volumegrouprevert/back", "--timeout=120s");
  await kubectl.run("apply", "-f", example("group-revert-postgresql/audit"));
  await shows(["pod", "database-back"], "{.status.containerStatuses[1].state.terminated.reason}", /./);
  const audit = await kubectl.run("logs", "database-back", "-c", "audit");
  const server = await kubectl.run("logs", "database-back", "-c", "server");
  assert.match(audit, /^balances equal: t\namcheck: clean$/m, audit + server);
  const last = Number(/^last order: (\d+)$/m.exec(audit)?.[1]);
  assert.ok(last >= before, `${before} was acknowledged, ${last} is the last`);
  await kubectl.run("delete", "pod", "database-back");
  for (const name of [
    "group-revert-postgresql/revert",
    "group-postgresql/snapshot",
    "group-postgresql/database",
  ])
    await kubectl.run("delete", "--ignore-not-found", "-f", example(name));
  assert.equal(await up.end("SIGTERM"), 0);
});
