import assert from "node:assert/strict";
import type { Host, LoopDevice } from "../host/host.ts";

/** What a device (`/dev/loop3`) is attached to now, as one that a test knows by its path only. */
export async function attachmentAt(
  host: Pick<Host, "loops">,
  device: string | undefined,
): Promise<LoopDevice> {
  const loop = device === undefined ? undefined : await host.loops.at(device);
  assert.ok(loop, `${device} has no file`);
  return loop;
}
