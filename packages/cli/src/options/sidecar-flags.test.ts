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

/** Of csi-provisioner 6.3, csi-attacher 4.12, csi-resizer 2.2, snapshot-controller and csi-snapshotter 8.6, and of the smaller ones. */
const FLAGS = {
  "all of them": [
    ...["csi-address", "kubeconfig", "leader-election", "leader-election-namespace"],
    ...["leader-election-lease-duration", "leader-election-renew-deadline", "leader-election-retry-period"],
    ...["leader-election-labels", "kube-api-qps", "kube-api-burst", "http-endpoint", "metrics-address"],
    ...["metrics-path", "version", "automaxprocs", "feature-gates", "v", "logging-format"],
  ],
  "csi-provisioner": [
    ...["volume-name-prefix", "volume-name-uuid-length", "retry-interval-start", "retry-interval-max"],
    ...["worker-threads", "cloning-protection-threads", "snapshot-orphan-sweep-interval", "capacity-threads"],
    ...["timeout", "strict-topology", "immediate-topology", "extra-create-metadata", "default-fstype"],
    ...["enable-capacity", "capacity-ownerref-level", "capacity-poll-interval"],
    ...["capacity-for-immediate-binding", "kube-api-capacity-qps", "kube-api-capacity-burst"],
    ...["node-deployment", "node-deployment-immediate-binding", "node-deployment-base-delay"],
    ...["node-deployment-max-delay", "controller-publish-readonly", "prevent-volume-mode-conversion"],
    ...["enable-pprof", "master"],
  ],
  "csi-attacher": ["resync", "max-entries", "reconcile-sync", "max-grpc-log-length"],
  "csi-resizer": ["resync-period", "workers", "extra-modify-metadata", "handle-volume-inuse-error"],
  "snapshot-controller": ["enable-distributed-snapshotting", "retry-crd-interval-max"],
  "csi-snapshotter": [
    ...["snapshot-name-prefix", "snapshot-name-uuid-length"],
    ...["groupsnapshot-name-prefix", "groupsnapshot-name-uuid-length"],
  ],
  "node-driver-registrar": ["kubelet-registration-path", "plugin-registration-path", "health-port", "mode"],
  "external-health-monitor": [
    ...["monitor-interval", "list-volumes-interval", "volume-list-add-interval", "node-list-add-interval"],
    "enable-node-watcher",
  ],
  livenessprobe: ["probe-timeout"],
  "external-snapshot-metadata": ["tls-cert", "tls-key", "port", "audience", "max-streaming-duration-min"],
};

test("every flag of every sidecar is taken as it is, or refused with what to write", () => {
  const known = new Set(controllerCommand().options.flatMap(({ long, short }) => [long, short]));
  for (const [sidecar, flags] of Object.entries(FLAGS))
    for (const flag of flags)
      assert.ok(known.has(flag.length === 1 ? `-${flag}` : `--${flag}`), `${sidecar}: --${flag}`);
});

test("the page about the way from the sidecars has every flag that is refused, and help has none", async () => {
  const page = await readFile(new URL("../../../../docs/tasks/switch-over.md", import.meta.url), "utf8");
  const hidden = controllerCommand().options.filter((option) => option.hidden);
  assert.ok(hidden.length > 30);
  for (const { long } of hidden) assert.ok(page.includes(`\`${long}\``), long);
  const help = controllerCommand().helpInformation();
  assert.ok(!help.includes("--http-endpoint") && help.includes("--metrics-listen"));
});
