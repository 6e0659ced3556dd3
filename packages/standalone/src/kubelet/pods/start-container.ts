import { failpoint, type Pod } from "@mooring/store";
import { MountPointError, UnmappableError } from "../../runtime/index.ts";
import { ContainerConfigError } from "./config-error.ts";
import { containerConfig, type SubPathPlace } from "./container-config.ts";
import { containerID } from "./container-id.ts";
import type { PodContext } from "./context.ts";
import type { Container } from "./field-ref.ts";
import { runPostStart } from "./hooks.ts";
import { rolesOf } from "./pod-view.ts";
import { readPod } from "./read.ts";
import { pathOf } from "./refused-fields.ts";
import { reportStatus } from "./report.ts";
import { whileWanted } from "./while-wanted.ts";

const afterStart = failpoint("standalone/kubelet/container-started");

interface Start {
  /** Of the container. */
  name: string;
  attempt: number;
  /** Settles when no older status of the pod is being written any more. */
  reported: Promise<unknown>;
}

/** Starts one attempt of a container. A failure before anything ran is kept for the status, and thrown. */
export async function startContainer(
  context: PodContext,
  pod: Pod,
  { name, attempt, reported }: Start,
): Promise<void> {
  const { store, node, volumes, runtime, events, startErrors, images, users, exec } = context;
  const container = rolesOf(pod).find(({ spec }) => spec.name === name)?.spec;
  if (container === undefined) return;
  const id = containerID(pod, name, attempt);
  const image = await images.ask(pod, container, id);
  // It is on its way, or why not is in the pod's status by now.
  if (image === undefined) return;
  const sources = {
    ...{ image, store, node, exec },
    users: () => users.of(pod.metadata.uid ?? ""),
    volumes: volumes.sources(pod),
    subPath: (place: SubPathPlace) => volumes.subPath(pod, place),
  };
  try {
    await context.seats.run(async () => {
      await refuseLostMounts(context, pod);
      const config = await containerConfig(sources, pod, container, attempt);
      // The last attempt stays for its log and its exit; the ones before have been reported.
      if (attempt > 1) await runtime.remove(containerID(pod, name, attempt - 2));
      await runtime.start(config);
      afterStart();
    });
    images.forget(id);
    startErrors.delete(`${pod.metadata.uid}/${name}`);
    events.event(pod, "Normal", "Started", `Started container ${name}`);
    await whileWanted(context, pod, (unwanted) => runPostStart(runtime, { container, id }, unwanted));
  } catch (error) {
    await reported.catch(() => undefined);
    const explained = explain(error, pod, container);
    await noteFailure(context, pod, name, explained);
    throw explained;
  }
}

/** Where a volume was unmounted there is a folder of the machine's own disk: what is written there is not in the volume. */
async function refuseLostMounts({ lostMounts }: PodContext, pod: Pod): Promise<void> {
  const [lost] = await lostMounts.read([pod]);
  if (lost !== undefined) throw new ContainerConfigError(`${lost}; delete the pod, and it is mounted anew`);
}

/** What cannot be mounted, by the path of its field. */
function explain(error: unknown, { spec }: Pod, container: Container): unknown {
  const why = spec === undefined ? undefined : fieldAndReason(error, container);
  if (why === undefined || spec === undefined) return error;
  return new ContainerConfigError(`cannot be honoured: ${pathOf(spec, container)}.${why}`, { cause: error });
}

function fieldAndReason(error: unknown, { volumeMounts = [] }: Container): string | undefined {
  if (error instanceof UnmappableError) {
    const mount = error.index === undefined ? "image" : `volumeMounts[${error.index}]`;
    return `${mount}: its file system cannot show files to a user namespace (${error.message}); use another volume, or hostUsers: true`;
  }
  if (!(error instanceof MountPointError)) return undefined;
  const { list, index, message } = error;
  if (list === "devices") return `volumeDevices[${index}].devicePath: ${message}`;
  // The one behind those that are asked for is the message's.
  return `${index < volumeMounts.length ? `volumeMounts[${index}].mountPath` : "terminationMessagePath"}: ${message}`;
}

async function noteFailure(context: PodContext, pod: Pod, name: string, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  const reason = error instanceof ContainerConfigError ? "CreateContainerConfigError" : "RunContainerError";
  context.startErrors.set(`${pod.metadata.uid}/${name}`, { reason, message });
  context.events.event(pod, "Warning", "Failed", `Error: ${message}`);
  const seen = await readPod(context, pod.metadata.uid ?? "");
  if (seen !== undefined && !seen.orphaned) await reportStatus(context, seen.podView);
}
