import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { controllerCommand } from "../commands/controller.ts";

/** What is printed of these arguments, which have to be refused. */
function refusal(...args: string[]): string {
  let printed = "";
  const command = controllerCommand()
    .exitOverride()
    .configureOutput({ writeErr: (text) => (printed += text) });
  assert.throws(() => command.parse(args, { from: "user" }), { exitCode: 2 });
  return printed;
}

test("a sidecar's flag is refused with what to write, with and without a value", () => {
  const rows: [string[], RegExp][] = [
    [["--http-endpoint=:8080"], /--http-endpoint is a flag of the sidecars\. use --metrics-listen/],
    [["--http-endpoint", ":8080"], /--metrics-listen/],
    [["--enable-capacity"], /GET_CAPACITY/],
    [["--workers=10"], /--worker-threads/],
    [["--csi-address=/a.sock", "--kube-api-qps=1000"], /fairness/],
    [["--tls-cert=/tls/tls.crt"], /--snapshot-metadata-tls-cert/],
    [["--capacity-ownerref-level=2"], /keep the sidecar/],
  ];
  for (const [args, message] of rows) assert.match(refusal(...args), message);
});

test("the page about the way from the sidecars has every flag that is refused, and help has none", async () => {
  const page = await readFile(new URL("../../../../docs/tasks/switch-over.md", import.meta.url), "utf8");
  const hidden = controllerCommand().options.filter((option) => option.hidden);
  assert.ok(hidden.length > 30);
  for (const { long } of hidden) assert.ok(page.includes(`\`${long}\``), long);
  const help = controllerCommand().helpInformation();
  assert.ok(!help.includes("--http-endpoint") && help.includes("--metrics-listen"));
});
