import { CsiError } from "@mooring/csi";
import {
  getIfAny,
  type ObjectStore,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  VolumeSnapshotClasses,
  type VolumeSnapshotContent,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { DEFAULT_SNAPSHOT_CLASS } from "../common/names.ts";
import { readSecret, SecretMissing } from "../secrets/read.ts";
import {
  SNAPSHOT_CLASS_ROLES,
  secretReference,
  snapshotClassTokens,
  TemplateError,
} from "../secrets/references.ts";

/** A snapshot as its driver knows it. */
export interface DriverSnapshot {
  handle: string;
  /** Of its VolumeSnapshotClass, for calls to the driver. */
  secrets: Record<string, string>;
}

/** Which VolumeSnapshot, and of which driver it has to be. */
export interface Sought {
  namespace: string;
  name: string;
  driver: string;
}

const LATER = "Try again when it is ready.";

/**
 * What the driver calls a VolumeSnapshot. Throws NOT_FOUND, UNAVAILABLE for one that is not ready, and INVALID_ARGUMENT for one of
 * another driver.
 */
export async function findSnapshot(
  store: ObjectStore,
  { namespace, name, driver }: Sought,
  signal: AbortSignal,
): Promise<DriverSnapshot> {
  const called = `VolumeSnapshot ${namespace}/${name}`;
  const snapshot = await getIfAny(store, VolumeSnapshots, { namespace, name }, signal);
  if (snapshot === undefined) throw CsiError.notFound(`${called} does not exist`);
  const content = await contentOf(store, snapshot, called, signal);
  if (content.spec.driver !== driver)
    throw CsiError.invalidArgument(
      `${called} is of the driver ${content.spec.driver}, and this service of ${driver}`,
      {
        hint: `Call the service that the SnapshotMetadataService ${content.spec.driver} names.`,
      },
    );
  const handle = content.status?.snapshotHandle;
  if (!handle) throw CsiError.unavailable(`${called} has no snapshot handle yet`, { hint: LATER });
  return { handle, secrets: await secretsOf(store, snapshot, content, signal) };
}

async function contentOf(
  store: ObjectStore,
  snapshot: VolumeSnapshot,
  called: string,
  signal: AbortSignal,
): Promise<VolumeSnapshotContent> {
  const { readyToUse, boundVolumeSnapshotContentName: bound } = snapshot.status ?? {};
  if (readyToUse !== true || !bound) throw CsiError.unavailable(`${called} is not ready`, { hint: LATER });
  const content = await getIfAny(store, VolumeSnapshotContents, { name: bound }, signal);
  const { uid } = content?.spec.volumeSnapshotRef ?? {};
  // A name is not enough: whoever may write a status could have anybody's data named there.
  if (content === undefined || uid !== snapshot.metadata.uid)
    throw CsiError.failedPrecondition(`VolumeSnapshotContent ${bound} of ${called} is not bound to it`);
  if (content.status?.readyToUse !== true)
    throw CsiError.unavailable(`VolumeSnapshotContent ${bound} of ${called} is not ready`, { hint: LATER });
  return content;
}

async function secretsOf(
  store: ObjectStore,
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const { parameters = {}, metadata } = (await classOf(store, snapshot, content.spec.driver, signal)) ?? {};
  try {
    const tokens = snapshotClassTokens(content.metadata.name, snapshot);
    return await readSecret(
      store,
      secretReference(SNAPSHOT_CLASS_ROLES.snapshotter, parameters, tokens),
      signal,
    );
  } catch (error) {
    if (!(error instanceof TemplateError || error instanceof SecretMissing)) throw error;
    throw CsiError.unavailable(`VolumeSnapshotClass ${metadata?.name}: ${error.message}`, { cause: error });
  }
}

/** Its own one, or the driver's default. A driver without either needs no secrets. */
async function classOf(
  store: ObjectStore,
  { spec }: VolumeSnapshot,
  driver: string,
  signal: AbortSignal,
): Promise<VolumeSnapshotClass | undefined> {
  const { volumeSnapshotClassName: name } = spec;
  if (name) {
    const own = await getIfAny(store, VolumeSnapshotClasses, { name }, signal);
    if (own !== undefined) return own;
    throw CsiError.unavailable(
      `VolumeSnapshotClass ${name}, which names the driver's secret, does not exist`,
    );
  }
  const { items } = await store.list(VolumeSnapshotClasses, { signal });
  const defaults = items.filter(
    (each) => each.driver === driver && each.metadata.annotations?.[DEFAULT_SNAPSHOT_CLASS] === "true",
  );
  if (defaults.length < 2) return defaults[0];
  const names = defaults.map(({ metadata }) => metadata.name).join(", ");
  throw CsiError.unavailable(`${names} are all the default VolumeSnapshotClass of ${driver}`);
}
