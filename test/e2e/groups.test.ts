import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, sample, thorough } from "@mooring/store/testing";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { world } from "../support/world.ts";

/**
 * One program writes the same number to two claims, the second only when it is durable on the first: from whatever
 * moment, `b` equals `a` or is one behind.
 */
const WRITE = `
n=0
while :; do
  n=$((n+1))
  echo $n > /a/n.tmp; sync /a/n.tmp; mv /a/n.tmp /a/n; sync /a
  echo $n > /b/n.tmp; sync /b/n.tmp; mv /b/n.tmp /b/n; sync /b
  echo $n
done`;
const READ = "cat /a/n /b/n";

for (const pool of sample(["xfs", "btrfs"] as const, { everyday: 1 })) {
  test(`mooring group on a pool of type ${pool}`, async (t) => {
    covers("KEP-038");
    const { up, kubectl, shows } = await world({ pool });
    const group = (...args: string[]) => mooring("group", ...args, "--kubeconfig", up.kubeconfig);
    const done = async (...args: string[]): Promise<string> => {
      const { code, stderr, stdout } = await group(...args);
      assert.equal(code, 0, `mooring group ${args.join(" ")}: ${stderr}${up.output.slice(-3000)}`);
      return stdout;
    };
    const labelled = (name: string) => {
      const object = claim("default", name);
      return { ...object, metadata: { ...object.metadata, labels: { app: "pair" } } };
    };
    for (const name of ["a", "b"]) await kubectl.apply(JSON.stringify(labelled(name)));
    await kubectl.apply(
      JSON.stringify(pod("default", "writer", WRITE, { mounts: { "/a": "a", "/b": "b" } })),
    );
    await shows(["pod", "writer"], "{.status.phase}", "Running");

    await t.test("snapshot create copies what the selector selects, under load, and shows how", async () => {
      const shown = await done("snapshot", "create", "noon", "--selector", "app in (pair)");
      assert.match(shown, /^default\/noon: ready$/m);
      assert.match(shown, /^barrier \S+ to \S+, method \S+, writers waited [\d.]+ ms$/m);
      assert.match(shown, /^a +snapshot-\w+ +yes +64Mi$/m);
      await kubectl.run("delete", "pod", "writer");
      assert.equal(JSON.parse(await done("wait", "noon", "--json")).ready, true);
      const [listed] = JSON.parse(await done("list", "--json"));
      assert.equal(listed.name, "noon");
      assert.deepEqual(listed.members.map((each: { claim: string }) => each.claim).sort(), ["a", "b"]);
    });

    await t.test("restore makes all claims, of one moment, and kubectl can wait for it", async () => {
      const shown = await done("restore", "again", "--from", "noon", "--size", "a=96Mi", "--name", "b=other");
      assert.match(shown, /^default\/again: Ready: 2 of 2 claims are bound$/m);
      assert.match(shown, /^a +a-again +96Mi +mooring +Bound/m);
      assert.match(shown, /^b +other +64Mi +mooring +Bound/m);
      await kubectl.run("wait", "--for=condition=Complete", "volumegrouprestore/again", "--timeout=120s");
      await kubectl.apply(
        JSON.stringify(pod("default", "reader", READ, { mounts: { "/a": "a-again", "/b": "other" } })),
      );
      await shows(["pod", "reader"], "{.status.phase}", "Succeeded");
      const [a = 0, b = 0] = (await kubectl.run("logs", "reader")).split("\n").map(Number);
      assert.ok(a > 0 && a - b >= 0 && a - b <= 1, `a has ${a}, b has ${b}`);
      assert.match(await done("show", "noon"), /^again +Ready +2 of 2 claims are bound$/m);
    });

    await t.test("what is shown of one is shown of all, and by `mooring why`", thorough(), async () => {
      assert.match(await done("list"), /^default +noon +yes +2 +\d+ ms +1/m);
      assert.match(
        await done("wait", "again", "--restore"),
        /^default\/again: Ready: 2 of 2 claims are bound$/m,
      );
      const why = await mooring("why", "volumegrouprestore/again", "--kubeconfig", up.kubeconfig);
      assert.deepEqual(
        [why.code, why.stdout.split("\n")[0]],
        [0, "ok       VolumeGroupRestore default/again: Ready: 2 of 2 claims are bound"],
      );
    });

    await t.test(
      "restoring by hand, one claim per member, works as with any snapshot",
      thorough(),
      async () => {
        covers("KEP-035");
        const { members } = JSON.parse(await done("show", "noon", "--json"));
        assert.equal(members.length, 2);
        for (const { claim: from, snapshot } of members)
          await kubectl.apply(JSON.stringify(claim("default", `${from}-by-hand`, { snapshot })));
        const mounts = { "/a": "a-by-hand", "/b": "b-by-hand" };
        await kubectl.apply(JSON.stringify(pod("default", "by-hand", READ, { mounts })));
        await shows(["pod", "by-hand"], "{.status.phase}", "Succeeded");
        assert.equal(await kubectl.run("logs", "by-hand"), await kubectl.run("logs", "reader"));
        await kubectl.run("delete", "pod", "by-hand");
        await kubectl.run("delete", "pvc", "a-by-hand", "b-by-hand");
      },
    );

    await t.test(
      "what cannot be restored is reported at once, on the object and by the command",
      thorough(),
      async () => {
        const taken = await group("restore", "clash", "--from", "noon", "--template", "{{claim}}");
        assert.equal(taken.code, 1);
        assert.match(taken.stderr, /^error: .*claim a exists and is not of this restore/m);
        assert.match(taken.stderr, /^next: mooring why volumegrouprestore\/clash/m);
        const asked = await mooring("why", "volumegrouprestore/clash", "--kubeconfig", up.kubeconfig);
        assert.equal(asked.code, 1);
        assert.match(asked.stdout, /claim a exists/);
        await kubectl.run("wait", "--for=condition=Failed", "volumegrouprestore/clash", "--timeout=120s");
        const missing = await group("restore", "never", "--from", "midnight");
        assert.equal(missing.code, 1);
        assert.match(missing.stderr, /VolumeGroupSnapshot midnight does not exist/);
        const none = await group("snapshot", "create", "none", "-l", "app=nobody", "--timeout", "6");
        assert.equal(none.code, 1);
        const why = "no claim of the namespace matches the selector";
        assert.match(none.stderr, new RegExp(`^waiting: VolumeGroupSnapshot none: ${why}$`, "m"));
        assert.match(none.stderr, new RegExp(`^error: VolumeGroupSnapshot none: after 6 s ${why}`, "m"));
        for (const args of [
          ["snapshot", "create", "x"],
          ["snapshot", "create", "x", "-l", ""],
          ["snapshot", "create", "x", "-l", "app in ("],
          ["restore", "x"],
          ["restore", "x", "--from", "noon", "--size", "much"],
        ])
          assert.equal((await group(...args)).code, 2, args.join(" "));
        for (const args of [["show"], ["wait"], ["wait", "--restore"], ["delete"]]) {
          const { code, stderr } = await group(...args, "midnight");
          assert.equal(code, 1, args.join(" "));
          assert.match(stderr, /^error: .*midnight.* not found/m, args.join(" "));
        }
        const again = await group("restore", "never", "--from", "noon");
        assert.equal(again.code, 1);
        assert.match(
          again.stderr,
          /^error: .*"never" already exists\nnext: .*mooring group delete never --restore$/m,
        );
        for (const name of ["clash", "never"])
          assert.match(await done("delete", name, "--restore"), /deleted; claims that it has made stay/);
        assert.equal(
          await kubectl.run("get", "volumegrouprestore", "-o", "name").then((all) => all.trim()),
          "volumegrouprestore.storage.mooring.dev/again",
        );
        await done("delete", "none");
      },
    );

    await t.test("delete takes the members along, and leaves what was restored", async () => {
      assert.match(await done("delete", "noon"), /deleted; claims that were restored from it stay/);
      assert.equal(
        await kubectl.run(
          "get",
          "volumesnapshot,volumesnapshotcontent,snapshots,groupsnapshots",
          "-o",
          "name",
        ),
        "",
      );
      await kubectl.run("delete", "volumegrouprestore", "again");
      assert.equal(
        await kubectl.run("get", "pvc", "-o", "jsonpath={.items[*].metadata.name}"),
        "a a-again b other",
      );
      await kubectl.run("delete", "pod/reader", "pvc/a", "pvc/a-again", "pvc/b", "pvc/other");
    });
  });
}
