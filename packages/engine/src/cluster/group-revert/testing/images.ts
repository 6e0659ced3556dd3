import { open } from "node:fs/promises";
import { join } from "node:path";
import { POOL } from "../../../testing/agent.ts";

/** Volumes of the crash test, and the snapshots that they go back to. */
export const GROUP: Readonly<Record<string, string>> = { "v-p-1": "s-p-1", "v-p-2": "s-p-2" };

export function imageOf(dir: string, id: string): string {
  return join(dir, "state", "pools", POOL, "mnt", "images", `${id}.img`);
}

/** The first bytes of every member. */
export async function present(dir: string): Promise<string[]> {
  return Promise.all(
    Object.keys(GROUP).map(async (volume) => {
      const file = await open(imageOf(dir, volume), "r");
      const { buffer } = await file.read(Buffer.alloc(3), 0, 3, 0);
      await file.close();
      return buffer.toString();
    }),
  );
}
