// The commands of docs/tasks/kubernetes.md, word by word and in their order, in a cluster that has nothing of Mooring: from the image
// to a restored group, then an upgrade and back, and the way out.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../../../scripts/lib/setup.mjs";
import { nothingOfMooring, nothingOfVolumes } from "./leave.mjs";
import { claim, pod } from "./objects.mjs";

const execute = promisify(execFile);
const COMMANDS = 10;

/** Blocks of a language below a heading, up to the next one. */
async function readPage() {
  const page = await readFile(join(ROOT, "docs/tasks/kubernetes.md"), "utf8");
  return (heading, language) => {
    const [, after] = page.split(`\n## ${heading}\n`);
    const [section] = after.split("\n## ");
    return [...section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map(
      ([, text]) => text,
    );
  };
}

const commandsOf = (block) =>
  block
    .split("\n")
    .filter((line) => line.startsWith("$ "))
    .map((line) => line.slice(2));

/** "any pod with claims of the class `mooring` that share a label" */
const DATABASE = [
  claim("data", "300Mi"),
  claim("log", "300Mi"),
  pod("database", {
    mounts: { "/data": "data", "/log": "log" },
    run: "echo kept | tee /data/file /log/file && sync && exec sleep 1000000000",
  }),
];
const READER = pod("reader", { mounts: { "/data": "data-again", "/log": "log-again" } });

/** A checkout in which somebody has written these manifests; returns what runs a line there. */
async function checkout(kube, manifests) {
  const folder = join(kube.cluster.folder, "page");
  await mkdir(folder);
  for (const name of ["deploy", "dist", "scripts"]) await symlink(join(ROOT, name), join(folder, name));
  for (const [name, text] of Object.entries(manifests)) await writeFile(join(folder, `${name}.yaml`), text);
  const env = { ...process.env, KUBECONFIG: kube.cluster.admin, HOME: folder };
  // Whoever runs this is root, and sudo need not be there.
  const line = (command) => `sudo() { "$@"; }\n${command}`;
  return async (command) => {
    const { stdout } = await execute("sh", ["-c", line(command)], { cwd: folder, env, maxBuffer: 64 << 20 });
    return stdout;
  };
}

/** `socket`: of the machine's containerd. */
export async function page(kube, socket) {
  const blocks = await readPage();
  const [way] = blocks("From a cluster to a restored group", "console").map(commandsOf);
  const [objects] = blocks("From a cluster to a restored group", "yaml");
  const [upgrade, back, leave] = blocks("Upgrade, and the way out", "console").map(commandsOf);
  assert.equal(way.length, COMMANDS, "the page promises that many");
  const [noon, again] = objects.split("---\n");
  const list = (...items) => JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const sh = await checkout(kube, { database: list(...DATABASE), noon, again, reader: list(READER) });
  await mkdir("/run/containerd", { recursive: true });
  await symlink(socket, "/run/containerd/containerd.sock");
  // `kubectl wait` gives up after half a minute, which is too short for a busy machine.
  for (const command of way)
    await sh(command.startsWith("kubectl wait ") ? `${command} --timeout=900s` : command);
  const readsWhatWasKept = async () => {
    await sh("kubectl apply -f reader.yaml && kubectl wait --for=condition=Ready pod/reader --timeout=900s");
    assert.equal(await sh("kubectl exec reader -- cat /data/file /log/file"), "kept\nkept\n");
    await kube.delete("pod/reader");
  };
  await readsWhatWasKept();
  for (const commands of [upgrade, back]) {
    for (const command of commands) await sh(command);
    for (const target of ["daemonset/mooring-node", "deployment/mooring-controller"])
      await kube.kubectl("-n", "mooring", "rollout", "status", target, "--timeout=900s");
    await readsWhatWasKept();
  }
  // "claims and snapshots first"
  await kube.delete("pod/database");
  await kube.delete("volumegrouprestore/again", "volumegroupsnapshot/noon");
  await kube.delete("pvc/data", "pvc/log", "pvc/data-again", "pvc/log-again");
  await nothingOfVolumes(kube);
  for (const command of leave) await sh(command);
  await nothingOfMooring(kube);
}
