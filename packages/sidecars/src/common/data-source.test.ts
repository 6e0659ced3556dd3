import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReferenceGrant } from "../kube/data-sources.ts";
import { claim } from "../testing/objects.ts";
import { dataSourceOf, dataSourceReference, isElsewhere, isGranted } from "./data-source.ts";

const CLAIM = { group: "", kind: "PersistentVolumeClaim" };
const SNAPSHOT = { group: "snapshot.storage.k8s.io", kind: "VolumeSnapshot" };
const HELLO = { group: "hello.example.com", kind: "Hello" };
const FROM = { ...CLAIM, namespace: "user" };

type Ref = { apiGroup?: string; kind: string };
const ref = ({ group, kind }: { group: string; kind: string }): Ref => ({ apiGroup: group, kind });
type Grant = NonNullable<ReferenceGrant["spec"]>;

/** The cases of external-provisioner's TestIsGranted, which say `ns1` and `ns2`. */
const rows: [title: string, source: Ref, grant: Grant | undefined, granted: boolean, grantIn?: string][] = [
  ["a claim", ref(CLAIM), { from: [FROM], to: [CLAIM] }, true],
  ["a claim by its name", ref(CLAIM), { from: [FROM], to: [{ ...CLAIM, name: "src" }] }, true],
  ["a claim without apiGroup", { kind: CLAIM.kind }, { from: [FROM], to: [CLAIM] }, true],
  ["an empty name is none", ref(CLAIM), { from: [FROM], to: [{ ...CLAIM, name: "" }] }, true],
  ["a snapshot", ref(SNAPSHOT), { from: [FROM], to: [SNAPSHOT] }, true],
  ["a kind of somebody else", ref(HELLO), { from: [FROM], to: [HELLO] }, true],
  ["one of several", ref(CLAIM), { from: [{ ...FROM, namespace: "x" }, FROM], to: [HELLO, CLAIM] }, true],
  ["a claim, without grant", ref(CLAIM), undefined, false],
  ["a snapshot, without grant", ref(SNAPSHOT), undefined, false],
  ["another kind, without grant", ref(HELLO), undefined, false],
  ["a grant in a third namespace", ref(CLAIM), { from: [FROM], to: [CLAIM] }, false, "third"],
  ["from another group", ref(CLAIM), { from: [{ ...FROM, group: "wrong" }], to: [CLAIM] }, false],
  ["from another kind", ref(CLAIM), { from: [{ ...FROM, kind: "Pod" }], to: [CLAIM] }, false],
  ["from another namespace", ref(CLAIM), { from: [{ ...FROM, namespace: "wrong" }], to: [CLAIM] }, false],
  ["to another group", ref(CLAIM), { from: [FROM], to: [{ ...CLAIM, group: "wrong" }] }, false],
  ["to another kind", ref(CLAIM), { from: [FROM], to: [{ ...CLAIM, kind: "Pod" }] }, false],
  ["to another name", ref(CLAIM), { from: [FROM], to: [{ ...CLAIM, name: "wrong" }] }, false],
  ["snapshots for a claim", ref(CLAIM), { from: [FROM], to: [SNAPSHOT] }, false],
  ["a snapshot of the core group", { kind: SNAPSHOT.kind }, { from: [FROM], to: [SNAPSHOT] }, false],
  ["claims for a snapshot", ref(SNAPSHOT), { from: [FROM], to: [CLAIM] }, false],
  ["from nobody", ref(CLAIM), { from: [], to: [CLAIM] }, false],
  ["to nothing", ref(CLAIM), { from: [FROM], to: [] }, false],
  ["an empty grant", ref(CLAIM), {}, false],
];
for (const [title, source, spec, granted, grantIn = "owner"] of rows)
  test(`a source in another namespace: ${title}: ${granted ? "granted" : "refused"}`, () => {
    const dataSourceRef = { ...source, name: "src", namespace: "owner" };
    const wanted = claim("data", { dataSourceRef }, { namespace: "user" });
    const reference = dataSourceReference(wanted) ?? assert.fail();
    assert.ok(isElsewhere(wanted, reference));
    const grants: ReferenceGrant[] =
      spec === undefined
        ? []
        : [
            {
              apiVersion: "gateway.networking.k8s.io/v1beta1",
              kind: "ReferenceGrant",
              metadata: { name: "g", namespace: grantIn },
              spec,
            },
          ];
    assert.equal(isGranted(wanted, reference, grants), granted);
  });

test("a grant that says nothing takes nothing away from the others of its namespace", () => {
  const dataSourceRef = { ...ref(CLAIM), name: "src", namespace: "owner" };
  const wanted = claim("data", { dataSourceRef }, { namespace: "user" });
  const reference = dataSourceReference(wanted) ?? assert.fail();
  // Their definition lets the spec be absent.
  const kind = { apiVersion: "gateway.networking.k8s.io/v1beta1", kind: "ReferenceGrant" };
  const silent: ReferenceGrant = { ...kind, metadata: { name: "silent", namespace: "owner" } };
  const grant: ReferenceGrant = { ...silent, spec: { from: [FROM], to: [CLAIM] } };
  assert.equal(isGranted(wanted, reference, [silent]), false);
  assert.equal(isGranted(wanted, reference, [silent, grant]), true);
});

test("a namespace that is the claim's own, or empty, is none", () => {
  for (const namespace of ["default", ""]) {
    const wanted = claim("data", { dataSourceRef: { ...ref(CLAIM), name: "src", namespace } });
    const source = dataSourceOf(wanted);
    assert.deepEqual(source, {
      ...{ apiGroup: "", kind: "PersistentVolumeClaim", namespace: "default", name: "src" },
    });
    assert.equal(isElsewhere(wanted, dataSourceReference(wanted) ?? assert.fail()), false);
  }
});
