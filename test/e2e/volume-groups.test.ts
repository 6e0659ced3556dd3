import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { sample, thorough } from "@mooring/store/testing";
import { blocksBelow } from "../docs/markdown.ts";
import { claim } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { world } from "../support/world.ts";

/** That of the other files of copies, which have the same world. */
const [pool = "xfs"] = sample(["xfs", "btrfs"] as const, { everyday: 1 });
const KIND = { apiVersion: "storage.mooring.dev/v1alpha1" };

test("a volume group of our own volumes: claims join it, its snapshot is made by its name, and it ends without them", async (t) => {
  const { kubectl, up } = await world({ pool });
  const run = (...args: string[]) => mooring(...args, "--kubeconfig", up.kubeconfig);
  const done = async (...args: string[]): Promise<string> => {
    const { code, stderr, stdout } = await run(...args);
    assert.equal(code, 0, `mooring ${args.join(" ")}: ${stderr}${up.output.slice(-3000)}`);
    return stdout;
  };
  const page = await readFile(new URL("../../docs/tasks/volume-groups.md", import.meta.url), "utf8");
  /** What is typed at a prompt, one argument after the other; a quoted one is one. */
  const commandsOf = (block: string): string[] =>
    [...block.matchAll(/^\$ (.+)$/gm)].map(([, line = ""]) => line);
  const typed = (line: string): Promise<string> => {
    const [program, ...args] = [...line.matchAll(/'([^']*)'|[^\s']+='[^']*'|\S+/g)].map(
      ([whole, quoted]) => quoted ?? whole.replaceAll("'", ""),
    );
    assert.equal(program, "kubectl");
    return kubectl.run(...args);
  };
  const states = () => kubectl.run("get", "vg", "db", "-o", "jsonpath={.status.members[*].state}");
  const policy = { driver: "csi.mooring.dev", deletionPolicy: "Delete" };
  const source = { selector: { matchLabels: { app: "pair" } } };
  for (const object of [
    { ...KIND, kind: "VolumeGroupClass", metadata: { name: "together" }, ...policy },
    {
      ...KIND,
      kind: "VolumeGroup",
      metadata: { name: "db", namespace: "default" },
      spec: { volumeGroupClassName: "together", source },
    },
    ...["a", "b"].map((name) => {
      const made = claim("default", name);
      return { ...made, metadata: { ...made.metadata, labels: { app: "pair" } } };
    }),
    claim("default", "c"),
  ])
    await kubectl.apply(JSON.stringify(object));

  await t.test("by its selector, and kubectl waits for it", async () => {
    await kubectl.run("wait", "--for=jsonpath={.status.memberCount}=2", "vg/db", "--timeout=120s");
    await kubectl.run("wait", "--for=condition=MembersSynced", "vg/db", "--timeout=120s");
    assert.equal(await states(), "Joined Joined");
  });

  await t.test("a group snapshot by the group's name has the group's members", async () => {
    await kubectl.apply(
      JSON.stringify({
        apiVersion: "groupsnapshot.storage.k8s.io/v1",
        kind: "VolumeGroupSnapshot",
        metadata: {
          name: "noon",
          namespace: "default",
          annotations: { "storage.mooring.dev/volume-group": "db" },
        },
        spec: { source: { selector: {} } },
      }),
    );
    await kubectl.run("wait", "--for=jsonpath={.status.readyToUse}=true", "vgs/noon", "--timeout=120s");
    const { members } = JSON.parse(await done("group", "show", "noon", "--json"));
    assert.deepEqual(members.map((each: { claim: string }) => each.claim).sort(), ["a", "b"]);
    await done("group", "delete", "noon");
  });

  await t.test("mooring group create, add, remove and show", thorough(), async () => {
    const shown = await done("group", "add", "db", "c");
    assert.match(shown, /^default\/db: ready$/m);
    assert.match(shown, /^c +Joined +Joined/m);
    const kept = await run("group", "remove", "db", "a");
    assert.equal(kept.code, 1);
    assert.match(kept.stderr, /its selector still selects a: take the label away/);
    assert.doesNotMatch(await done("group", "remove", "db", "c"), /^c /m);
    assert.match(await done("group", "create", "solo", "c", "--class", "together"), /^c +Joined/m);
    const taken = await run("group", "add", "db", "c");
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /claim c is left out: the claim is in VolumeGroup solo/);
    const why = await run("why", "vg/db");
    assert.equal(why.code, 1);
    assert.match(why.stdout, /PersistentVolumeClaim default\/c: LeftOut: the claim is in VolumeGroup solo/);
    assert.match(why.stdout, /take it out of the group that has it: mooring group remove solo c -n default/);
    await done("group", "remove", "db", "c");
    assert.match(await done("why", "vg/db"), /^ok +VolumeGroup default\/db: ready, with 2 volumes/);
  });

  await t.test("mooring group snapshot create, list and delete", thorough(), async () => {
    assert.match(await done("group", "snapshot", "create", "solo", "--group", "solo"), /^c +snapshot-/m);
    const both = await run("group", "delete", "solo");
    assert.equal(both.code, 2);
    assert.match(both.stderr, /say which: vg\/solo or vgs\/solo/);
    assert.match(await done("group", "list"), /^default +solo +yes +yes +1 +1/m);
    await done("group", "delete", "vgs/solo");
    assert.match(await done("group", "delete", "vg/solo"), /default\/solo deleted; its claims stay/);
  });

  await t.test(
    "a group from the group, at one moment, and nothing else is left of it",
    thorough(),
    async () => {
      const shown = await done("group", "clone", "copy", "--from", "db");
      assert.match(shown, /^default\/copy: Ready: VolumeGroup copy is ready$/m);
      assert.match(shown, /^b +b-copy$/m);
      await kubectl.run("wait", "--for=condition=Ready", "volumegroupclone/copy", "--timeout=120s");
      const members = await kubectl.run("get", "vg", "copy", "-o", "jsonpath={.status.members[*].claimName}");
      assert.equal(members, "a-copy b-copy");
      const left = await kubectl.run("get", "vgs,volumesnapshot,volumegrouprestore,snapshots", "-o", "name");
      assert.equal(left.trim(), "");
      assert.match(await done("why", "volumegroupclone/copy"), /^ok +VolumeGroupClone default\/copy: Ready/);
      await done("group", "delete", "vg/copy");
      await kubectl.run("delete", "volumegroupclone", "copy");
      await kubectl.run("delete", "pvc", "a-copy", "b-copy");
      const missing = await run("group", "clone", "never", "--from", "nobody", "--timeout", "1");
      assert.equal(missing.code, 1);
      assert.match(missing.stderr, /after 1 s VolumeGroup nobody does not exist/);
      await kubectl.run("delete", "volumegroupclone", "never");
    },
  );

  await t.test("one patch grows all members, and kubectl waits for it", async () => {
    const shown = await done("group", "expand", "db", "96Mi");
    assert.match(shown, /^size: \d of 2 members have 96Mi$/m);
    const sizes = await kubectl.run(
      "get",
      "pvc",
      "a",
      "b",
      "-o",
      "jsonpath={.items[*].spec.resources.requests.storage}",
    );
    assert.equal(sizes, "96Mi 96Mi");
    for (const grown of ["VolumesExpanded", "Expanded"])
      await kubectl.run("wait", `--for=condition=${grown}`, "vg/db", "--timeout=120s");
    assert.equal((await run("group", "expand", "db", "64Mi")).code, 1);
  });

  await t.test("restored into a new group, whose class takes its claims along", thorough(), async () => {
    await kubectl.apply(
      JSON.stringify({
        ...{ ...KIND, kind: "VolumeGroupClass", metadata: { name: "for-good" }, ...policy },
        deleteMembers: "true",
      }),
    );
    await done("group", "snapshot", "create", "eve", "--group", "db");
    const restored = ["group", "restore", "again", "--from", "eve", "--into", "copies"];
    await done(...restored, "--group-class", "for-good");
    const copies = await done("group", "show", "copies");
    assert.match(copies, /^a-again +Joined +Joined/m);
    assert.match(copies, /^b-again +Joined +Joined/m);
    const unsaid = await run("group", "delete", "copies");
    assert.equal(unsaid.code, 1);
    assert.match(unsaid.stderr, /deletes its 2 claims and their data.*\nnext: .*--with-claims/);
    assert.match(await done("group", "delete", "copies", "--with-claims"), /deleted with its claims/);
    await kubectl.run("wait", "--for=delete", "pvc/a-again", "pvc/b-again", "--timeout=120s");
    await done("group", "delete", "eve");
  });

  await t.test("it ends, and its claims stay", async () => {
    await kubectl.run("delete", "vg", "db", "--timeout=120s");
    assert.equal((await kubectl.run("get", "volumesets,vgcontent", "-o", "name")).trim(), "");
    const phases = await kubectl.run("get", "pvc", "-o", "jsonpath={.items[*].status.phase}");
    assert.equal(phases, "Bound Bound Bound", "the claims stay");
  });

  await t.test("the page's way to bring in a group that was left behind", thorough(), async () => {
    await kubectl.apply(
      JSON.stringify({
        ...{ ...KIND, kind: "VolumeGroupClass", metadata: { name: "kept" } },
        ...{ driver: "csi.mooring.dev", deletionPolicy: "Retain" },
      }),
    );
    await done("group", "create", "old", "a", "b", "--class", "kept");
    await kubectl.run("delete", "vg", "old", "--timeout=120s");
    const heading = "## Bring in a group that exists";
    const [list = "", wait = ""] = blocksBelow(page, heading, "console");
    const [find = "", remove = ""] = commandsOf(list);
    const [, name = "", policy = "", handle = ""] =
      /^(\S+) +(\S+) +(\S+)$/m.exec((await typed(find)).split("\n")[1] ?? "") ?? [];
    assert.deepEqual([policy, handle.slice(0, 3)], ["Retain", "vg-"]);
    await typed(remove.replace("NAME", name));
    const [manifest = ""] = blocksBelow(page, heading, "yaml");
    await kubectl.apply(manifest.replace("vg-123", handle));
    let shown = "";
    for (const line of commandsOf(wait)) shown = await typed(line);
    assert.equal(shown, "a b");
    await kubectl.run(
      "patch",
      "vgcontent",
      "old-db",
      "--type=merge",
      "-p",
      '{"spec":{"deletionPolicy":"Delete"}}',
    );
    await kubectl.run("delete", "vg", "db", "--timeout=120s");
    await kubectl.run("delete", "vgcontent", "old-db", "--ignore-not-found", "--timeout=120s");
    assert.equal((await kubectl.run("get", "volumesets,vgcontent", "-o", "name")).trim(), "");
  });

  await t.test(
    "the page's group with a secret waits for it, says so, and ends without it",
    thorough(),
    async () => {
      const [manifest = ""] = blocksBelow(page, "## Secrets", "yaml");
      const [make = "", wait = ""] = commandsOf(blocksBelow(page, "## Secrets", "console")[0] ?? "");
      await kubectl.apply(manifest.replace("[data]", "[c]"));
      await kubectl.run("wait", "--for=condition=Degraded", "vg/vault", "--timeout=120s");
      const why = await run("why", "vg/vault");
      assert.match(why.stdout, /groups-vault/);
      await typed(make);
      await typed(wait);
      await kubectl.run("wait", "--for=condition=MembersSynced", "vg/vault", "--timeout=120s");
      const objects = await kubectl.run("get", "vg,vgcontent,volumesets,events", "-o", "yaml");
      assert.doesNotMatch(objects + up.output, /wanted-by-the-storage-system/);
      await kubectl.run("delete", "secret", "groups-vault");
      await kubectl.run("delete", "vg", "vault", "--timeout=120s");
      assert.equal((await kubectl.run("get", "volumesets,vgcontent", "-o", "name")).trim(), "");
    },
  );
});
