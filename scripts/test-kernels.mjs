#!/usr/bin/env node
// `npm run test:kernels`: nodes that are machines with kernels of their own (User Mode Linux), and one Ceph cluster. Installs what is
// missing. `-- --short`: one round of each; `-- --rounds=100`: so many power cuts; `-- --only=TEXT`: checks whose title has it.
import { join } from "node:path";
import { bundle } from "./lib/bundle.mjs";
import { run } from "./lib/run.mjs";
import { say } from "./lib/say.mjs";
import { ROOT, setUp } from "./lib/setup.mjs";

if (process.arch !== "x64") {
  say(`skipped: User Mode Linux runs on x86_64 only; this is ${process.arch}`);
  process.exit(0);
}
await setUp("npm run test:kernels", [
  {
    command: "linux.uml",
    package: "user-mode-linux",
    why: "runs a kernel with a client of Ceph as a program",
  },
  { command: "bwrap", package: "bubblewrap", why: "ends that kernel's processes with the test" },
  { command: "modprobe", package: "kmod", why: "loads the client in that kernel" },
  { command: "ip", package: "iproute2", why: "connects that kernel with the cluster" },
  { command: "ceph-mon", package: "ceph-mon", why: "the cluster's monitor" },
  { command: "ceph-mgr", package: "ceph-mgr", why: "tells how full the cluster is" },
  { command: "ceph-osd", package: "ceph-osd", why: "keeps the cluster's data" },
  { command: "rbd", package: "ceph-common", why: "makes images" },
  { command: "qemu-storage-daemon", package: "qemu-system-common", why: "opens images on this machine" },
]);
await bundle();
const main = join(ROOT, "test/kernels/main.ts");
const flags = ["--conditions=mooring-source", "--import", "tsx"];
process.exit(await run(process.execPath, [...flags, main, ...process.argv.slice(2)], { cwd: ROOT }));
