import { badRequest, type ObjectStore, type Pod, Pods, StatusError } from "@mooring/store";
import type { ExecSession, Runtime } from "../runtime/index.ts";

/** What `kubectl exec` asks for, as in core/v1 PodExecOptions. */
export interface ExecRequest {
  namespace: string;
  pod: string;
  container: string;
  command: readonly string[];
  stdin: boolean;
  /** The program has a terminal. */
  tty: boolean;
}

/** What streams into the pods of a node are made from. */
export interface Place {
  store: ObjectStore;
  runtime: Runtime;
  nodeName: string;
}

/**
 * Starts a program in a container that runs. Throws NotFound, BadRequest when the container does not run, or
 * ServiceUnavailable for a pod of another node.
 */
export async function openExec(place: Place, request: ExecRequest): Promise<ExecSession> {
  const { command, container, stdin, tty } = request;
  const { id } = await runningContainer(place, { ...request, container });
  return place.runtime.open(id, command, { stdin, tty });
}

/** The container of that name that runs now. */
async function runningContainer(
  { store, runtime, nodeName }: Place,
  { namespace, pod: name, container }: Pick<ExecRequest, "namespace" | "pod" | "container">,
) {
  const pod = await store.get<Pod>(Pods, { namespace, name });
  if (pod.spec?.nodeName !== nodeName) throw notHere(pod);
  const found = runtime
    .list()
    .find((each) => each.pod.uid === pod.metadata.uid && each.name === container && each.state === "running");
  if (found === undefined)
    throw badRequest(
      `container "${container}" in pod "${name}" is not running: kubectl get pod ${name} shows why`,
    );
  return found;
}

/** A pod of another node: the API server has to ask that one. */
export function notHere({ metadata, spec }: Pod): StatusError {
  return new StatusError(
    "ServiceUnavailable",
    `pod "${metadata.name}" is not on this node but on "${spec?.nodeName}"`,
  );
}
