import { join } from "node:path";

interface LogOwner {
  pod: { uid: string; namespace: string; name: string };
  name: string;
  attempt: number;
}

/** `pods/NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log`, as below /var/log of a Kubernetes node. */
export function logFileOf(root: string, owner: LogOwner): string {
  return join(logFolderOf(root, owner), `${owner.attempt}.log`);
}

/** The folder of one container's logs, one file per attempt, below the folder of its pod. */
export function logFolderOf(root: string, { pod, name }: Pick<LogOwner, "pod" | "name">): string {
  return join(podLogFolder(root, pod), name);
}

/** The folder of all logs of a pod. The uid is part of it: a later pod of the same name has another. */
export function podLogFolder(root: string, pod: LogOwner["pod"]): string {
  return join(root, "pods", `${pod.namespace}_${pod.name}_${pod.uid}`);
}

/** The reverse, of the pod's folder name. Names of the API have no `_`. */
export function parseLogFolder(folder: string): LogOwner["pod"] | undefined {
  const [namespace, name, uid, more] = folder.split("_");
  if (namespace === undefined || name === undefined || uid === undefined || more !== undefined)
    return undefined;
  return { namespace, name, uid };
}
