// The first process of a worker's machine: `node machine.mjs SETTINGS`. It notifies its parent when the node is ready,
// ends and starts the kubelet and containerd on its parent's request, and stays.
import { mkdir } from "node:fs/promises";
import { furnish } from "./namespaces.mjs";
import { startNode } from "./node.mjs";
import { until } from "./program.mjs";

const { node, folder, logs, bin, images, cgroup } = JSON.parse(process.argv[2]);

await furnish(folder, { hostname: node.name, addresses: [] });
await mkdir("/var/lib/kubelet", { recursive: true });
const programs = await startNode(node, { folder, logs, bin, images, cgroup: `${cgroup}/${node.name}` });
process.on("message", async ({ what, name }) => {
  if (what === "end") await programs[name].end("SIGKILL");
  else programs[name].start();
  // A kubelet that finds none ends.
  if (what === "start" && name === "containerd") await until("containerd", () => programs.ctr("version"));
  process.send(what);
});
process.send("ready");
