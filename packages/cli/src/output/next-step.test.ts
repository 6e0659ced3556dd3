import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { everyday, thorough } from "@mooring/store/testing";
import { cannedApi } from "../testing/api.ts";
import { mooring } from "../testing/command.ts";
import { describeError } from "./report-error.ts";

const MOORING = fileURLToPath(new URL("../../../../dist/mooring.mjs", import.meta.url));

test("a wrong option is one clear line, and where the help is", thorough(), async () => {
  for (const [args, path] of [
    [["volume", "attach", "v", "--nod", "a"], "mooring volume attach"],
    [["group", "snapshot", "create", "--nonsense"], "mooring group snapshot create"],
    [["--nonsense"], "mooring"],
  ] as const) {
    const { code, stderr } = await mooring(args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^error: /);
    assert.ok(stderr.endsWith(`(see ${path} --help)\n`), stderr);
    assert.ok(stderr.split("\n").length <= 4, stderr);
  }
});

test("a selector is shown as a shell takes it", thorough(), async () => {
  const { stderr } = await mooring(["group", "snapshot", "create", "s", "-l", "app in"]);
  assert.match(stderr, /next: .*--selector 'app=db,tier in \(a,b\)'/);
});

test("why names where to search for what is not there", everyday(), async (t) => {
  const api = await cannedApi(t);
  const status = {
    kind: "Status",
    reason: "NotFound",
    message: "gone",
    details: { name: "none" },
    code: 404,
  };
  api.response = () => ({ code: 404, body: status });
  for (const [kind, next] of [
    ["volume", "mooring volume list"],
    ["snapshot", "kubectl get snapshots.storage.mooring.dev"],
    ["groupsnapshot", "kubectl get groupsnapshots.storage.mooring.dev"],
  ] as const) {
    const { code, stdout } = await mooring(["why", `${kind}/none`, "--kubeconfig", api.kubeconfig]);
    assert.equal(code, 1);
    assert.match(stdout, new RegExp(`does not exist\\n\\nnext: ${next}\\n`));
  }
});

test("what nobody foresaw is asked to be reported", everyday(), () => {
  for (const error of [new TypeError("x is not a function"), "a text"]) {
    const { exitCode, next = "" } = describeError(error);
    assert.equal(exitCode, 70);
    assert.match(next, /report it/);
  }
});

test("a reader that has gone is no failure of a command", everyday(), async (t) => {
  const api = await cannedApi(t);
  const child = spawn(process.execPath, [MOORING, "volume", "list", "--kubeconfig", api.kubeconfig], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  let stderr = "";
  child.stderr.on("data", (data: Buffer) => {
    stderr += data.toString();
  });
  const [code] = await once(child, "close");
  assert.equal(code, 0, stderr);
  assert.equal(stderr, "");
});
