import { VolumeGroupRestores, VolumeGroups } from "@mooring/sidecars";
import { VolumeGroupSnapshots } from "@mooring/store";
import type { Command } from "commander";
import { openNamespace } from "../../client/client.ts";
import {
  deletesMembers,
  listVolumeGroups,
  renderVolumeGroup,
  renderVolumeGroups,
  showVolumeGroup,
} from "../../group/group-report.ts";
import { renderGroup, renderList } from "../../group/render.ts";
import { listGroups, showGroup } from "../../group/report.ts";
import { untilGone } from "../../group/snapshot.ts";
import { targetOf } from "../../group/target.ts";
import { untilGroupGone } from "../../group/until-group.ts";
import { CommandError } from "../../output/command-error.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { print } from "../../output/print.ts";
import { type Shared, shared, type Waiting, waiting } from "./shared.ts";

async function list(options: Shared & { allNamespaces?: boolean }): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  const where = options.allNamespaces === true ? undefined : namespace;
  const [groups, snapshots] = await Promise.all([listVolumeGroups(store, where), listGroups(store, where)]);
  print(options, [...groups, ...snapshots], (wide) => {
    const now = new Date();
    const first = renderVolumeGroups(groups, now, wide);
    const second = groups.length > 0 && snapshots.length === 0 ? "" : renderList(snapshots, now, wide);
    return [first, second].filter((each) => each !== "").join("\n");
  });
}

async function show(text: string, options: Shared): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  const { kind, name } = await targetOf(store, namespace, text);
  if (kind === "vg") {
    const group = await showVolumeGroup(store, namespace, name);
    print(options, group, () => renderVolumeGroup(group));
    if (!group.ready) process.exitCode = EXIT.negative;
    return;
  }
  const group = await showGroup(store, namespace, name);
  print(options, group, () => renderGroup(group));
  if (!group.ready) process.exitCode = EXIT.negative;
}

interface DeleteOptions extends Waiting {
  restore?: boolean;
  withClaims?: boolean;
}

async function remove(text: string, options: DeleteOptions): Promise<void> {
  const seconds = options.timeout / 1000;
  const { store, namespace } = await openNamespace(options);
  if (options.restore === true) {
    const left = await store.delete(VolumeGroupRestores, { namespace, name: text });
    return print(options, left, () => `${namespace}/${text} deleted; claims that it has made stay\n`);
  }
  const { kind, name } = await targetOf(store, namespace, text);
  const what = options.wait ? "deleted" : "is being deleted";
  if (kind === "vgs") {
    const left = await store.delete(VolumeGroupSnapshots, { namespace, name });
    if (options.wait) await untilGone(store, { namespace, name, seconds });
    return print(
      options,
      left,
      () => `${namespace}/${name} ${what}; claims that were restored from it stay\n`,
    );
  }
  const group = await showVolumeGroup(store, namespace, name);
  const takesMembers = await deletesMembers(store, group);
  if (takesMembers && options.withClaims !== true)
    throw new CommandError(
      `deleting VolumeGroup ${name} deletes its ${group.memberCount} claims and their data (deleteMembers: "true")`,
      {
        next: `say so: mooring group delete vg/${name} --with-claims; or take claims out first: mooring group remove ${name} CLAIM`,
        exitCode: EXIT.negative,
      },
    );
  const left = await store.delete(VolumeGroups, { namespace, name });
  if (options.wait) await untilGroupGone(store, { namespace, name, seconds });
  print(
    options,
    left,
    () => `${namespace}/${name} ${what}${takesMembers ? " with its claims" : "; its claims stay"}\n`,
  );
}

const TARGET = "a volume group or a group snapshot; vg/NAME or vgs/NAME where both have the name";

/** What is there for volume groups and for group snapshots alike. */
export function addCommonCommands(group: Command): void {
  shared(group.command("list").alias("ls").description("list volume groups and group snapshots"), {
    wide: true,
  })
    .option("-A, --all-namespaces", "of all namespaces")
    .action(list);
  shared(
    group
      .command("show")
      .alias("describe")
      .description("one volume group with its members, or one group snapshot: members, barrier, restores"),
  )
    .argument("<name>", TARGET)
    .action(show);
  waiting(
    group
      .command("delete")
      .alias("rm")
      .description("delete a volume group, whose claims stay, or a group snapshot and its members"),
  )
    .argument("<name>", `${TARGET}; with --restore the restore`)
    .option("--restore", "delete the VolumeGroupRestore of this name; its claims stay")
    .option("--with-claims", "a group whose class deletes its members takes its claims and their data along")
    .action(remove);
}
