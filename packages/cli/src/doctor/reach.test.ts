import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { cannedApi, folderOf, kubeconfigOf } from "../testing/api.ts";
import { mooring } from "../testing/command.ts";
import type { Check } from "./check.ts";

async function doctor(...args: string[]) {
  const { code, stdout, stderr } = await mooring(["doctor", "--json", ...args]);
  assert.notEqual(stdout, "", stderr);
  return { code, checks: JSON.parse(stdout) as Check[] };
}

test("doctor: a server or a kubeconfig that was named and cannot be used is a failure", async (t) => {
  const folder = await folderOf(t);
  const nobody = join(folder, "nobody");
  await writeFile(nobody, kubeconfigOf("https://127.0.0.1:1"));
  const api = await cannedApi(t);
  api.response = () => ({ code: 404, body: {} });
  for (const [kubeconfig, expected, next] of [
    [nobody, /does not respond.*https:\/\/127\.0\.0\.1:1/, /./],
    [join(folder, "missing"), /missing/, /./],
    [api.kubeconfig, /does not have Mooring's kinds/, /deploy\/crds/],
  ] as const) {
    const { code, checks } = await doctor("--state-dir", folder, "--kubeconfig", kubeconfig);
    const found = checks.find(({ check }) => check === "API server");
    assert.equal(found?.state, "fail", JSON.stringify(checks));
    assert.match(found.detail, expected);
    assert.match(found.next ?? "", next);
    assert.equal(code, 1);
  }
});

test("doctor: a standalone server that is not there is a limit, not a failure", async (t) => {
  const folder = await folderOf(t);
  const empty = await doctor("--state-dir", folder);
  assert.equal(empty.checks.find(({ check }) => check === "state")?.state, "warn");
  await writeFile(join(folder, "kubeconfig"), kubeconfigOf("https://127.0.0.1:1"));
  const stopped = await doctor("--state-dir", folder);
  assert.equal(stopped.checks.find(({ check }) => check === "API server")?.state, "warn");
});

test("doctor: a check that fails is reported, and everything is read once", async (t) => {
  const folder = await folderOf(t);
  const api = await cannedApi(t);
  const args = ["--state-dir", folder, "--kubeconfig", api.kubeconfig];
  const whole = await doctor(...args);
  assert.deepEqual(
    whole.checks
      .filter(({ check }) => ["objects", "leaks", "API server"].includes(check))
      .map((c) => c.state),
    ["ok", "ok"],
  );
  assert.equal(api.requests.filter((line) => line === "GET /api/v1/nodes").length, 1);
  api.response = (request) =>
    request.includes("/persistentvolumes")
      ? { code: 403, body: { kind: "Status", reason: "Forbidden", message: "no volumes for eve", code: 403 } }
      : { code: 200, body: { metadata: {}, items: [] } };
  const { code, checks } = await doctor(...args);
  const found = checks.find(({ check }) => check === "objects");
  assert.deepEqual([found?.state, found?.detail, code], ["fail", "cannot be checked: no volumes for eve", 1]);
});
