import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

const STANDALONE = join(import.meta.dirname, "../../packages/standalone/src");
/** What places a pod and runs it; elsewhere the same words mean other things, or only say which fields there are. */
const HONOURS =
  /^(kubelet|runtime|images|controllers\/(ephemeral-volumes|node-lifecycle|scheduler)|apiserver\/admission)\//;
const TESTS = /\.test\.ts$|(^|\/)testing\//;

/** Fields that no code names, and why none has to: `Type.field`, or `Type` for all of one. */
const BY_ANOTHER: Readonly<Record<string, string>> = {
  "PodSpec.enableServiceLinks": "a wish; the page of pods says that there are no such variables",
  "PodSpec.subdomain": "a wish; the page of pods says that there are no such names",
  PodResourceClaim: "resourceClaims is refused",
  TopologySpreadConstraint: "refused with DoNotSchedule, a wish without",
  PodDNSConfig: "dnsConfig is refused",
  HostAlias: "hostAliases is refused",
  PodAffinity: "refused when required, a wish when preferred",
  PodAntiAffinity: "refused when required, a wish when preferred",
  WeightedPodAffinityTerm: "a wish",
  PodAffinityTerm: "refused when required, a wish when preferred",
  "NodeAffinity.preferredDuringSchedulingIgnoredDuringExecution": "a wish",
  PreferredSchedulingTerm: "a wish",
  NodeSelector: "selectsNode of the store",
  NodeSelectorTerm: "selectsNode of the store",
  "PodSecurityContext.seLinuxChangePolicy": "labels are refused",
  WindowsSecurityContextOptions: "windowsOptions is refused",
  EphemeralContainer: "ephemeralContainers is refused",
  "Container.resizePolicy": "resources of a pod that is there do not change",
  ContainerResizePolicy: "resources of a pod that is there do not change",
  "Container.stdinOnce": "stdin is refused",
  ContainerRestartRule: "restartPolicyRules is refused",
  Volume: "a volume of a type that is not named is refused",
  ImageVolumeSource: "a volume of a type that is not named is refused",
  VolumeProjection: "a projected source that is not named is refused",
  ClusterTrustBundleProjection: "a projected source that is not named is refused",
};

interface Field {
  name: string;
  type: string;
}

/** The types of the schemas, in their own language: `type Pod "..."` and a line for each field. */
async function readTypes(): Promise<Map<string, Field[]>> {
  const types = new Map<string, Field[]>();
  for (const file of ["pod", "container", "volume", "volume-sources", "shared"]) {
    const text = await readFile(join(STANDALONE, `builtin/types/${file}.ts`), "utf8");
    for (const [, type = "", fields = ""] of text.matchAll(/^type (\w+) ".*"\n((?: {2}\w.*\n)*)/gm)) {
      const lines = [...fields.matchAll(/^ {2}(\w+)!?: (.*?) --/gm)];
      types.set(
        type,
        lines.map(([, name = "", of = ""]) => ({ name, type: of })),
      );
    }
  }
  return types;
}

function reachedFrom(start: string, types: ReadonlyMap<string, readonly Field[]>): Set<string> {
  const reached = new Set<string>();
  const visit = (type: string): void => {
    const fields = types.get(type);
    if (fields === undefined || reached.has(type)) return;
    reached.add(type);
    for (const { type: of } of fields) for (const [word] of of.matchAll(/[A-Z]\w+/g)) visit(word);
  };
  visit(start);
  return reached;
}

async function wordsOfCode(): Promise<Set<string>> {
  const paths = await readdir(STANDALONE, { recursive: true });
  const files = paths.filter((path) => path.endsWith(".ts") && HONOURS.test(path) && !TESTS.test(path));
  const texts = await Promise.all(files.map((path) => readFile(join(STANDALONE, path), "utf8")));
  return new Set(texts.flatMap((text) => text.match(/\w+/g) ?? []));
}

test("no field of a pod is ignored: code honours or refuses it, or it is said here why none has to", async () => {
  const [types, words] = [await readTypes(), await wordsOfCode()];
  const reached = reachedFrom("PodSpec", types);
  assert.ok(reached.size > 60, `${reached.size} types`);
  const unnamed = [...reached].flatMap((type) =>
    (types.get(type) ?? [])
      .filter(({ name }) => !words.has(name))
      .map(({ name }) => [type, `${type}.${name}`]),
  );
  const without = unnamed.filter(
    ([type = "", field = ""]) => !(type in BY_ANOTHER) && !(field in BY_ANOTHER),
  );
  assert.deepEqual(
    without.map(([, field]) => field),
    [],
  );
  const used = new Set(unnamed.flat());
  const idle = Object.keys(BY_ANOTHER).filter((each) => !used.has(each));
  assert.deepEqual(idle, [], "a reason for what is honoured or refused by now");
});
