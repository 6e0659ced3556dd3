import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Where the volume with the records, and the folder outside of it with the acknowledgements, are in containers. */
export const DATA = "/data";
export const ACKS = "/acks";

/** Every record says whose it is and which, and all have one length. */
const FORMAT = (owner: string): string => `${owner} record %016.0f`;
const lengthOf = (owner: string): number => `${owner} record `.length + 16 + 1;

/**
 * Writes one record after the other, each on disk (fsync) before its number goes into the acknowledgements. Started
 * again it goes on after the last acknowledged one, whatever the volume holds: what is lost stays missing.
 */
export function writing(owner: string): string {
  const length = lengthOf(owner);
  return `
    n=$(tail -n 1 ${ACKS}/acks 2>/dev/null || true)
    n=\${n:-0}
    while :; do
      n=$((n + 1))
      printf '${owner} record %016d\\n' $n |
        dd of=${DATA}/records bs=${length} seek=$((n - 1)) iflag=fullblock conv=notrunc,fsync status=none
      echo $n >> ${ACKS}/acks
      sleep 0.02
    done`;
}

/**
 * Compares a volume's records with what the writer wrote, and leaves the result as the container's last words:
 * `intact`, or what is wrong. `acknowledged`: shell text for the number of records that have to be there.
 */
export function auditing(owner: string, acknowledged: string): string {
  const length = lengthOf(owner);
  return `
    result() { echo "$*" > /dev/termination-log; exit 0; }
    acknowledged=${acknowledged}
    [ -e ${DATA}/records ] || result "no records, $acknowledged acknowledged"
    size=$(stat -c %s ${DATA}/records)
    records=$((size / ${length}))
    [ $((size % ${length})) = 0 ] || result "the last record is torn: $size bytes"
    [ $records -ge $acknowledged ] || result "only $records records, $acknowledged acknowledged"
    differs=$(seq -f '${FORMAT(owner)}' 1 $records | cmp -n $size - ${DATA}/records 2>&1) || result "corrupt: $differs"
    result intact`;
}

/** The result of {@link auditing} on a volume that has lost nothing. */
export const INTACT = "intact";
/** Shell text for the newest acknowledgement. */
export const ALL_ACKNOWLEDGED = `$(tail -n 1 ${ACKS}/acks)`;

/** How many records are acknowledged by now. `folder`: the one that containers see as {@link ACKS}. */
export async function acknowledged(folder: string): Promise<number> {
  const text = await readFile(join(folder, "acks"), "utf8").catch(() => "");
  // Behind the last line break is a number that is still being written.
  return Number(text.split("\n").at(-2) ?? 0);
}
