// Nothing that Mooring's accounts ask for is refused, and no role gives what nobody asks for.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { readAudit, unusedRights } from "./support/audit.mjs";

const execute = promisify(execFile);

/** `mooring doctor` asks the server for the accounts, and finds nothing missing. */
async function askDoctor(cluster) {
  const args = ["doctor", "--json", "--kubeconfig", cluster.admin];
  const { stdout } = await execute(process.execPath, [join(ROOT, "dist/mooring.mjs"), ...args]).catch(
    (failed) => failed,
  );
  const rights = JSON.parse(stdout).filter(({ check }) => check.startsWith("rights of "));
  if (rights.length !== 2 || rights.some(({ state }) => state !== "ok"))
    throw new Error(`doctor about rights: ${JSON.stringify(rights)}`);
}

/** Rights that the flow of this test has no use for, by what a line of them looks like, with who has. */
const ELSEWHERE = [
  [/ (patch|create|delete|get) .*\/volumegroup(s|contents)(\/status)?$/, "volume groups"],
  [/ (get|watch|create|update|delete) .*\/volumesets$/, "volume groups on the storage side"],
  [/ delete \/persistentvolumeclaims$/, "volume groups whose class says deleteMembers"],
  [/\/sharemanagers(\/status)?$/, "ReadWriteMany"],
  [/\/recurringjobs(\/status)?$/, "recurring jobs"],
  [/\/volumegroupreverts(\/status)?$/, "group reverts"],
  [/\/volumegroupclones(\/status)?$/, "group clones"],
  [/ (create|delete) .*\/(volumegroupsnapshots|volumegrouprestores)$/, "what a group clone asks for"],
  [/ get .*\/volumegrouprestores$/, "what a group clone reads of it"],
  [/ list \/events$/, "group restores whose claims take long"],
  [/mooring-node \(cluster\): get .*\/volumeattachments$/, "what is read again after a conflict"],
  [/ watch .*\/(referencegrants|volumepopulators)$/, "sources in other namespaces and of other kinds"],
  [/ list \/pods$/, "group reverts: who has the volumes"],
  [/ update .*\/nodeagents\/status$/, "machines that do not respond"],
  [/ update .*\/(volumes|snapshots)\/status$/, "machines that are lost, and damaged volumes"],
  [/ update .*\/snapshots$/, "snapshots that are restored in place"],
  [/ delete .*\/volumeattachments$/, "tickets that have outlived their volume"],
  [/ patch \/configmaps$/, "claims that come together: they share a record"],
  [/ get \/(persistentvolumeclaims|persistentvolumes|configmaps)$/, "what is read again after a conflict"],
  [
    / get .*\/(volumesnapshots|volumesnapshotcontents|volumegroupsnapshots|volumegroupsnapshotcontents)$/,
    "the same",
  ],
  [/mooring-(node|controller) .* (get|create|patch) \/events$/, "what goes wrong, and goes wrong again"],
  [/mooring-node \(kube-system\): .* coordination\.k8s\.io\/leases$/, "pools that nodes share"],
];

export async function evaluateRights(cluster, say) {
  await askDoctor(cluster);
  const { refused, used } = await readAudit(cluster.audit);
  const unused = await unusedRights(join(ROOT, "deploy/manifests/rbac.yaml"), used);
  const unexplained = unused.filter((line) => !ELSEWHERE.some(([pattern]) => pattern.test(line)));
  for (const line of refused) say(`refused: ${line}`);
  for (const line of unexplained) say(`given, and never used: ${line}`);
  say(`  ${unused.length - unexplained.length} rights are used by other flows than this one`);
  if (refused.length + unexplained.length > 0) throw new Error("the roles are not what is used: see above");
}
