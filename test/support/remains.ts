import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "@mooring/store/testing";
import { remains } from "../../packages/cli/src/demo/machine.ts";

/** Mounts, loop devices and processes that still use the folder: the kernel's word. */
export async function machineRemains(folder: string): Promise<string[]> {
  const { mounts, loops, processes } = await remains(folder);
  return [...mounts, ...loops, ...processes];
}

/**
 * Fails when something uses the folder. A device that was detached may stay for a moment: another program of the machine that
 * has just got a mount namespace of its own, as containers do, has copies of all mounts until it has put them away.
 */
export async function nothingRemains(folder: string): Promise<void> {
  const { mounts, processes } = await remains(folder);
  assert.deepEqual([...mounts, ...processes], []);
  const devices = async () => (await remains(folder)).loops;
  await eventually("no device to be left", async () => (await devices()).length === 0, { lastSeen: devices });
}

/** Files below a folder, with their whole paths. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
