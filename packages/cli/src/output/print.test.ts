import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { MOORING_API_VERSION } from "@mooring/engine";
import { everyday, thorough } from "@mooring/store/testing";
import { parse } from "yaml";
import { cannedApi, folderOf } from "../testing/api.ts";
import { mooring } from "../testing/command.ts";

const VOLUME = {
  apiVersion: MOORING_API_VERSION,
  kind: "Volume",
  metadata: { name: "v-p-1", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { size: 1024, pool: "p", volumeMode: "Filesystem", fsType: "xfs", accessMode: "rwo" },
  status: { state: "attached", robustness: "healthy", currentNodeID: "n", device: "/dev/loop7" },
};

test(
  "-o: JSON and YAML are the same data, and wide is the table with more columns",
  everyday(),
  async (t) => {
    const api = await cannedApi(t);
    api.response = () => ({ code: 200, body: { metadata: {}, items: [VOLUME] } });
    const list = async (...args: string[]) => {
      const { code, stdout, stderr } = await mooring([
        "volume",
        "list",
        "--kubeconfig",
        api.kubeconfig,
        ...args,
      ]);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const [json, short, yaml] = [await list("-o", "json"), await list("--json"), await list("-o", "yaml")];
    assert.equal(short, json);
    assert.deepEqual(parse(yaml), JSON.parse(json));
    const [plain = "", row = ""] = (await list()).split("\n");
    const [header = "", wide = ""] = (await list("-o", "wide")).split("\n");
    assert.ok(header.startsWith(plain) && wide.startsWith(row));
    for (const column of ["CONTENT", "HEALTH", "DEVICE"])
      assert.ok(!plain.includes(column) && header.includes(column));
    for (const cell of ["xfs", "healthy", "/dev/loop7"])
      assert.ok(!row.includes(cell) && wide.includes(cell));
  },
);

test("-o: what a command does not print is refused, with what it does", thorough(), async () => {
  for (const [args, reason] of [
    [["version", "-o", "wide"], /Allowed choices are json, yaml/],
    [["volume", "list", "-o", "xml"], /Allowed choices are json, yaml, wide/],
    [["version", "-o", "yaml", "--json"], /cannot be used with option/],
  ] as const) {
    const { code, stderr } = await mooring([...args]);
    assert.equal(code, 2);
    assert.match(stderr, reason);
  }
});

test("colors: on a terminal only, and not where NO_COLOR is set", everyday(), async (t) => {
  const folder = await folderOf(t);
  const sequence = "\u001b[";
  assert.ok(!(await mooring(["doctor", "--state-dir", folder])).stdout.includes(sequence));
  assert.ok((await onTerminal(folder, { CI: "true" })).includes(sequence));
  assert.ok(!(await onTerminal(folder, { NO_COLOR: "1" })).includes(sequence));
});

/** What `mooring doctor` writes to a terminal. */
async function onTerminal(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const program = fileURLToPath(new URL("../../../../mooring", import.meta.url));
  const line = `'${program}' doctor --state-dir '${folder}'`;
  const { stdout } = await promisify(execFile)("script", ["-qec", line, "/dev/null"], {
    env: { ...process.env, NO_COLOR: undefined, TERM: "xterm", ...env },
  }).catch((error: { stdout: string }) => error);
  return stdout;
}
