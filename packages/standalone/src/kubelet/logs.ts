import { badRequest, type ObjectStore, type Pod, Pods, StatusError } from "@mooring/store";
import type { LogOptions, Runtime } from "../runtime/index.ts";

/** `kubectl logs`, as the API server asks for it. */
export interface LogRequest extends LogOptions {
  namespace: string;
  pod: string;
  /** Absent: the pod's only container. */
  container?: string;
  /** Of the run before the present one. */
  previous?: boolean;
}

/**
 * The log of a container, newest run or the one before. Throws BadRequest, NotFound or, for a pod of another node,
 * ServiceUnavailable before the first byte.
 */
export async function* readPodLog(
  { store, runtime, nodeName }: { store: ObjectStore; runtime: Runtime; nodeName: string },
  request: LogRequest,
): AsyncGenerator<Uint8Array> {
  const pod = await store.get<Pod>(Pods, { namespace: request.namespace, name: request.pod });
  const where = pod.spec?.nodeName;
  if (where !== nodeName) {
    throw new StatusError("ServiceUnavailable", `pod "${request.pod}" is not on this node but on "${where}"`);
  }
  const container = request.container || pod.spec?.containers[0]?.name || "";
  const attempts = runtime
    .list()
    .filter((each) => each.pod.uid === pod.metadata.uid && each.name === container)
    .sort((a, b) => b.attempt - a.attempt);
  const chosen = attempts[request.previous === true ? 1 : 0];
  if (chosen === undefined) throw missing(pod, container, request.previous === true);
  yield* runtime.logs(chosen, request);
}

function missing(pod: Pod, container: string, previous: boolean): StatusError {
  const what = `container "${container}" in pod "${pod.metadata.name}"`;
  if (previous) return badRequest(`previous terminated ${what} not found`);
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  const reason = statuses.find(({ name }) => name === container)?.state?.waiting?.reason;
  return badRequest(`${what} is waiting to start: ${reason ?? "ContainerCreating"}`);
}
