import {
  type Collection,
  createInformer,
  getIfAny,
  type Informer,
  type KubeVolumeAttachment,
  KubeVolumeAttachments,
  type Logger,
  type ObjectStore,
  type PersistentVolume,
  PersistentVolumes,
  type Reader,
} from "@mooring/store";
import type { AttachmentTicket } from "../../../api/attachment.ts";
import { DRIVER_NAME } from "../../../api/names.ts";
import { csiTicketId, isOwnedByKubernetes, type KubernetesClaim } from "../../../tickets/kubernetes-claim.ts";

/** Written by every CSI attacher before it publishes (external-attacher). */
const NODE_ID = "csi.alpha.kubernetes.io/node-id";

const pvOf = ({ spec }: KubeVolumeAttachment): string => spec.source.persistentVolumeName ?? "";

function handleOf(volume: Pick<PersistentVolume, "spec"> | undefined): string | undefined {
  const csi = volume?.spec?.csi;
  return csi?.driver === DRIVER_NAME ? csi.volumeHandle : undefined;
}

/** What of a volume's Kubernetes side the arbiter may have to read. */
interface ClaimQuery {
  volume: string;
  tickets: readonly AttachmentTicket[];
  /** Where the volume is wanted or open now. */
  nodeIDs: readonly string[];
}

/** The Kubernetes attachments of our driver. Knows all that there were when it had synced. */
export class KubernetesWatch {
  readonly #attachments: Informer<KubeVolumeAttachment>;
  readonly #volumes: Informer<PersistentVolume>;

  constructor(store: ObjectStore, logger: Logger) {
    this.#attachments = createInformer(store, KubeVolumeAttachments, {
      logger,
      indexers: { volume: (attachment) => [pvOf(attachment)] },
    });
    this.#volumes = createInformer(store, PersistentVolumes, {
      logger,
      indexers: { handle: (volume) => [handleOf(volume) ?? ""] },
    });
  }

  get informers(): [Informer<KubeVolumeAttachment>, Informer<PersistentVolume>] {
    return [this.#attachments, this.#volumes];
  }

  /**
   * The attachments of a volume. What the cache and the tickets agree about is believed; everything else is read from
   * the store itself, as a ticket must not come back, or go, for the sake of an old picture.
   */
  async claimsOf(
    { volume, tickets, nodeIDs }: ClaimQuery,
    reader: Reader,
    signal: AbortSignal,
  ): Promise<KubernetesClaim[]> {
    const attachments = reader.over(this.#attachments);
    const volumes = reader.over(this.#volumes);
    const cached = volumes
      .byIndex("handle", volume)
      .flatMap(({ metadata }) => attachments.byIndex("volume", metadata.name));
    const owned = tickets.filter(isOwnedByKubernetes).map(({ owner }) => owner?.name ?? "");
    const usual = nodeIDs.filter((nodeID) => nodeID !== "").map((nodeID) => csiTicketId(volume, nodeID));
    const names = new Set([...cached.map(({ metadata }) => metadata.name), ...owned, ...usual]);
    const claims: KubernetesClaim[] = [];
    for (const name of [...names].sort()) {
      const known = attachments.get(name);
      const settled = known !== undefined && isSettled(known, tickets);
      const attachment = settled
        ? known
        : await getIfAny(reader.store, KubeVolumeAttachments, { name }, signal);
      if (attachment === undefined || attachment.spec.attacher !== DRIVER_NAME) continue;
      const handle = handleFor(attachment, volumes);
      // Without its PersistentVolume only the usual name shows whose attachment it is.
      const ours = handle === undefined ? usual.includes(name) || owned.includes(name) : handle === volume;
      if (ours) claims.push(claimFrom(attachment));
    }
    return claims;
  }
}

function handleFor(
  { spec }: KubeVolumeAttachment,
  volumes: Pick<Collection<PersistentVolume>, "get">,
): string | undefined {
  if (spec.attacher !== DRIVER_NAME) return undefined;
  const { inlineVolumeSpec, persistentVolumeName = "" } = spec.source;
  if (inlineVolumeSpec !== undefined) return handleOf({ spec: inlineVolumeSpec });
  return handleOf(volumes.get(persistentVolumeName));
}

/** Alive, and the ticket that it owns is there: whatever else the store has of it, nothing follows from it. */
function isSettled({ metadata }: KubeVolumeAttachment, tickets: readonly AttachmentTicket[]): boolean {
  const { uid, deletionTimestamp } = metadata;
  return (
    deletionTimestamp === undefined && tickets.some((t) => isOwnedByKubernetes(t) && t.owner?.uid === uid)
  );
}

function claimFrom({ metadata, spec, status }: KubeVolumeAttachment): KubernetesClaim {
  return {
    name: metadata.name,
    uid: metadata.uid ?? "",
    nodeID: metadata.annotations?.[NODE_ID] ?? spec.nodeName,
    attached: status?.attached === true,
    deleting: metadata.deletionTimestamp !== undefined,
  };
}
