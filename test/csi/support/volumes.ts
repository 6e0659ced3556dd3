import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import type { CsiClient } from "@mooring/csi";
import {
  type CapabilityChoice,
  type CapabilityInit,
  capability,
  codeOf,
  failureOf,
  MIB,
} from "../../../packages/driver/src/testing/world.ts";
import { type Driver, NODE } from "./driver.ts";

export { type CapabilityChoice, type CapabilityInit, capability, codeOf, failureOf, MIB };
export const GIB = 1024n * MIB;

/** What tests change in a CreateVolume request. */
export interface CreateVolumeInit {
  capacityRange?: { requiredBytes?: bigint; limitBytes?: bigint };
  volumeCapabilities?: CapabilityInit[];
  parameters?: Record<string, string>;
  secrets?: Record<string, string>;
  volumeContentSource?: {
    type:
      | { case: "snapshot"; value: { snapshotId: string } }
      | { case: "volume"; value: { volumeId: string } };
  };
}
export type Volume = NonNullable<Awaited<ReturnType<CsiClient["controller"]["createVolume"]>>["volume"]>;

/** CreateVolume of 16 MiB for ext4 by default. */
export async function createVolume(
  driver: Driver,
  name: string,
  more: CreateVolumeInit & { choice?: CapabilityChoice; size?: bigint } = {},
): Promise<Volume> {
  const { choice = {}, size = 16n * MIB, ...rest } = more;
  const { volume } = await driver.controller.createVolume({
    name,
    capacityRange: { requiredBytes: size },
    volumeCapabilities: [capability(choice)],
    ...rest,
  });
  assert.ok(volume, "OK comes with a volume");
  return volume;
}

export async function volumeId(...args: Parameters<typeof createVolume>): Promise<string> {
  return (await createVolume(...args)).volumeId;
}

export async function remove(driver: Driver, ...ids: string[]): Promise<void> {
  for (const id of ids) await driver.controller.deleteVolume({ volumeId: id });
}

export async function createSnapshot(driver: Driver, name: string, sourceVolumeId: string) {
  const { snapshot } = await driver.controller.createSnapshot({ name, sourceVolumeId });
  assert.ok(snapshot, "OK comes with a snapshot");
  return snapshot;
}

export async function attach(driver: Driver, id: string, choice: CapabilityChoice = {}) {
  return driver.controller.controllerPublishVolume({
    ...{ volumeId: id, nodeId: NODE, volumeCapability: capability(choice) },
  });
}

export async function detach(driver: Driver, id: string): Promise<void> {
  await driver.controller.controllerUnpublishVolume({ volumeId: id, nodeId: NODE });
}

/** A volume that is made, attached and staged. */
export interface Staged {
  id: string;
  staging: string;
  publish(target: string, more?: object, choice?: CapabilityChoice): Promise<unknown>;
  unpublish(target: string): Promise<unknown>;
  /** Unstages, detaches and deletes it. */
  undo(): Promise<void>;
}

export async function staged(
  driver: Driver,
  name: string,
  more: Parameters<typeof createVolume>[2] = {},
): Promise<Staged> {
  const id = await volumeId(driver, name, more);
  const choice = more.choice ?? {};
  const { node } = driver;
  await attach(driver, id, choice);
  const staging = driver.path(`staging-${id}`);
  await mkdir(staging, { recursive: true });
  await node.nodeStageVolume({
    ...{ volumeId: id, stagingTargetPath: staging, volumeCapability: capability(choice) },
  });
  return {
    id,
    staging,
    publish: (target, rest = {}, other = choice) =>
      node.nodePublishVolume({
        ...{ volumeId: id, stagingTargetPath: staging, targetPath: target },
        ...{ volumeCapability: capability(other), ...rest },
      }),
    unpublish: (target) => node.nodeUnpublishVolume({ volumeId: id, targetPath: target }),
    undo: async () => {
      await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: staging });
      await detach(driver, id);
      await remove(driver, id);
    },
  };
}

/** Asserts code and a message that an operator can read; returns the message. */
export async function fails(code: string, call: Promise<unknown>, text?: RegExp): Promise<string> {
  const failure = await failureOf(call);
  assert.equal(failure.code, code, failure.message);
  assert.ok(failure.message.length > 10, `the message is long enough: ${failure.message}`);
  if (text !== undefined) assert.match(failure.message, text);
  return failure.message;
}

/** The codes of calls that were all made at once. */
export function codesOf(...calls: Promise<unknown>[]): Promise<string[]> {
  return Promise.all(calls.map(codeOf));
}
