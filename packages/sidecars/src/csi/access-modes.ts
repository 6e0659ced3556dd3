/** Names of csi.v1 VolumeCapability.AccessMode.Mode. */
export type ModeName =
  | "SINGLE_NODE_WRITER"
  | "MULTI_NODE_READER_ONLY"
  | "MULTI_NODE_MULTI_WRITER"
  | "SINGLE_NODE_SINGLE_WRITER"
  | "SINGLE_NODE_MULTI_WRITER";

const PLAIN: Readonly<Record<string, ModeName>> = {
  ReadWriteMany: "MULTI_NODE_MULTI_WRITER",
  ReadOnlyMany: "MULTI_NODE_READER_ONLY",
  ReadWriteOnce: "SINGLE_NODE_WRITER",
  ReadWriteOncePod: "SINGLE_NODE_WRITER",
};

/** For drivers with SINGLE_NODE_MULTI_WRITER, which distinguish one pod from one node. */
const FINE: Readonly<Record<string, ModeName>> = {
  ...PLAIN,
  ReadWriteOnce: "SINGLE_NODE_MULTI_WRITER",
  ReadWriteOncePod: "SINGLE_NODE_SINGLE_WRITER",
};

/** The CSI mode of one Kubernetes access mode; undefined for a mode that does not exist. */
export function toMode(accessMode: string, singleNodeMultiWriter: boolean): ModeName | undefined {
  return (singleNodeMultiWriter ? FINE : PLAIN)[accessMode];
}

type ModeChoice = { mode: ModeName } | { error: string };

/**
 * The one CSI mode that stands for a volume's whole set of access modes (attach and expand take one capability).
 * Many-writers wins over everything; a reader-only set cannot be mixed with a single writer.
 */
export function chooseMode(accessModes: readonly string[], singleNodeMultiWriter: boolean): ModeChoice {
  const modes = new Set(accessModes);
  if (modes.size === 0) return { error: "the volume has no access modes" };
  if (modes.has("ReadWriteOncePod") && modes.size > 1)
    return { error: "the access mode ReadWriteOncePod cannot be combined with others" };
  if (modes.has("ReadWriteMany")) return { mode: "MULTI_NODE_MULTI_WRITER" };
  if (modes.has("ReadOnlyMany") && modes.has("ReadWriteOnce"))
    return { error: "CSI has no access mode for ReadOnlyMany together with ReadWriteOnce" };
  const [only] = modes;
  const mode = only === undefined ? undefined : toMode(only, singleNodeMultiWriter);
  return mode === undefined ? { error: `unsupported access mode ${String(only)}` } : { mode };
}
