// Rows that bind an orchestrator, by who has to keep them in a cluster: docs/conformance-cluster.tsv, `id<TAB>by<TAB>why`.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "./setup.mjs";

const DOCUMENTS = new Set(["CSI specification", "Kubernetes CSI design"]);
/** Whoever keeps a row in a cluster; only `ours` is proved without one. */
const BY = {
  kubelet: "the kubelet",
  controllers: "Kubernetes' controllers or scheduler",
  server: "the API server",
  ours: "",
};
/** What runs on programs of Kubernetes: the steps of `npm run test:kubernetes`, and tests that start some of them. */
const REAL = [
  "npm run test:kubernetes",
  "test/kubernetes/attach-detach/",
  "test/kubernetes/real-nulls.test.ts",
];

export async function readCluster() {
  const lines = (await readFile(join(ROOT, "docs/conformance-cluster.tsv"), "utf8")).trimEnd().split("\n");
  return lines.map((line) => {
    const [id, by, why] = line.split("\t");
    return { id, by, why };
  });
}

const binds = ({ document, actor, level }) =>
  DOCUMENTS.has(document) && actor !== "plugin" && level !== "NOTE";

/** What is wrong with the file: rows that are shown and not in it, and lines that are about no such row. `named`: ids of tests. */
export function flawsOf(lines, { rows, named }) {
  const wanted = new Set(rows.filter(binds).map(({ id }) => id));
  const listed = new Set(lines.map(({ id }) => id));
  const missing = [...wanted].filter((id) => named.has(id) && !listed.has(id));
  const wrong = lines.filter(({ id, by, why }) => !wanted.has(id) || !(by in BY) || !why).map(({ id }) => id);
  const twice = lines.length === listed.size ? [] : ["a row twice"];
  return [...missing.map((id) => `${id} is missing`), ...wrong.map((id) => `${id} is wrong`), ...twice];
}

const onKubernetes = ({ file, outcome }) =>
  outcome === "passed" && REAL.some((each) => file.startsWith(each));

/** The part of the page: who keeps these rows in a cluster, and where that was shown. */
export function clusterSection(lines, { rows, proofs }) {
  const texts = new Map(rows.map(({ id, requirement }) => [id, requirement]));
  const theirs = lines.filter(({ by }) => by !== "ours");
  const shown = ({ id }) => (proofs.get(id)?.tests ?? []).filter(onKubernetes);
  const open = theirs.filter((line) => shown(line).length === 0);
  const row = ({ id, by, why }) => `| ${id} | ${BY[by]} | ${why} | ${texts.get(id).replaceAll("|", "\\|")} |`;
  return [
    "## What an orchestrator has to do",
    "",
    `Of ${lines.length} rows of the CSI specification and the Kubernetes CSI design that bind an orchestrator and are shown, ${lines.length - theirs.length} are about`,
    `our own code, whoever serves its objects. ${theirs.length} are kept by Kubernetes' own programs in a cluster, where standalone mode has ours`,
    `in their place ([conformance-cluster.tsv](conformance-cluster.tsv)): ${theirs.length - open.length} of them were shown with Kubernetes itself. The others, which are proved`,
    "of standalone mode alone, or by Kubernetes' own programs in no recorded run:",
    "",
    "| id | in a cluster kept by | because | requirement |",
    "| --- | --- | --- | --- |",
    ...open.map(row),
  ];
}
