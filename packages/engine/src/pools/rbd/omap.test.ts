import assert from "node:assert/strict";
import { test } from "node:test";
import { parseOmap } from "./omap.ts";

const PRINTED = `csi.imagename
value (44 bytes) :
00000000  63 73 69 2d 76 6f 6c 2d  38 64 30 62 61 37 32 38  |csi-vol-8d0ba728|
00000010  2d 30 65 31 37 2d 31 31  65 62 2d 61 36 38 30 2d  |-0e17-11eb-a680-|
00000020  63 65 36 65 65 63 63 38  39 34 64 65              |ce6eecc894de|
0000002c

csi.volname
value (5 bytes) :
00000000  70 76 63 2d 31                                    |pvc-1|
00000005

csi.volume.owner
value (0 bytes) :

long
value (48 bytes) :
00000000  61 61 61 61 61 61 61 61  61 61 61 61 61 61 61 61  |aaaaaaaaaaaaaaaa|
*
00000030

`;

test("values of a journal are read from what rados prints; one that is not printed whole is left out", () => {
  assert.deepEqual(
    [...parseOmap(PRINTED)],
    [
      ["csi.imagename", "csi-vol-8d0ba728-0e17-11eb-a680-ce6eecc894de"],
      ["csi.volname", "pvc-1"],
      ["csi.volume.owner", ""],
    ],
  );
  assert.equal(parseOmap("").size, 0);
});
