import { defined, type Job, ownerReferenceTo, type Pod } from "@mooring/store";
import { COMPLETION_INDEX, JOB_TRACKING } from "../job-pods.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];

const INDEX_VARIABLE = "JOB_COMPLETION_INDEX";
/** The store adds a dash less than this to what `generateName` says. */
const LONGEST_BASE = 57;

/** A pod for a Job, for one of its indexes if it has any. Its name is the store's to choose. */
export function newPod(job: Job, index: number | undefined): Pod {
  const { metadata = {}, spec } = job.spec?.template ?? {};
  const ofIndex = index === undefined ? {} : { [COMPLETION_INDEX]: String(index) };
  const { labels, annotations } = metadata as { labels?: object; annotations?: object };
  const base = index === undefined ? job.metadata.name : `${job.metadata.name}-${index}`;
  const podSpec = structuredClone(spec ?? { containers: [] });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "",
      generateName: `${shortened(base)}-`,
      namespace: job.metadata.namespace ?? "",
      labels: { ...labels, ...ofIndex },
      annotations: { ...annotations, ...ofIndex },
      finalizers: [JOB_TRACKING],
      ownerReferences: [ownerReferenceTo(job)],
    },
    spec: index === undefined ? podSpec : withIndex(podSpec, base),
  };
}

function shortened(base: string): string {
  return base.slice(0, LONGEST_BASE);
}

function withIndex(spec: PodSpec, hostname: string): PodSpec {
  const { containers, initContainers } = spec;
  return {
    ...spec,
    hostname,
    containers: containers.map(withVariable),
    ...defined({ initContainers: initContainers?.map(withVariable) }),
  };
}

function withVariable(container: Container): Container {
  const { env = [] } = container;
  if (env.some(({ name }) => name === INDEX_VARIABLE)) return container;
  const fieldPath = `metadata.annotations['${COMPLETION_INDEX}']`;
  return { ...container, env: [...env, { name: INDEX_VARIABLE, valueFrom: { fieldRef: { fieldPath } } }] };
}
