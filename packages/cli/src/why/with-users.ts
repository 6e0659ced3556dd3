import { PersistentVolumes } from "@mooring/store";
import { claimsByHandle } from "../volume/claims.ts";
import { type Context, read } from "./context.ts";
import { explainClaim } from "./explain-claim.ts";
import { lostMountsOf } from "./explain-lost-mounts.ts";
import { explainPersistentVolume } from "./explain-persistent-volume.ts";
import { explainVolume } from "./explain-volume.ts";
import type { Finding } from "./finding.ts";

/** A claim, and what its pods have lost of it. */
export async function claimAndUsers(context: Context, namespace: string, name: string): Promise<Finding> {
  return withUsers(context, await explainClaim(context, namespace, name), `${namespace}/${name}`);
}

/** A PersistentVolume, and what the pods of its claim have lost of it. */
export async function persistentVolumeAndUsers(context: Context, name: string): Promise<Finding> {
  const { namespace, name: claim } = (await read(context, PersistentVolumes, { name }))?.spec?.claimRef ?? {};
  const found = await explainPersistentVolume(context, name);
  return claim === undefined ? found : withUsers(context, found, `${namespace}/${claim}`);
}

/** A volume of ours, and what the pods of its claim have lost of it. */
export async function volumeAndUsers(context: Context, name: string): Promise<Finding> {
  const claim = (await claimsByHandle(context.store)).get(name);
  const found = await explainVolume(context, name);
  return claim === undefined ? found : withUsers(context, found, claim);
}

async function withUsers(context: Context, found: Finding, claim: string): Promise<Finding> {
  const [namespace = "", name = ""] = claim.split("/");
  return { ...found, children: [...found.children, ...(await lostMountsOf(context, namespace, name))] };
}
