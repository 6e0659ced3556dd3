import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually } from "@mooring/store/testing";
import { kubectlPaths } from "../../scripts/kubectl.mjs";
import { postgresqlFolder } from "../group/support/postgresql.ts";
import { world } from "../support/world.ts";

const CHART = fileURLToPath(new URL("../../examples/postgresql-chart", import.meta.url));
const execute = promisify(execFile);
const skip =
  postgresqlFolder() === undefined ? "PostgreSQL is not installed: apt-get install postgresql" : false;

test("the example: a chart of PostgreSQL is installed, upgraded, grown, dumped, killed, scaled and taken out, and keeps its rows", {
  skip,
}, async () => {
  const { up, kubectl, shows, gone } = await world({ poolSize: "8Gi" });
  const { helm: program } = await kubectlPaths();
  const helm = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, HELM_CACHE_HOME: up.stateDir, HELM_DATA_HOME: up.stateDir };
    const { stdout } = await execute(program, ["--kubeconfig", up.kubeconfig, ...args], { env });
    return stdout;
  };
  const sql = async (statement: string): Promise<string> => {
    const psql = ["psql", "-qAtX", "-h", "/socket", "-U", "postgres", "-c", statement];
    return (await kubectl.run("exec", "db-0", "-c", "server", "--", ...psql)).trim();
  };
  const ready = () => kubectl.run("rollout", "status", "statefulset/db", "--timeout=120s");
  const rows = async () => Number(await sql("SELECT count(*) FROM notes"));

  await helm("install", "db", CHART, "--wait", "--timeout", "120s");
  await sql("CREATE TABLE notes (n serial PRIMARY KEY)");
  await sql("INSERT INTO notes SELECT FROM generate_series(1, 1000)");

  await helm("upgrade", "db", CHART, "--set", "size=1536Mi", "--set", "settings.work_mem=8MB");
  await ready();
  assert.equal(await sql("SHOW work_mem"), "8MB");
  await shows(["pvc", "data-db-0"], "{.status.capacity.storage}", "1536Mi");
  assert.equal(await rows(), 1000);

  await kubectl.run("create", "job", "--from=cronjob/db-dump", "dump-now");
  await kubectl.run("wait", "--for=condition=complete", "job/dump-now", "--timeout=120s");
  assert.ok(Number(await kubectl.run("logs", "job/dump-now", "-c", "dump")) > 1000, "the dump has the rows");

  // In the middle of a rollout, with acknowledged rows of a moment ago.
  await sql("INSERT INTO notes DEFAULT VALUES");
  await kubectl.run("rollout", "restart", "statefulset/db");
  await up.end("SIGKILL");
  await up.start();
  await ready();
  assert.equal(await rows(), 1001);

  await kubectl.run("scale", "statefulset/db", "--replicas=0");
  await gone("pod", "db-0");
  await kubectl.run("scale", "statefulset/db", "--replicas=1");
  await ready();
  assert.equal(await rows(), 1001);

  await helm("rollback", "db", "1").then(
    () => assert.fail("a claim template does not shrink"),
    (error: Error) => assert.match(error.message, /may not get smaller: .* no volume ever shrinks/),
  );
  await helm("uninstall", "db", "--wait", "--timeout", "120s");
  await helm("install", "db", CHART, "--set", "size=1536Mi", "--wait", "--timeout", "120s");
  await ready();
  assert.equal(await rows(), 1001, "the claim has outlived the release");

  await helm("uninstall", "db", "--wait", "--timeout", "120s");
  await kubectl.run("delete", "job,pvc", "--all", "--timeout=120s");
  await eventually("nothing is left", async () => (await kubectl.run("get", "pv", "-o", "name")) === "");
  assert.equal(await up.end("SIGTERM"), 0);
});
