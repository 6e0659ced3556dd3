#!/usr/bin/env node
// Mounts a shared volume with a real kernel's NFS client, whatever this machine's kernel has: the client is a guest of
// User Mode Linux. Needs root and Debian's user-mode-linux (x86_64); installs what is missing.
import { join } from "node:path";
import { bundle } from "../../scripts/lib/bundle.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { ROOT, setUp } from "../../scripts/lib/setup.mjs";

await setUp("npm run test:conformance", [
  { command: "linux.uml", package: "user-mode-linux", why: "runs a kernel with an NFS client as a program" },
  { command: "bwrap", package: "bubblewrap", why: "ends that kernel's processes with the test" },
  { command: "modprobe", package: "kmod", why: "loads the NFS client in that kernel" },
  { command: "mount.nfs4", package: "nfs-common", why: "mounts shared volumes, as nodes do" },
  { command: "ip", package: "iproute2", why: "connects that kernel with the node that serves the volume" },
]);
await bundle();
const main = join(ROOT, "test/conformance/nfs-client/main.ts");
const flags = ["--conditions=mooring-source", "--import", "tsx"];
process.exit(await run(process.execPath, [...flags, main], { cwd: ROOT }));
