// What `npm run test:kubernetes -- --only hostpath-suite` and `minimal-suite` make of the report that Kubernetes' storage tests write,
// and what the page has of their last runs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/lib/setup.mjs";
import { OTHERS } from "./real/suite/others.mjs";

const reasonsOf = (which: keyof typeof OTHERS) => {
  const { always, themselves } = OTHERS[which];
  return [...always, ...themselves].map(([, reason = ""]) => reason);
};

/** Rows of the page's table: how many, by what they are, for each driver. */
async function columnsOfPage() {
  const page = await readFile(join(ROOT, "docs/reference/kubernetes.md"), "utf8");
  const [, after = ""] = page.split("\n### The same around drivers of others\n");
  const [section = ""] = after.split("\n### ");
  const rows = [...section.matchAll(/^\| (\d*) \| (\d*) \| (.+) \|$/gm)];
  const column = (at: 1 | 2) =>
    new Map(rows.filter((row) => row[at] !== "").map((row) => [row[3] ?? "", Number(row[at])]));
  return { hostpath: column(1), minimal: column(2) };
}

for (const which of ["hostpath", "minimal"] as const)
  test(`the page has how many passed around the driver ${which}, and every reason for which others were left out`, async () => {
    const [[what, passed] = ["", 0], ...left] = [...(await columnsOfPage())[which]];
    assert.match(what, /^passed: /);
    assert.equal(passed, OTHERS[which].leastPassed);
    assert.deepEqual(left.map(([reason]) => reason).sort(), [...new Set(reasonsOf(which))].sort());
  });

/** What specs of Kubernetes 1.35.4 say, with the files in real/suite/drivers on one node. */
const SAID = {
  hostpath: [
    'Driver "hostpath.csi.k8s.io" does not define supported mount option - skipping',
    'Driver "hostpath.csi.k8s.io" does not support SELinuxMount - skipping',
    'Driver "hostpath.csi.k8s.io" does not support filesystem resizing - skipping',
    'Driver "hostpath.csi.k8s.io" does not support snapshots - skipping',
    'Driver "hostpath.csi.k8s.io" does not support volume type "InlineVolume" - skipping',
    'Driver "hostpath.csi.k8s.io" does not support volume type "PreprovisionedPV" - skipping',
    "Driver hostpath.csi.k8s.io does not support volume limits",
    "Driver hostpath.csi.k8s.io doesn't specify performance test options -- skipping",
    "Driver hostpath.csi.k8s.io doesn't support ext3 -- skipping",
    "Driver hostpath.csi.k8s.io doesn't support ext4 -- skipping",
    "Driver hostpath.csi.k8s.io doesn't support xfs -- skipping",
    "Driver hostpath.csi.k8s.io only supports singleNodeVolume -- skipping",
    "Filesystem volume case should be covered by block volume case -- skipping",
    "Multiple generic ephemeral volumes with immediate binding may cause pod startup failures when the volumes get created in separate topology segments.",
    "No SSH Key for provider skeleton: 'error reading SSH key /home/me/.ssh/id_rsa: open /home/me/.ssh/id_rsa: no such file or directory'",
    "Not enough topologies in cluster -- skipping",
    "Number of available nodes is less than 2 - skipping",
    "Skipping CSIInlineVolume test for expansion",
    'Suite "volumeLimits" does not support GenericEphemeralVolume',
    "Test for Block volumes is not implemented - skipping",
    "Test is not valid for Block volume mode - skipping",
    "VolumeBindingMode immediate is not compatible with a multi-topology environment.",
    "raw block volumes cannot be read-only",
    "skipping multiple PV mount test for block mode",
    'volume type "DynamicPV" is not ephemeral',
    'volume type "GenericEphemeralVolume" is ephemeral',
  ],
  minimal: [
    'Driver "minimal.example.com" does not define supported mount option - skipping',
    'Driver "minimal.example.com" does not provide raw block - skipping',
    'Driver "minimal.example.com" does not support SELinuxMount - skipping',
    'Driver "minimal.example.com" does not support block volume mode - skipping',
    'Driver "minimal.example.com" does not support cloning - skipping',
    'Driver "minimal.example.com" does not support group snapshots - skipping',
    'Driver "minimal.example.com" does not support online volume expansion - skipping',
    'Driver "minimal.example.com" does not support populating data from snapshot - skipping',
    'Driver "minimal.example.com" does not support snapshots - skipping',
    'Driver "minimal.example.com" does not support topology - skipping',
    'Driver "minimal.example.com" does not support volume clone - skipping',
    'Driver "minimal.example.com" does not support volume expansion - skipping',
    'Driver "minimal.example.com" does not support volume snapshots - skipping',
    'Driver "minimal.example.com" does not support volume type "CSIInlineVolume" - skipping',
    'Driver "minimal.example.com" does not support volume type "InlineVolume" - skipping',
    'Driver "minimal.example.com" does not support volume type "PreprovisionedPV" - skipping',
    'Driver "minimal.example.com" has no configured VolumeAttributesClass - skipping',
    "Driver minimal.example.com does not support volume limits",
    "Driver minimal.example.com doesn't publish storage capacity -- skipping",
    "Driver minimal.example.com doesn't specify performance test options -- skipping",
    "Driver minimal.example.com doesn't specify snapshot stress test options -- skipping",
    "Driver minimal.example.com doesn't specify volume modify stress test options -- skipping",
    "Driver minimal.example.com doesn't support Block -- skipping",
    "Driver minimal.example.com doesn't support RWX -- skipping",
    "Driver minimal.example.com doesn't support ext3 -- skipping",
    "Driver minimal.example.com doesn't support ext4 -- skipping",
    "Driver minimal.example.com doesn't support xfs -- skipping",
    "Driver minimal.example.com only supports singleNodeVolume -- skipping",
    "Filesystem volume case should be covered by block volume case -- skipping",
    "Multiple generic ephemeral volumes with immediate binding may cause pod startup failures when the volumes get created in separate topology segments.",
    "No SSH Key for provider skeleton: 'error reading SSH key /home/me/.ssh/id_rsa: open /home/me/.ssh/id_rsa: no such file or directory'",
    'Suite "volumeLimits" does not support GenericEphemeralVolume',
  ],
};

for (const which of ["hostpath", "minimal"] as const)
  test(`what specs say around the driver ${which} when they leave themselves out is known, and nothing is listed that none says`, () => {
    const patterns = OTHERS[which].themselves.map(([pattern = ""]) => new RegExp(pattern));
    const unknown = SAID[which].filter((text) => !patterns.some((pattern) => pattern.test(text)));
    assert.deepEqual(unknown, []);
    // The first one that fits is taken.
    const used = new Set(SAID[which].map((text) => patterns.find((pattern) => pattern.test(text))));
    assert.deepEqual(
      patterns.filter((pattern) => !used.has(pattern)),
      [],
    );
  });
