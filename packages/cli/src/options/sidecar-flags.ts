import { type Command, Option } from "commander";

/** Flags of the Kubernetes project's sidecars that `mooring controller` does not have, and what to write instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  "http-endpoint": "use --metrics-listen ADDRESS, and --liveness-listen ADDRESS for /healthz",
  "metrics-address": "use --metrics-listen ADDRESS",
  "metrics-path": "leave it away: the path is /metrics",
  "health-port": "use --liveness-listen ADDRESS",
  "probe-timeout":
    "leave it away: a driver that does not respond to /healthz within three seconds does not live",
  workers: "use --worker-threads NUMBER",
  "cloning-protection-threads": "leave it away: --worker-threads is for all controllers",
  "capacity-threads": "leave it away: --worker-threads is for all controllers",
  "kube-api-qps": "leave it away: the API server's own fairness limits requests",
  "kube-api-burst": "leave it away: the API server's own fairness limits requests",
  "kube-api-capacity-qps": "leave it away: capacities are written when they have changed",
  "kube-api-capacity-burst": "leave it away: capacities are written when they have changed",
  "enable-capacity":
    "leave it away: capacity is on where the driver has GET_CAPACITY; --controllers leaves it out",
  "retry-interval-start": "leave it away: a failed call is made again after one second",
  "retry-interval-max": "leave it away: failed calls are made again at least every five minutes",
  resync: "leave it away: every change is followed, and everything is read anew each half hour",
  "resync-period": "leave it away: every change is followed, and everything is read anew each half hour",
  "retry-crd-interval-max": "leave it away: kinds that are not installed are looked for every 30 seconds",
  "snapshot-orphan-sweep-interval": "leave it away: what was left is found at the start and by its events",
  "handle-volume-inuse-error": "leave it away: a volume in use is tried again, and pods are not watched",
  "max-entries": "leave it away: all volumes are listed, in the driver's own pages",
  "reconcile-sync": "leave it away: attachments are compared with ListVolumes every minute",
  "list-volumes-interval": "leave it away: conditions of volumes are read every minute",
  "monitor-interval": "leave it away: conditions of volumes are read every minute",
  "leader-election-lease-duration": "leave it away: a lease is over 15 seconds after its last renewal",
  "leader-election-renew-deadline": "leave it away: a leader ends after 10 seconds without a renewal",
  "leader-election-retry-period": "leave it away: a lease is renewed every two seconds",
  version: "use `mooring version`",
  automaxprocs: "leave it away: it is for programs in Go",
  "enable-pprof": "leave it away: /metrics has what the process uses",
  master: "use --kubeconfig FILE",
  v: "use --log-level LEVEL",
  vmodule: "use --log-level LEVEL",
  logtostderr: "leave it away: the log is on stderr",
  alsologtostderr: "leave it away: the log is on stderr",
  stderrthreshold: "leave it away: the log is on stderr",
  "log-flush-frequency": "leave it away: the log is written at once",
  "logging-format": "leave it away: the log is JSON",
  "max-grpc-log-length": "leave it away: of calls only those that failed are in the log",
  "volume-list-add-interval": "leave it away: every change is followed",
  "node-list-add-interval": "leave it away: every change is followed",
  "kubelet-registration-path": "keep the registrar: it is the node's part, and stays there",
  "plugin-registration-path": "keep the registrar: it is the node's part, and stays there",
  mode: "keep the registrar: it is the node's part, and stays there",
  "feature-gates":
    "leave it away: what a gate would switch on is on where the driver and the cluster have it",
  "tls-cert": "use --snapshot-metadata-tls-cert FILE",
  "tls-key": "use --snapshot-metadata-tls-key FILE",
  port: "use --snapshot-metadata-listen ADDRESS",
  audience: "use --snapshot-metadata-audience TEXT",
  "max-streaming-duration-min": "use --snapshot-metadata-max-stream TIME, 10m for instance",
  "capacity-ownerref-level": "keep the sidecar: capacities of Mooring belong to no object, or to their Node",
  "capacity-poll-interval": "leave it away: capacities are read anew every minute, and after each change",
  "capacity-for-immediate-binding":
    "keep the sidecar: capacities are published for classes with late binding",
  "snapshot-name-uuid-length": "keep the sidecar: names of snapshots have the whole UID",
  "groupsnapshot-name-uuid-length": "keep the sidecar: names of group snapshots have the whole UID",
  "enable-node-watcher": "keep the sidecar: nothing reports the volumes of a node that is down",
};

/** Who has a sidecar's flag in a manifest gets a message with what to write in its place, and that nothing has been started. */
export function refuseSidecarFlags(command: Command): Command {
  for (const [name, advice] of Object.entries(INSTEAD)) {
    // Flags of Go have one dash or two.
    const flags = name.length === 1 ? `-${name}, --${name}` : `--${name}`;
    command.addOption(new Option(`${flags} [value]`).hideHelp());
    command.on(`option:${name}`, () => {
      command.error(`error: --${name} is a flag of the sidecars. ${advice}`, { exitCode: 2 });
    });
  }
  return command;
}
