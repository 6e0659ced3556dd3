import { type CallContext, CsiError, v1 } from "@mooring/csi";
import { isServed, mountFault, poolNodes, type Volume } from "@mooring/engine";
import { readHealthInput } from "../health/read.ts";
import { volumeHealth } from "../health/response.ts";
import { type VolumeProblem, volumeProblems } from "../health/volume-problems.ts";
import { getVolume } from "../objects/find.ts";
import { attachedHere, type NodeContext } from "./context.ts";
import type { NodeRecord } from "./records.ts";

const { VolumeHealthErrorType: Status } = v1;

/**
 * NodeGetVolumeHealth: what the objects record, and what this machine sees of the volume's device and mounts. Takes no
 * lock and waits for none. Without paths, the call checks every path at which the volume is used here; a path that an
 * earlier call tried in vain is fine.
 */
export async function nodeVolumeHealth(
  node: NodeContext,
  request: v1.NodeGetVolumeHealthRequest,
  { signal }: CallContext,
) {
  const volume = await getVolume(node.store, request.volumeId, signal);
  const input = await readHealthInput(node.store, volume, signal);
  const record = await node.records.findOf(volume);
  const here = input.pool !== undefined && poolNodes(input.pool).includes(node.nodeID);
  if (!here && record === undefined && volume.status?.currentNodeID !== node.nodeID) {
    throw CsiError.notFound(`volume "${request.volumeId}" is not on node "${node.nodeID}"`, {
      hint: "Ask the driver on a node that has it, or ControllerGetVolumeHealth.",
    });
  }
  const problems = [
    ...volumeProblems(input),
    ...(await deviceProblem(node, volume)),
    ...(await mountProblems(node, volume, record, request)),
  ];
  return { volumeHealth: volumeHealth(request.volumeId, problems) };
}

/** A volume that is recorded as attached here, whose device is not there or another's. */
async function deviceProblem(node: NodeContext, volume: Volume): Promise<VolumeProblem[]> {
  const { state, currentNodeID, frontendDisabled } = volume.status ?? {};
  if (state !== "attached" || currentNodeID !== node.nodeID || frontendDisabled === true) return [];
  try {
    await attachedHere(node, volume);
    return [];
  } catch (error) {
    if (!(error instanceof CsiError)) throw error;
    return [{ status: Status.INACCESSIBLE, reason: "DeviceGone", message: error.message }];
  }
}

async function mountProblems(
  node: NodeContext,
  volume: Volume,
  record: NodeRecord | undefined,
  { stagingTargetPath, volumePublishPath }: v1.NodeGetVolumeHealthRequest,
): Promise<VolumeProblem[]> {
  const asked = [stagingTargetPath, volumePublishPath].filter((path) => path !== "");
  const known = mountPaths(record);
  const paths = asked.length === 0 ? known : known.filter((path) => asked.includes(path));
  const found = await Promise.all(paths.map((path) => mountProblem(node, volume, path)));
  return found.flatMap((problem) => problem ?? []);
}

/** Where something is mounted according to the record; block volumes are staged without a mount. */
function mountPaths(record: NodeRecord | undefined): string[] {
  const staged = record?.staged?.access === "mount" ? [record.staged.path] : [];
  return [...staged, ...Object.keys(record?.published ?? {})];
}

async function mountProblem(
  node: NodeContext,
  volume: Volume,
  path: string,
): Promise<VolumeProblem | undefined> {
  const top = (await node.host.mounts.at(path)).at(-1);
  if (top === undefined) {
    const message = `nothing is mounted at ${path} any more`;
    return { status: Status.INACCESSIBLE, reason: "NotMounted", message };
  }
  // A read of a file system that does not respond could last for ever.
  const silent = isServed(volume) ? await serverProblem(node, path) : undefined;
  if (silent !== undefined) return silent;
  const fault = await mountFault(top);
  if (fault === undefined) return undefined;
  return { status: Status.INACCESSIBLE, reason: "FilesystemFailed", message: fault };
}

async function serverProblem(node: NodeContext, path: string): Promise<VolumeProblem | undefined> {
  try {
    await node.servedUsage.of(path);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { status: Status.INACCESSIBLE, reason: "ServerSilent", message };
  }
}
