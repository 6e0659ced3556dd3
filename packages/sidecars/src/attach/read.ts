import type { KubeVolumeAttachment } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { csiNodeHere, nodeHere } from "../common/here.ts";
import { PUBLISHED_VOLUME } from "../common/names.ts";
import type { AttachEffects } from "./apply.ts";
import { type AttachView, attachRequestKey } from "./decide.ts";
import type { Published } from "./protection.ts";

/** Reads an attachment, its volume and node, and what earlier calls have returned. */
export async function readAttachment(
  { cluster, driver, here }: SidecarContext,
  effects: AttachEffects,
  { defaultFsType }: { defaultFsType: string },
  { name, fresh }: { name: string; fresh: boolean },
): Promise<AttachView> {
  const found = fresh ? await cluster.attachments.refresh(name) : cluster.attachments.get(name);
  const attachment = here === undefined || found?.spec.nodeName === here.node ? found : undefined;
  const volumeName = attachment?.spec.source.persistentVolumeName ?? "";
  const volume =
    fresh && volumeName !== "" ? await cluster.volumes.refresh(volumeName) : cluster.volumes.get(volumeName);
  const uid = attachment?.metadata.uid ?? "";
  const view: AttachView = {
    driver: driver.info,
    attachment,
    volume,
    ...nodeObjects({ cluster, driver, here }, attachment?.spec.nodeName ?? ""),
    recorded: recordedOn(attachment),
    result: effects.results.get(uid),
    verify: effects.verify.has(uid),
    defaultFsType,
    backoffMs: 0,
  };
  return { ...view, backoffMs: effects.backoff.remaining(uid, () => attachRequestKey(view)) };
}

/** The objects that have the name by which the driver knows the node. */
function nodeObjects(
  { cluster, driver, here }: Pick<SidecarContext, "cluster" | "driver" | "here">,
  name: string,
): Pick<AttachView, "csiNode" | "node"> {
  return here === undefined
    ? { csiNode: cluster.csiNodes.get(name), node: cluster.nodes.get(name) }
    : { csiNode: csiNodeHere(here, driver.info.name), node: nodeHere(here) };
}

function recordedOn(attachment: KubeVolumeAttachment | undefined): Published | undefined {
  const text = attachment?.metadata.annotations?.[PUBLISHED_VOLUME];
  return text === undefined ? undefined : (JSON.parse(text) as Published);
}
