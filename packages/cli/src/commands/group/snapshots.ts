import { VolumeGroupRestores, VolumeGroups } from "@mooring/sidecars";
import { defined, VolumeGroupSnapshots } from "@mooring/store";
import type { Command } from "commander";
import { openNamespace } from "../../client/client.ts";
import { renderGroup } from "../../group/render.ts";
import { showGroup } from "../../group/report.ts";
import { createGroupRestore, renderRestore, untilComplete } from "../../group/restore.ts";
import { createGroupRevert, untilReverted } from "../../group/revert.ts";
import { createGroupSnapshot, selectorOf, untilReady } from "../../group/snapshot.ts";
import { phaseLine } from "../../group/wait.ts";
import { CommandError } from "../../output/command-error.ts";
import { print } from "../../output/print.ts";
import { pairsOption, patient, printMade, type Shared, takenName, type Waiting, waiting } from "./shared.ts";

interface SnapshotOptions extends Waiting {
  selector?: string;
  group?: string;
  class?: string;
}

async function snapshot(name: string, options: SnapshotOptions): Promise<void> {
  const { class: className, group: ofGroup, timeout } = options;
  if ((options.selector === undefined) === (ofGroup === undefined))
    throw new CommandError("say whose snapshot it is", {
      next: "name a volume group (--group db), or labels of claims (--selector app=db), and not both",
    });
  const of = ofGroup === undefined ? { selector: selectorOf(options.selector ?? "") } : { group: ofGroup };
  const { store, namespace } = await openNamespace(options);
  // A group that does not exist is not waited for.
  if (ofGroup !== undefined) await store.get(VolumeGroups, { namespace, name: ofGroup });
  const wish = { namespace, name, of, ...defined({ className }) };
  await createGroupSnapshot(store, wish).catch(takenName(`mooring group delete vgs/${name}`));
  if (options.wait) await untilReady(store, { namespace, name, seconds: timeout / 1000 });
  const group = await showGroup(store, namespace, name);
  print(options, group, () => renderGroup(group));
}

interface RestoreOptions extends Waiting {
  from: string;
  template?: string;
  class?: string;
  into?: string;
  groupClass?: string;
  size: Record<string, string>;
  name: Record<string, string>;
}

async function restore(name: string, options: RestoreOptions): Promise<void> {
  const { class: className, from, groupClass, into: groupName, template } = options;
  if (groupClass !== undefined && groupName === undefined)
    throw new CommandError("--group-class is the class of the group that --into makes", {
      next: "name the group as well: --into NAME",
    });
  const into =
    groupName === undefined
      ? undefined
      : { name: groupName, ...defined({ volumeGroupClassName: groupClass }) };
  const { store, namespace } = await openNamespace(options);
  const created = await createGroupRestore(store, {
    ...{ namespace, name, from, sizes: options.size, names: options.name },
    ...defined({ template, className, into }),
  }).catch(takenName(`mooring group delete ${name} --restore`));
  const until = (seconds: number) => untilComplete(store, { namespace, name, seconds });
  await printMade(options, created, until, renderRestore);
}

async function revert(name: string, options: Waiting & { from: string }): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  const wish = { namespace, name, from: options.from };
  const next = `kubectl delete volumegrouprevert ${name} -n ${namespace}`;
  const created = await createGroupRevert(store, wish).catch(takenName(next));
  const until = (seconds: number) => untilReverted(store, { namespace, name, seconds });
  await printMade(options, created, until, phaseLine);
}

interface WaitOptions extends Shared {
  restore?: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** Of an object that is there: one that does not exist is not waited for. */
async function wait(name: string, options: WaitOptions): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  const awaited = { namespace, name, seconds: options.timeout / 1000 };
  if (options.restore === true) {
    const present = await store.get(VolumeGroupRestores, { namespace, name });
    const done = (await untilComplete(store, awaited)) ?? present;
    return print(options, done, () => renderRestore(done));
  }
  await store.get(VolumeGroupSnapshots, { namespace, name });
  await untilReady(store, awaited);
  const group = await showGroup(store, namespace, name);
  print(options, group, () => renderGroup(group));
}

/** Snapshots of groups, and what is made of them. */
export function addSnapshotCommands(group: Command): void {
  const snapshots = group.command("snapshot").description("group snapshots");
  waiting(
    snapshots
      .command("create")
      .description("make a snapshot of all claims of a group, or with these labels, at one moment"),
  )
    .argument("<name>", "name of the new group snapshot")
    .option("-g, --group <name>", "which volume group; its membership is frozen until the snapshot is made")
    .option("-l, --selector <labels>", "which claims: 'app=db,tier in (a,b)'")
    .option("--class <name>", "VolumeGroupSnapshotClass (default: the driver's default class)")
    .action(snapshot);
  waiting(group.command("restore").description("make one claim per member of a group snapshot"))
    .argument("<name>", "name of the new restore")
    .requiredOption("--from <name>", "the group snapshot")
    .option("--template <text>", "names of the claims (default: {{claim}}-{{restore}})")
    .option("--class <name>", "StorageClass of all claims (default: that of each source claim)")
    .option("--into <group>", "make a volume group of the claims")
    .option("--group-class <name>", "VolumeGroupClass of that group (default: the default class)")
    .addOption(
      pairsOption("--size <claim=size>", "a larger size for the claim restored from this one", "data=10Gi"),
    )
    .addOption(
      pairsOption("--name <claim=name>", "another name for the claim restored from this one", "data=copy"),
    )
    .action(restore);
  waiting(
    group
      .command("revert")
      .description("put all members of a group snapshot back in place, or none; newer writes are lost"),
  )
    .argument("<name>", "name of the new revert")
    .requiredOption("--from <name>", "the group snapshot")
    .action(revert);
  patient(group.command("wait").description("wait until a group snapshot is ready, or a restore complete"))
    .argument("<name>", "the group snapshot, or with --restore the restore")
    .option("--restore", "wait for the VolumeGroupRestore of this name")
    .action(wait);
}
