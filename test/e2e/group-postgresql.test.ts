import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "@mooring/store/testing";
import { postgresqlFolder } from "../group/support/postgresql.ts";
import { world } from "../support/world.ts";

const example = (name: string) =>
  fileURLToPath(new URL(`../../examples/group-postgresql/${name}.yaml`, import.meta.url));
const skip =
  postgresqlFolder() === undefined ? "PostgreSQL is not installed: apt-get install postgresql" : false;

test("the example: PostgreSQL on two claims comes back from a group snapshot under load", {
  skip,
}, async () => {
  const { up, kubectl, shows } = await world({ poolSize: "8Gi" });
  const acknowledged = async (): Promise<number> => {
    const log = await kubectl.run("logs", "database", "-c", "load", "--tail=5");
    return Number(
      log
        .split("\n")
        .filter((line) => /^\d+$/.test(line))
        .at(-1) ?? 0,
    );
  };
  await kubectl.run("apply", "-f", example("database"));
  await kubectl.run("wait", "--for=condition=Ready", "pod/database", "--timeout=120s");
  await eventually("100 orders", async () => (await acknowledged()) > 100);
  const before = await acknowledged();
  await kubectl.run("apply", "-f", example("snapshot"));
  await shows(["volumegroupsnapshot", "noon"], "{.status.readyToUse}", "true");
  await kubectl.run("apply", "-f", example("restore"));
  await kubectl.run("wait", "--for=condition=Complete", "volumegrouprestore/again", "--timeout=60s");
  await kubectl.run("apply", "-f", example("second"));
  await shows(["pod", "database-again"], "{.status.containerStatuses[1].state.terminated.reason}", /./);
  const audit = await kubectl.run("logs", "database-again", "-c", "audit");
  const server = await kubectl.run("logs", "database-again", "-c", "server");
  assert.match(audit, /^balances equal: t\namcheck: clean$/m, audit + server);
  const last = Number(/^last order: (\d+)$/m.exec(audit)?.[1]);
  assert.ok(last >= before, `${before} was acknowledged, ${last} is the last`);
  assert.match(server, /redo done|redo is not required/, "it recovered as after a crash");
  await kubectl.run("delete", "pod", "database", "database-again");
  for (const name of ["restore", "snapshot", "database"])
    await kubectl.run("delete", "--ignore-not-found", "-f", example(name));
  await kubectl.run("delete", "pvc", "data-again", "wal-again");
  assert.equal(await up.end("SIGTERM"), 0);
});
