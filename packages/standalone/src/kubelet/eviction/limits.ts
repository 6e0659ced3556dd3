import { formatQuantity, type Pod, parseQuantity } from "@mooring/store";

/** Bytes on the machine's disk that a pod uses. */
export interface StorageUse {
  /** Of each container: its own layer, and its logs. */
  containers: ReadonlyMap<string, bigint>;
  /** Of each emptyDir that is on disk. */
  emptyDirs: ReadonlyMap<string, bigint>;
}

type Spec = NonNullable<Pod["spec"]>;
type Container = Spec["containers"][number];
type Volume = NonNullable<Spec["volumes"]>[number];

const RESOURCE = "ephemeral-storage";

/** Volumes that take space of the machine's disk, and that no driver keeps to a size. */
export function emptyDirsOnDisk({ spec }: Pod): Volume[] {
  return (spec?.volumes ?? []).filter(({ emptyDir }) => emptyDir && emptyDir.medium !== "Memory");
}

/** Something of the pod has a limit that only measuring can keep. */
export function isBounded(pod: Pod): boolean {
  return emptyDirsOnDisk(pod).some(({ emptyDir }) => emptyDir?.sizeLimit) || totalLimit(pod) !== undefined;
}

/** Why a pod that uses so much has to go, in the kubelet's words; undefined when it may stay. */
export function exceededLimit(pod: Pod, use: StorageUse): string | undefined {
  for (const { name, emptyDir } of emptyDirsOnDisk(pod)) {
    const limit = emptyDir?.sizeLimit;
    if (limit && exceeds(use.emptyDirs.get(name), parseQuantity(limit)))
      return `Usage of EmptyDir volume "${name}" exceeds the limit "${limit}". `;
  }
  const total = totalLimit(pod);
  if (total === undefined) return undefined;
  if (exceeds(sum([...use.containers.values(), ...use.emptyDirs.values()]), total))
    return `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(total)}. `;
  const over = limitsOf(pod.spec?.containers).find(({ name, bytes }) =>
    exceeds(use.containers.get(name), bytes),
  );
  if (over === undefined) return undefined;
  return `Container ${over.name} exceeded its local ephemeral storage limit "${over.text}". `;
}

/** As in the kubelet, a limit of any container bounds the pod: init containers come before the others, sidecars stay beside them. */
function totalLimit({ spec }: Pod): bigint | undefined {
  const isSidecar = ({ restartPolicy }: Container) => restartPolicy === "Always";
  const init = spec?.initContainers ?? [];
  const together = limitsOf([...(spec?.containers ?? []), ...init.filter(isSidecar)]);
  const before = limitsOf(init.filter((each) => !isSidecar(each))).map(({ bytes }) => bytes);
  if (together.length + before.length === 0) return undefined;
  const all = sum(together.map(({ bytes }) => bytes));
  return before.reduce((most, bytes) => (bytes > most ? bytes : most), all);
}

function limitsOf(containers: readonly Container[] = []): { name: string; text: string; bytes: bigint }[] {
  return containers.flatMap(({ name, resources }) => {
    const text = resources?.limits?.[RESOURCE];
    return text === undefined ? [] : [{ name, text: String(text), bytes: parseQuantity(text) }];
  });
}

/** As in the kubelet, a limit of 0 is none. */
function exceeds(used: bigint = 0n, limit: bigint): boolean {
  return limit > 0n && used > limit;
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}
