import { whyNoGuests, whyNoKernel } from "./kernels.mjs";
import { say } from "./say.mjs";
import { setUp } from "./setup.mjs";

/** What nodes that are guests need of the system, and the Ceph cluster whose images they open. */
const PACKAGES = [
  {
    command: "linux.uml",
    package: "user-mode-linux",
    why: "runs a kernel with a client of Ceph as a program",
  },
  { command: "bwrap", package: "bubblewrap", why: "ends that kernel's processes with the test" },
  { command: "modprobe", package: "kmod", why: "loads the client in that kernel" },
  { command: "ip", package: "iproute2", why: "connects that kernel with the cluster" },
  { command: "mount.nfs4", package: "nfs-common", why: "mounts shared volumes, as nodes do" },
  { command: "ceph-mon", package: "ceph-mon", why: "the cluster's monitor" },
  { command: "ceph-mgr", package: "ceph-mgr", why: "reports how full the cluster is" },
  { command: "ceph-osd", package: "ceph-osd", why: "keeps the cluster's data" },
  { command: "rbd", package: "ceph-common", why: "makes images" },
  { command: "qemu-storage-daemon", package: "qemu-system-common", why: "opens images on this machine" },
  // It has no program of its own: where the one above is missing, so is its driver of Ceph images.
  { command: "qemu-storage-daemon", package: "qemu-block-extra", why: "knows images of Ceph" },
];

/** Not a failure: what can be seen elsewhere only. */
function endWithout(why) {
  if (why === undefined) return;
  say(`NOT TESTED: nodes with kernels of their own: ${why}`);
  process.exit(0);
}

/** Installs what is missing for `command`. Ends the process, saying why, where no guest can run. */
export async function setUpGuests(command) {
  endWithout(whyNoGuests());
  await setUp(command, PACKAGES);
  endWithout(await whyNoKernel());
}
