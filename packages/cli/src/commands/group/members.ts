import { defined } from "@mooring/store";
import type { Command } from "commander";
import { openNamespace } from "../../client/client.ts";
import { createGroupClone, renderClone, untilCloned } from "../../group/clone.ts";
import { renderVolumeGroup, showVolumeGroup } from "../../group/group-report.ts";
import { selectorOf } from "../../group/snapshot.ts";
import { areIn, areOut, untilExpanded, untilSynced } from "../../group/until-group.ts";
import { addClaims, createVolumeGroup, expandGroup, removeClaims } from "../../group/volume-group.ts";
import { print } from "../../output/print.ts";
import { printMade, takenName, type Waiting, waiting } from "./shared.ts";

async function shown(options: Waiting, name: string): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  const group = await showVolumeGroup(store, namespace, name);
  print(options, group, () => renderVolumeGroup(group));
}

interface CreateOptions extends Waiting {
  selector?: string;
  class?: string;
}

async function create(name: string, claims: string[], options: CreateOptions): Promise<void> {
  const { class: className, timeout } = options;
  const selector = options.selector === undefined ? undefined : selectorOf(options.selector);
  const { store, namespace } = await openNamespace(options);
  await createVolumeGroup(store, { namespace, name, claims, ...defined({ selector, className }) }).catch(
    takenName(`mooring group delete vg/${name}`),
  );
  if (options.wait) await untilSynced(store, { namespace, name, seconds: timeout / 1000 });
  await shown(options, name);
}

async function add(name: string, claims: string[], options: Waiting): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  await addClaims(store, { namespace, name, claims });
  const wish = { namespace, name, seconds: options.timeout / 1000 };
  if (options.wait) await untilSynced(store, wish, areIn(claims));
  await shown(options, name);
}

async function remove(name: string, claims: string[], options: Waiting): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  await removeClaims(store, { namespace, name, claims });
  const wish = { namespace, name, seconds: options.timeout / 1000 };
  if (options.wait) await untilSynced(store, wish, areOut(claims));
  await shown(options, name);
}

async function clone(name: string, options: Waiting & { from: string; template?: string }): Promise<void> {
  const { from, template } = options;
  const { store, namespace } = await openNamespace(options);
  const created = await createGroupClone(store, { namespace, name, from, ...defined({ template }) }).catch(
    takenName(`kubectl delete volumegroupclone ${name} -n ${namespace}`),
  );
  const until = (seconds: number) => untilCloned(store, { namespace, name, seconds });
  await printMade(options, created, until, renderClone);
}

async function expand(name: string, size: string, options: Waiting): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  await expandGroup(store, { namespace, name, size });
  if (options.wait) await untilExpanded(store, { namespace, name, seconds: options.timeout / 1000 });
  await shown(options, name);
}

/** Volume groups, and who is in them. */
export function addMemberCommands(group: Command): void {
  waiting(group.command("create").description("make a volume group of these claims"))
    .argument("<name>", "name of the new group")
    .argument("[claims...]", "claims that are to be in it")
    .option("-l, --selector <labels>", "all claims with these labels as well: 'app=db,tier in (a,b)'")
    .option("--class <name>", "VolumeGroupClass (default: the default class)")
    .action(create);
  waiting(group.command("add").description("put claims into a volume group"))
    .argument("<name>", "the group")
    .argument("<claims...>", "claims that are to be in it, too")
    .action(add);
  waiting(group.command("remove").description("take claims out of a volume group; they stay as they are"))
    .argument("<name>", "the group")
    .argument("<claims...>", "claims that are to leave it")
    .action(remove);
  waiting(
    group.command("clone").description("make a group from a group: copies of all its claims, of one moment"),
  )
    .argument("<name>", "name of the new group")
    .requiredOption("--from <group>", "the group that is cloned")
    .option("--template <text>", "names of the claims (default: {{claim}}-NAME)")
    .action(clone);
  waiting(group.command("expand").description("make every member of a volume group at least this large"))
    .argument("<name>", "the group")
    .argument("<size>", "such as 10Gi; larger members stay as they are")
    .action(expand);
}
