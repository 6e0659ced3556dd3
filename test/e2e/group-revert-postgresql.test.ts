import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually, thorough } from "@mooring/store/testing";
import { postgresqlFolder } from "../group/support/postgresql.ts";
import { world } from "../support/world.ts";

const example = (path: string) => fileURLToPath(new URL(`../../examples/${path}.yaml`, import.meta.url));
const skip =
  postgresqlFolder() === undefined ? "PostgreSQL is not installed: apt-get install postgresql" : false;

test("the example: PostgreSQL is wrecked, and both its claims go back in place to a group snapshot", {
  ...thorough(),
  ...(skip === false ? {} : { skip }),
}, async () => {
  const { up, kubectl, shows } = await world();
  const wait = (object: string, what: string) =>
    kubectl.run("wait", object, `--for=${what}`, "--timeout=120s");
  const acknowledged = async (): Promise<number> => {
    const log = await kubectl.run("logs", "database", "-c", "load", "--tail=5");
    const lines = log.split("\n").filter((line) => /^\d+$/.test(line));
    return Number(lines.at(-1) ?? 0);
  };
  await kubectl.run("apply", "-f", example("group-postgresql/database"));
  await wait("pod/database", "condition=Ready");
  await eventually("100 orders", async () => (await acknowledged()) > 100);
  const before = await acknowledged();
  await kubectl.run("apply", "-f", example("group-postgresql/snapshot"));
  await wait("volumegroupsnapshot/noon", "jsonpath={.status.readyToUse}=true");
  await kubectl.run("apply", "-f", example("group-revert-postgresql/accident"));
  await wait("pod/accident", "jsonpath={.status.phase}=Succeeded");
  const wreck = await kubectl.run("logs", "accident");
  assert.match(wreck, /^PG_VERSION$/m);
  assert.doesNotMatch(wreck, /^base$|^[0-9A-F]{24}$/m, "tables and write-ahead log are gone");
  await kubectl.run("apply", "-f", example("group-revert-postgresql/revert"));
  await shows(["volumegrouprevert", "back"], "{.status.message}", /held by pod database, ticket csi-/);
  await kubectl.run("delete", "pod", "database", "accident");
  await wait("volumegrouprevert/back", "condition=Complete");
  await kubectl.run("apply", "-f", example("group-revert-postgresql/audit"));
  const ofAudit = '{.status.containerStatuses[?(@.name=="audit")].state.terminated.reason}';
  await wait("pod/database-back", `jsonpath=${ofAudit}=Completed`);
  const audit = await kubectl.run("logs", "database-back", "-c", "audit");
  const server = await kubectl.run("logs", "database-back", "-c", "server");
  assert.match(audit, /^balances equal: t\namcheck: clean$/m, audit + server);
  const last = Number(/^last order: (\d+)$/m.exec(audit)?.[1]);
  assert.match(server, /redo done|redo is not required/, "it recovered as after a crash");
  assert.ok(last >= before, `${before} was acknowledged, ${last} is the last`);
  const made = ["group-revert-postgresql/audit", "group-revert-postgresql/revert"].concat([
    "group-postgresql/snapshot",
    "group-postgresql/database",
  ]);
  await kubectl.run("delete", "--ignore-not-found", ...made.flatMap((name) => ["-f", example(name)]));
  assert.equal(await up.end("SIGTERM"), 0);
});
