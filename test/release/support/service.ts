import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { KUBECTL } from "../../support/kubectl.ts";
import { claim, pod } from "../../support/manifests.ts";
import { machineRemains } from "../../support/remains.ts";

const execute = promisify(execFile);
const SCRIPT =
  "trap 'exit 0' TERM; n=0; while :; do n=$((n + 1)); echo $n >>/data/lines; sync /data/lines; sleep 0.1; done";

/** It runs the script, and the machine ends with how that has ended. */
const unit = (variables: Record<string, string>) => `
[Service]
Type=oneshot
TimeoutStartSec=10min
Environment=${Object.entries(variables)
  .map(([name, value]) => `"${name}=${value}"`)
  .join(" ")}
# What its parent has mounted to be read only is this machine's as well.
ExecStartPre=sh -c 'for each in /sys/fs/cgroup/*; do mount -o remount,bind,rw "$$each"; done'
# Nobody makes devices there as they come, and one that is mounted over its name looks like one in use.
ExecStartPre=sh -c 'mknod /dev/loop-control c 10 237; for n in $$(seq 0 1023); do mknod /dev/loop$$n b 7 $$n; done'
ExecStart=sh /service/service.sh
StandardOutput=append:/service/log
StandardError=append:/service/log
ExecStopPost=sh -c 'journalctl --unit=mooring --no-pager >/service/journal; systemctl --force exit "$$EXIT_STATUS"'
`;

/**
 * A machine with this one's files, in memory, and a systemd of its own, in control groups of its own. `$1`: an empty folder; `$2`: what
 * it gets as /service; `$3`: a kubectl.
 */
const BOOT = `
set -eu
mount -t tmpfs tmpfs "$1" && cd "$1" && mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mkdir -p root/service root/etc/systemd/system
cp "$2/test.service" root/etc/systemd/system/test.service
all=/sys/fs/cgroup
groups=$(for each in $all/systemd $all/unified; do test ! -d $each || echo $each/$(basename "$2"); done)
groups=\${groups:-$all/$(basename "$2")}
mkdir $groups
trap 'for each in $groups; do find $each -depth -type d -exec rmdir {} +; done' EXIT
sh -c 'for each in $1; do echo $$ >$each/cgroup.procs; done; shift; exec "$@"' sh "$groups" \\
  systemd-nspawn --directory=root --boot --register=no --keep-unit --link-journal=no --console=pipe --capability=all \\
  --system-call-filter="@keyring bpf" --bind="$2:/service" --bind-ro="$3:/usr/local/bin/kubectl" systemd.unit=test.service`;

/** Installs the package on such a machine, and runs service.sh there. `folder`: a new one, whose name is nobody else's. */
export async function runService(folder: string, deb: string): Promise<void> {
  const at = (...names: string[]) => join(folder, ...names);
  const own = at(`${basename(folder)}-service`);
  for (const path of [folder, at("machine"), own]) await mkdir(path);
  await copyFile(deb, join(own, basename(deb)));
  await copyFile(join(import.meta.dirname, "service.sh"), join(own, "service.sh"));
  const writer = pod("default", "writer", SCRIPT, { mounts: { "/data": "data" }, restartPolicy: "Always" });
  const list = { apiVersion: "v1", kind: "List", items: [claim("default", "data"), writer] };
  await writeFile(join(own, "pods.json"), JSON.stringify(list));
  const state = `/var/lib/${basename(folder)}`;
  const variables = {
    ...{ PATH: `/usr/local/bin:${process.env["PATH"]}`, SERVICE_DEB: `/service/${basename(deb)}` },
    ...{ SERVICE_STATE: state, SERVICE_PODS: "/service/pods.json" },
  };
  await writeFile(join(own, "test.service"), unit(variables));
  const boot = ["--mount", "--propagation", "private", "sh", "-c", BOOT, "sh", at("machine"), own, KUBECTL];
  const text = async () => {
    const read = ["log", "journal"].map((name) => readFile(join(own, name), "utf8").catch(String));
    return (await Promise.all(read)).map((each) => each.slice(-8_000)).join("\n");
  };
  await execute("unshare", boot).catch(async (error: Error) => {
    throw new Error(`${error.message}\n${await text()}`);
  });
  assert.match(await text(), /^\+ : all of it$/m);
  assert.deepEqual(await machineRemains(state), []);
}
