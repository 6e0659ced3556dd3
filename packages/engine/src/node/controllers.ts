import { createInformer, type Informer, type Logger, type ObjectStore } from "@mooring/store";
import { type VolumeAttachment, VolumeAttachments } from "../api/attachment.ts";
import { type GroupSnapshot, GroupSnapshots } from "../api/group-snapshot.ts";
import { type Pool, Pools } from "../api/pool.ts";
import { type ShareManager, ShareManagers } from "../api/share-manager.ts";
import { type Snapshot, Snapshots } from "../api/snapshot.ts";
import { type Volume, Volumes } from "../api/volume.ts";
import { writersReport } from "./pool/report-to-volumes.ts";

/** What the controllers of a node watch; one set for all of them. */
export interface AgentInformers {
  pools: Informer<Pool>;
  volumes: Informer<Volume>;
  snapshots: Informer<Snapshot>;
  groups: Informer<GroupSnapshot>;
  attachments: Informer<VolumeAttachment>;
  shares: Informer<ShareManager>;
}

/** They list and watch once they are run. */
export function createInformers(store: ObjectStore, logger: Logger): AgentInformers {
  const stopped = (volume: Volume): string[] => {
    const { reported } = writersReport(volume);
    return reported?.suspended || reported?.fail ? [volume.spec.pool] : [];
  };
  const sourceKey = ({ spec }: Volume): string[] =>
    spec.source === undefined ? [] : [`${spec.source.kind}/${spec.source.name}`];
  return {
    pools: createInformer(store, Pools, { logger }),
    attachments: createInformer(store, VolumeAttachments, { logger }),
    shares: createInformer(store, ShareManagers, { logger }),
    volumes: createInformer(store, Volumes, {
      logger,
      indexers: { source: sourceKey, pool: ({ spec }) => [spec.pool], "stopped-in-pool": stopped },
    }),
    snapshots: createInformer(store, Snapshots, {
      logger,
      indexers: { volume: ({ spec }) => [spec.volume], pool: ({ spec }) => [spec.pool] },
    }),
    groups: createInformer(store, GroupSnapshots, { logger }),
  };
}
