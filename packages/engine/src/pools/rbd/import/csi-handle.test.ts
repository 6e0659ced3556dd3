import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCsiHandle, uuidOfImage } from "./csi-handle.ts";

const UUID = "8d0ba728-0e17-11eb-a680-ce6eecc894de";

test("a volume handle of ceph-csi says which cluster, pool and volume it is", () => {
  assert.deepEqual(parseCsiHandle(`0001-0009-rook-ceph-0000000000000002-${UUID}`), {
    clusterID: "rook-ceph",
    poolID: 2,
    uuid: UUID,
  });
  const fsid = "b9127830-b0cc-4e34-aa47-9d1a2e9949a8";
  assert.equal(parseCsiHandle(`0001-0024-${fsid}-00000000000000ff-${UUID}`)?.poolID, 255);
  for (const other of [
    ...["", "static-image", `0002-0009-rook-ceph-0000000000000002-${UUID}`],
    `0001-0008-rook-ceph-0000000000000002-${UUID}`,
    `0001-0009-rook-ceph-0000000000000002-${UUID}-more`,
    `0001-0009-rook-ceph-02-${UUID}`,
  ])
    assert.equal(parseCsiHandle(other), undefined, other);
});

test("an image of ceph-csi ends with the volume's uuid, whatever its prefix", () => {
  assert.equal(uuidOfImage(`csi-vol-${UUID}`), UUID);
  assert.equal(uuidOfImage(`team-a-${UUID}`), UUID);
  assert.equal(uuidOfImage(UUID), UUID);
  for (const other of ["csi-vol-1", `csi-vol-${UUID}.old`, `x${UUID}`])
    assert.equal(uuidOfImage(other), undefined, other);
});
