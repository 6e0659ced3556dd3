import { badRequest, type Pod } from "@mooring/store";

/** Whose log is meant. Throws BadRequest with the message that kubectl users know. */
export function chooseContainer(pod: Pod, wanted: string): string {
  const { name, annotations } = pod.metadata;
  const containers = (pod.spec?.containers ?? []).map((container) => container.name);
  const init = (pod.spec?.initContainers ?? []).map((container) => container.name);
  if (wanted !== "") {
    if (containers.includes(wanted) || init.includes(wanted)) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
  const [only] = containers;
  if (only !== undefined && containers.length === 1) return only;
  const preferred = annotations?.["kubectl.kubernetes.io/default-container"];
  if (preferred !== undefined && containers.includes(preferred)) return preferred;
  const inits = init.length === 0 ? "" : ` or one of the init containers: [${init.join(" ")}]`;
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${containers.join(" ")}]${inits}`,
  );
}
