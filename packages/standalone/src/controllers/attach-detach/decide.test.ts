import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { KubeVolumeAttachment, Node } from "@mooring/store";
import { defined } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import fc from "fast-check";
import { FENCED_CONDITION } from "../lost-node.ts";
import { decideNode, type NodeView, VOLUME_NAME_ANNOTATION } from "./decide.ts";
import { attachmentName, uniqueVolumeName } from "./names.ts";
import type { WantedVolume } from "./plan.ts";

const wanted = (handle: string, shared = false): WantedVolume => ({
  volume: `pv-${handle}`,
  driver: "d",
  handle,
  shared,
});
const unique = (handle: string) => uniqueVolumeName("d", handle);

function attachment(
  handle: string,
  status: KubeVolumeAttachment["status"],
  deleting = false,
): KubeVolumeAttachment {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: {
      name: attachmentName(handle, "d", "n"),
      annotations: { [VOLUME_NAME_ANNOTATION]: unique(handle) },
      ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { attacher: "d", nodeName: "n", source: { persistentVolumeName: `pv-${handle}` } },
    ...defined({ status }),
  };
}

function node(inUse: string[], attached: string[]): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n" },
    status: {
      volumesInUse: inUse.map(unique),
      volumesAttached: attached.map((handle) => ({ name: unique(handle), devicePath: "" })),
    },
  };
}

const decide = (view: Partial<NodeView>) =>
  decideNode({
    nodeName: "n",
    node: node([], []),
    wanted: [],
    attachments: [],
    attachedElsewhere: () => [],
    ...view,
  });

test("the name of an attachment is csi- and the SHA-256 of handle, driver and node", () => {
  covers("K8S-121");
  assert.equal(attachmentName("h", "d", "n"), `csi-${createHash("sha256").update("hdn").digest("hex")}`);
});

test("a volume that a pod needs gets an attachment, unless another node has it", () => {
  covers("CSI-145", "CSI-156", "K8S-082");
  assert.deepEqual(decide({ wanted: [wanted("a")] }).create, [wanted("a")]);
  const blocked = decide({ wanted: [wanted("a")], attachedElsewhere: () => ["m"] });
  assert.deepEqual(blocked.create, []);
  assert.deepEqual(blocked.blocked, [{ wanted: wanted("a"), nodes: ["m"] }]);
  // The object of the other node is gone: the volume is free.
  assert.deepEqual(decide({ wanted: [wanted("a")], attachedElsewhere: () => [] }).create, [wanted("a")]);
  assert.deepEqual(decide({ wanted: [wanted("a", true)], attachedElsewhere: () => ["m"] }).create, [
    wanted("a", true),
  ]);
});

test("an attachment that is there is only read: attached and errors are reported", () => {
  covers("K8S-073", "K8S-074", "K8S-075");
  const done = decide({ wanted: [wanted("a")], attachments: [attachment("a", { attached: true })] });
  assert.deepEqual([done.create, done.report, done.attached], [[], [unique("a")], [wanted("a")]]);
  const failed = decide({
    wanted: [wanted("a")],
    attachments: [attachment("a", { attached: false, attachError: { message: "no" } })],
  });
  assert.deepEqual([failed.report, failed.failed], [undefined, [{ wanted: wanted("a"), message: "no" }]]);
});

test("a terminating attachment is neither trusted nor replaced", () => {
  covers("K8S-077", "K8S-078");
  const plan = decide({ wanted: [wanted("a")], attachments: [attachment("a", { attached: true }, true)] });
  assert.deepEqual([plan.create, plan.report, plan.remove], [[], undefined, []]);
});

test("nobody needs it: detached only once the kubelet does not list it in use, and unreported before", () => {
  covers("K8S-079");
  const attachments = [attachment("a", { attached: true })];
  const used = decide({ node: node(["a"], ["a"]), attachments });
  assert.deepEqual([used.remove, used.report], [[], undefined]);
  const free = decide({ node: node([], ["a"]), attachments });
  assert.deepEqual([free.remove, free.report], [[attachmentName("a", "d", "n")], []]);
  const gone = decideNode({
    nodeName: "n",
    node: undefined,
    wanted: [],
    attachments,
    attachedElsewhere: () => [],
  });
  assert.deepEqual(gone.remove, [attachmentName("a", "d", "n")]);
});

test("what a lost node had in use is detached only when it is fenced, or an operator taints it as off", () => {
  const attachments = [attachment("a", { attached: true })];
  const lost = (conditions: Record<string, string>, taints: string[] = []): Node => {
    const { status, ...rest } = node(["a"], ["a"]);
    const reported = Object.entries(conditions).map(([type, value]) => ({ type, status: value }));
    return {
      ...rest,
      spec: { taints: taints.map((key) => ({ key, effect: "NoExecute" as const })) },
      status: { ...status, conditions: reported },
    };
  };
  const offered = (at: Node, driver = "csi.mooring.dev") => {
    return decide({ node: at, attachments: attachedBy(driver, attachments) }).remove.length > 0;
  };
  const off = "node.kubernetes.io/out-of-service";
  const fenced = { Ready: "Unknown", [FENCED_CONDITION]: "True" };
  assert.equal(offered(lost({ Ready: "Unknown" })), false);
  assert.equal(offered(lost(fenced)), true);
  assert.equal(offered(lost(fenced), "another.example.com"), false);
  assert.equal(offered(lost({ Ready: "Unknown" }, [off]), "another.example.com"), true);
  // It responds: neither is believed.
  assert.equal(offered(lost({ ...fenced, Ready: "True" }, [off])), false);
  const plan = decide({ node: lost(fenced), attachments: attachedBy("csi.mooring.dev", attachments) });
  assert.deepEqual(plan.report, [], "and it is not reported to a kubelet that comes back");
  // A pod that still needs it there keeps it.
  assert.deepEqual(
    decide({
      node: lost(fenced),
      attachments: attachedBy("csi.mooring.dev", attachments),
      wanted: [wanted("a")],
    }).remove,
    [],
  );
});

const attachedBy = (attacher: string, attachments: KubeVolumeAttachment[]): KubeVolumeAttachment[] =>
  attachments.map((each) => ({ ...each, spec: { attacher, nodeName: "n", source: {} } }));

test("somebody else's attachment is left alone", () => {
  const theirs = attachment("a", { attached: true });
  theirs.metadata.annotations = {};
  assert.deepEqual(decide({ attachments: [theirs] }).remove, []);
});

test("whatever the lists say: what is in use is never removed, and never vanishes from the report", () => {
  const handles = ["a", "b", "c"];
  const subset = fc.subarray(handles);
  const state = fc.constantFrom("none", "pending", "attached", "deleting");
  fc.assert(
    fc.property(subset, subset, subset, fc.tuple(state, state, state), (pods, inUse, reported, states) => {
      const attachments = handles.flatMap((handle, i) =>
        states[i] === "none"
          ? []
          : [attachment(handle, { attached: states[i] !== "pending" }, states[i] === "deleting")],
      );
      const plan = decide({
        node: node(inUse, reported),
        wanted: pods.map((handle) => wanted(handle)),
        attachments,
      });
      const after = plan.report ?? reported.map(unique);
      for (const handle of handles) {
        const removed = plan.remove.includes(attachmentName(handle, "d", "n"));
        assert.ok(!(removed && (pods.includes(handle) || inUse.includes(handle))), `${handle} is needed`);
        if (inUse.includes(handle) && reported.includes(handle)) assert.ok(after.includes(unique(handle)));
        if (removed) assert.ok(!after.includes(unique(handle)), "unreported before it is detached");
        const newly = after.includes(unique(handle)) && !reported.includes(handle);
        if (newly) assert.equal(states[handles.indexOf(handle)], "attached");
      }
    }),
  );
});
