import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@mooring/store";
import { exceededLimit, isBounded, type StorageUse } from "./limits.ts";

type Spec = NonNullable<Pod["spec"]>;

const limited = (name: string, limit?: string, more: object = {}): Spec["containers"][number] => ({
  ...{ name, image: "host", ...more },
  ...(limit === undefined ? {} : { resources: { limits: { "ephemeral-storage": limit } } }),
});

function podOf(spec: Partial<Spec>): Pod {
  const containers = spec.containers ?? [limited("main")];
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { ...spec, containers } };
}

function used(containers: Record<string, number>, emptyDirs: Record<string, number> = {}): StorageUse {
  const map = (of: Record<string, number>) =>
    new Map(Object.entries(of).map(([name, mebi]) => [name, BigInt(mebi) << 20n]));
  return { containers: map(containers), emptyDirs: map(emptyDirs) };
}

const TOTAL = /^Pod ephemeral local storage usage exceeds the total limit of containers (\S+)\. $/;

test("an emptyDir on disk that is larger than its sizeLimit costs the pod its place, one in memory is bounded anyway", () => {
  const pod = podOf({
    volumes: [
      { name: "disk", emptyDir: { sizeLimit: "2Mi" } },
      { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    ],
  });
  assert.equal(isBounded(pod), true);
  assert.equal(exceededLimit(pod, used({ main: 99 }, { disk: 2 })), undefined);
  const message = 'Usage of EmptyDir volume "disk" exceeds the limit "2Mi". ';
  assert.equal(exceededLimit(pod, used({}, { disk: 3 })), message);
});

test("a container over its own limit is named; the limits together bound the pod with its emptyDirs", () => {
  const pod = podOf({
    containers: [limited("small", "1Mi"), limited("large", "8Mi"), limited("free")],
    volumes: [{ name: "disk", emptyDir: {} }],
  });
  assert.equal(exceededLimit(pod, used({ small: 1, large: 5, free: 1 }, { disk: 2 })), undefined);
  const message = 'Container small exceeded its local ephemeral storage limit "1Mi". ';
  assert.equal(exceededLimit(pod, used({ small: 2 })), message);
  assert.equal(TOTAL.exec(exceededLimit(pod, used({ free: 8 }, { disk: 2 })) ?? "")?.[1], "9Mi");
});

test("init containers run before the others, sidecars beside them", () => {
  const sidecar = limited("sidecar", "2Mi", { restartPolicy: "Always" });
  const containers = [limited("main", "1Mi")];
  const both = podOf({ containers, initContainers: [limited("init", "2Mi"), sidecar] });
  assert.equal(TOTAL.exec(exceededLimit(both, used({ main: 4 })) ?? "")?.[1], "3Mi");
  const large = podOf({ containers, initContainers: [limited("init", "5Mi"), sidecar] });
  assert.equal(TOTAL.exec(exceededLimit(large, used({ main: 6 })) ?? "")?.[1], "5Mi");
});

test("a pod without a limit, or with one of 0, is not measured away", () => {
  assert.equal(isBounded(podOf({ volumes: [{ name: "disk", emptyDir: {} }] })), false);
  assert.equal(exceededLimit(podOf({}), used({ main: 99 })), undefined);
  assert.equal(exceededLimit(podOf({ containers: [limited("main", "0")] }), used({ main: 99 })), undefined);
});
