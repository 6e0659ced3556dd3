import { CsiError } from "@mooring/csi";
import type { PublishRecord } from "./records.ts";

interface Publication {
  path: string;
  record: PublishRecord;
}

/**
 * The table of the specification for a second NodePublishVolume of one volume (section "NodePublishVolume"):
 *
 * | mode | same target, same arguments | same target, others | other target |
 * | --- | --- | --- | --- |
 * | MULTI_NODE_*, SINGLE_NODE_MULTI_WRITER | OK | ALREADY_EXISTS | OK |
 * | all others | OK | ALREADY_EXISTS | FAILED_PRECONDITION |
 *
 * One cell returns otherwise than the table has it: a block volume whose mode allows other targets is
 * FAILED_PRECONDITION at another target with another `readonly`. What is published is the device, and a device either
 * takes writes or refuses them, at all its targets alike: OK would make the reader writable, or stop the writer.
 *
 * `present` has what is mounted now. "done": nothing is left to do.
 */
export function decidePublish(present: readonly Publication[], wanted: Publication): "done" | "publish" {
  const same = present.find(({ path }) => path === wanted.path);
  if (same !== undefined) {
    if (same.record.arguments === wanted.record.arguments) return "done";
    throw CsiError.alreadyExists(`the volume is published at ${wanted.path} with other arguments`, {
      hint: "Unpublish it there first.",
    });
  }
  const other = present[0];
  if (other === undefined) return "publish";
  if (!wanted.record.multiTarget || !other.record.multiTarget) {
    throw CsiError.failedPrecondition(
      `the volume is published at ${other.path}, and its access mode allows one target`,
      {
        hint: "Unpublish it there first, or use SINGLE_NODE_MULTI_WRITER.",
      },
    );
  }
  const block = wanted.record.access === "block";
  if (block && present.some(({ record }) => record.readOnly !== wanted.record.readOnly)) {
    throw CsiError.failedPrecondition(
      `the block volume is published at ${other.path} ${other.record.readOnly ? "read-only" : "writable"}, and its device is the same for all targets`,
      { hint: "Unpublish it there first, or use the same readonly." },
    );
  }
  return "publish";
}
